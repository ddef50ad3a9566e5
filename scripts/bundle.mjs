// After the compiler: joins what it wrote into a few files. Node then opens a dozen files to begin instead of two hundred, which is
// a good part of the time a short command takes. What is loaded late stays apart. Packages stay outside, except those of many small
// files that most commands need: these are joined in, with their licences beside them.
//
//   node scripts/bundle.mjs [--keep] FOLDER ENTRY…    entries relative to the folder; every other script in it goes, or is kept

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** Together 230 files. */
const JOINED_IN = ['@marcbachmann/cel-js', 'commander', 'diff', 'fast-string-width', 'picocolors', 'yaml', 'zod']

const words = process.argv.slice(2)
const keeps = words[0] === '--keep'
const [folder = 'dist', ...names] = keeps ? words.slice(1) : words
const root = resolve(folder)
const rooms = existsSync(join(root, 'src')) ? join(root, 'src') : root
const entries = names.map(name => join(root, name))
const before = scripts(root)
let parts = new Map()
const joined = await rolldown({
  input: Object.fromEntries(names.map((name, at) => [name.replace(/\.js$/, ''), entries[at]])),
  platform: 'node',
  external: (id, from) => !id.startsWith('.') && !id.startsWith('/') && !isJoinedIn(id, from),
  // An entry is imported by nobody, so that it exports what it says and nothing more.
  preserveEntrySignatures: 'allow-extension',
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
  plugins: [
    {
      name: 'parts',
      buildEnd() {
        const modules = [...this.getModuleIds()]
        parts = partsOf(new Map(modules.map(id => [id, this.getModuleInfo(id).importedIds])))
      },
    },
  ],
})
const { output } = await joined.write({
  dir: root,
  format: 'esm',
  comments: false,
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: id => parts.get(id) ?? null }] },
})
await joined.close()
// A command that was linked before stays a program.
if (names.includes('cli/main.js')) chmodSync(join(root, 'cli/main.js'), 0o755)
writeFileSync(join(root, 'licences.txt'), licences(output.flatMap(({ modules = {} }) => Object.keys(modules))))
const written = new Set(output.map(({ fileName }) => join(root, fileName)))
if (!keeps) for (const script of before) if (!written.has(script)) rmSync(script)

/**
 * What is loaded together is one file. Each part holds everything its files import, except what an earlier part holds, so parts
 * look in one direction and nothing runs before what it needs. A file in none of them is joined with those that are always
 * loaded with it. Entries stay out, and so does the command itself, which is no entry of the benchmark: it acts when it is loaded, and
 * waits at its top level for parts that would wait for it.
 */
function partsOf(imports) {
  const all = (...names) => {
    const found = new Set(names.map(name => join(rooms, name)).filter(path => imports.has(path)))
    for (const path of found) for (const next of imports.get(path)) if (imports.has(next)) found.add(next)
    return found
  }
  const command = join(rooms, 'cli/main.js')
  const start = all('cli/main.js')
  const core = all('compose.js', 'engine/engine-local.js', 'engine/loop/worker.js', 'stores/sqlite/store-sqlite.js')
  const face = all(
    ...['list', 'next', 'status'].map(name => `cli/commands/plans/${name}.js`),
    ...['plan-file', 'order'].map(name => `cli/${name}.js`),
  )
  const reading = all('format/plan/parse.js')
  const checking = all(
    'cli/commands/plans/validate.js',
    'cli/plan-file.js',
    'cli/text/diagnostics.js',
    'cli/report-error.js',
  )
  const order = {
    // A client may live in a browser: what it shares with others must not bring theirs.
    client: both(all('client/client.js'), [...start, ...core, ...face, ...reading]),
    // What the command shares with the library, which has no use for the grammar of the command line.
    common: both(start, [...core, ...face, ...reading, ...checking]),
    start,
    // What is needed to read and check a plan document, for which nothing of the store is loaded.
    base: both(new Set([...core, ...face]), [...checking, ...reading]),
    core,
    // Loaded late by the engine, without the schema library.
    expression: all('format/expression/expression.js'),
    document: all('format/text/document.js'),
    face,
    reading,
    driving: all('cli/commands/plans/run.js', 'cli/commands/plans/resume.js', 'cli/drive.js'),
  }
  const found = new Map()
  for (const [part, paths] of Object.entries(order))
    for (const path of paths) if (!found.has(path) && !entries.includes(path) && path !== command) found.set(path, part)
  return found
}

/** One of those packages, or what one of them brings. */
function isJoinedIn(id, from) {
  if (id.startsWith('node:')) return false
  return JOINED_IN.some(name => id === name || id.startsWith(`${name}/`) || packageOf(from)?.name === name)
}

function packageOf(path) {
  const found = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path ?? '')
  return found === null ? null : { folder: found[1], name: found[2] }
}

function licences(modules) {
  const packages = new Map(modules.flatMap(path => packageOf(path) ?? []).map(({ folder, name }) => [name, folder]))
  return [...packages]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, folder]) => {
      const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
      const { license, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const text = file === undefined ? `Licence: ${license}\n` : readFileSync(join(folder, file), 'utf8')
      return `${name} ${version}\n\n${text}`
    })
    .join('\n---\n\n')
}

function both(some, others) {
  return new Set(others.filter(path => some.has(path)))
}

function scripts(at) {
  return readdirSync(at).flatMap(name => {
    const path = join(at, name)
    return statSync(path).isDirectory() ? scripts(path) : name.endsWith('.js') ? [path] : []
  })
}
