// What the guide shows is run as it stands there.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import type { Actor } from '../domain/id.ts'
import { served } from '../server/server.fixture.ts'
import { external, plan } from '../testing/index.ts'
import { connect } from './client.ts'
import { byName } from './named.fixture.ts'

const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guide/client.md'), 'utf8')
const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(match => match[1]!)

async function run(block: string, names: { readonly [name: string]: unknown }, answer: string): Promise<unknown> {
  const { code } = await transform(block.replace(/^import .*\n/m, ''), { loader: 'ts' })
  const body = new Function(...Object.keys(names), `return (async () => { ${code}\n return ${answer} })()`)
  return await body(...Object.values(names))
}

test('the guide shows what works', async () => {
  const service = await served({ guard: byName() })
  const open = () => connect({ url: service.url, token: 'ana' })
  const actor = 'ana' as Actor
  const definition = plan('shown', external('a'))
  expect(blocks).toHaveLength(2)
  const summary = await run(blocks[0]!, { connect: open, token: 'ana', definition, actor }, 'summary')
  expect(summary).toMatchObject({ name: 'shown', status: 'completed' })

  const said: unknown[][] = []
  const engine = open()
  const watching = run(
    // From the beginning, so that it does not matter who is first.
    blocks[1]!.replace(/const after = .*/, 'const after = 0'),
    { engine, console: { log: (...words: unknown[]) => said.push(words) } },
    'true',
  )
  expect(await watching).toBe(true)
  expect(said.at(-1)).toEqual([expect.any(String), 4, expect.arrayContaining(['plan.finished'])])
  await engine.close()
  await service.close()
})
