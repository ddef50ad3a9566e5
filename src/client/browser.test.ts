// The client runs where there is no Node: nothing of it needs a module of Node, nor anything of the engine but its types.

import { resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const SIZE_MAX = 40_000

test('the client can be bundled for a browser: no module of Node, one small library, and not much of it', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [resolve(import.meta.dirname, 'client.ts')],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'planfold',
    logLevel: 'silent',
  })
  const inputs = Object.keys(metafile.inputs)
  expect(inputs.filter(path => path.includes('node_modules'))).toEqual([
    'node_modules/eventsource-parser/dist/index.js',
  ])
  expect(inputs.filter(path => /src\/(?:engine|server|cli|workspace|runners)\//.test(path))).toEqual([])
  const [script] = outputFiles
  expect(script!.text).not.toMatch(/require\(|["']node:/)
  expect(script!.text.length).toBeLessThan(SIZE_MAX)

  // Only what browsers have.
  const asked: string[] = []
  const fetch = async (url: string) => {
    asked.push(url)
    return Response.json({ answer: 7 })
  }
  const world = { fetch, AbortController, AbortSignal, crypto, setTimeout, clearTimeout, TextDecoder, atob, JSON }
  const answer: unknown = await runInNewContext(
    `${script!.text}; planfold.connect({ url: 'http://there/' }).ask({ type: 'position' })`,
    Object.assign(world, { globalThis: world }),
  )
  expect({ answer, asked }).toEqual({ answer: 7, asked: ['http://there/engine/queries'] })
})
