// After the compiler: joins what it wrote into a few files. Node then opens a dozen files to begin instead of two hundred, which is
// a good part of the time a short command takes. What is loaded late stays apart, and packages stay outside.
//
//   node scripts/bundle.mjs [--keep] FOLDER ENTRY…    entries relative to the folder; every other script in it goes, or is kept

import { readdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const words = process.argv.slice(2)
const keeps = words[0] === '--keep'
const [folder = 'dist', ...entries] = keeps ? words.slice(1) : words
const root = resolve(folder)
const before = scripts(root)
const { metafile } = await build({
  entryPoints: entries.map(entry => join(root, entry)),
  outbase: root,
  outdir: root,
  bundle: true,
  splitting: true,
  allowOverwrite: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  legalComments: 'none',
  chunkNames: 'parts/[name]-[hash]',
  metafile: true,
  logLevel: 'warning',
})
const written = new Set(Object.keys(metafile.outputs).map(path => resolve(path)))
if (!keeps) for (const script of before) if (!written.has(script)) rmSync(script)

function scripts(at) {
  return readdirSync(at).flatMap(name => {
    const path = join(at, name)
    return statSync(path).isDirectory() ? scripts(path) : name.endsWith('.js') ? [path] : []
  })
}
