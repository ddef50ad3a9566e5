// What the guide shows is run as it stands there, block by block, each whole in itself.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import { served } from '../server/server.fixture.ts'
import { connect, subscribe } from './client.ts'
import { byName } from './named.fixture.ts'

const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guide/client.md'), 'utf8')
const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(match => match[1]!)

/** What it says while it runs; only the address and the token are others. */
async function run(block: string, url: string): Promise<readonly (readonly unknown[])[]> {
  const here = block
    .replace(/^import .*\n/m, '')
    .replace('http://127.0.0.1:8011', url)
    .replace(/const token = '…'/, "const token = 'ana'")
  const { code } = await transform(here, { loader: 'ts' })
  const said: unknown[][] = []
  const body = new Function('connect', 'subscribe', 'console', `return (async () => { ${code} })()`)
  await body(connect, subscribe, { log: (...words: unknown[]) => said.push(words) })
  return said
}

test('the guide shows what works', async () => {
  const service = await served({ guard: byName() })
  try {
    const [byNoun, byDoor, watching, subscribing, ...more] = blocks
    expect(more).toEqual([])
    expect(await run(byNoun!, service.url)).toEqual([
      ['look', 'List what is untidy.'],
      ['tidy', 'Tidy it up.'],
      ['completed', 2],
    ])
    expect(await run(byDoor!, service.url)).toEqual([['shown', 'completed']])
    const entries = await run(watching!, service.url)
    expect(entries[0]).toEqual([expect.any(String), 1, ['plan.created']])
    expect(entries.at(-1)![2]).toContain('plan.finished')
    const events = await run(subscribing!, service.url)
    expect(events[0]).toEqual(['1', 'plan.created', 'tidy', undefined])
    expect(events.at(-1)).toEqual([expect.any(String), 'plan.finished', 'tidy', undefined])
  } finally {
    await service.close()
  }
})
