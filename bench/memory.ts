// `npm run bench:memory`: finding one of 100,000 items of memory, by words and by meaning, at the 50th and 95th percentile. The model for
// vectors is a scripted server over HTTP, whose answers are part of the time. `BENCH_ITEMS`, `BENCH_DIMENSION`, `BENCH_QUERIES`.
// Needs the extras: memory

import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { modelsAt } from '../src/compose.ts'
import { systemClock } from '../src/engine/clock.ts'
import { openMemory } from '../src/extras/memory/open-memory.ts'
import { thisHost } from '../src/stores/leases/host.ts'
import { StoreSqlite } from '../src/stores/sqlite/store-sqlite.ts'

const ITEMS = Number(process.env.BENCH_ITEMS ?? 100_000)
const DIMENSION = Number(process.env.BENCH_DIMENSION ?? 384)
const QUERIES = Number(process.env.BENCH_QUERIES ?? 200)
const WORDS = 5_000
const PLACE = { scope: 'project', owner: '' } as const

let seed = 1
const random = (below: number): number => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % below
}
/** Some words are in many texts, most in few, as in a language. */
const word = (): string => `word${Math.floor(WORDS ** (random(1_000_000) / 1_000_000))}`
const sentence = (words: number): string => Array.from({ length: words }, word).join(' ')

/** The sum of a direction for each word. */
function embedding(text: string): number[] {
  const made = new Float64Array(DIMENSION)
  for (const each of text.split(/\s+/)) {
    let state = 7
    for (let at = 0; at < each.length; at++) state = (state * 31 + each.charCodeAt(at)) % 2_147_483_647
    for (let at = 0; at < DIMENSION; at++) {
      state = (state * 48_271) % 2_147_483_647
      made[at]! += (state % 2_001) / 1_000 - 1
    }
  }
  return Array.from(made, number => Math.round(number * 1e4) / 1e4)
}

const folder = mkdtempSync(join(tmpdir(), 'planfold-memory-'))
const server = createServer((request, response) => {
  const parts: Uint8Array[] = []
  request.on('data', part => parts.push(part))
  request.on('end', () => {
    const { input } = JSON.parse(Buffer.concat(parts).toString()) as { input: string[] }
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: embedding(text) }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', model: 'm', data, usage: { prompt_tokens: 1, total_tokens: 1 } }))
  })
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
const settings = join(folder, 'models.yaml')
writeFileSync(
  settings,
  JSON.stringify({ embedding: 'vectors/m', providers: { vectors: { url } }, caps: { calls: 1e9, tokens: 1e9 } }),
)
chmodSync(settings, 0o600)
const place = { root: join(folder, 'root'), stateDir: join(folder, 'state') }
const host = thisHost(process.pid)
const store = await StoreSqlite.open({ folder: place.stateDir, clock: systemClock, host, newId: randomUUID })
const memory = openMemory({
  ...{ store: store.memories, user: async () => null, now: () => Date.now(), root: place.root },
  models: modelsAt({ environment: { PLANFOLD_MODELS: settings }, ...place }),
})

const since = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`
console.log(`node ${process.version}, ${ITEMS} items, load ${loadavg()[0]!.toFixed(1)}`)
let from = performance.now()
for (let at = 0; at < ITEMS; at += 1_000)
  await Promise.all(
    Array.from({ length: Math.min(1_000, ITEMS - at) }, (_, one) =>
      memory.put('', {
        ...{ scope: 'project', key: `key.${at + one}`, value: sentence(12), trust: 'trusted', expiresAt: null },
        source: { by: 'bench' as never },
      }),
    ),
  )
console.log(`written in ${since(from)}`)

async function measure(what: string, query: () => string, wordsOnly: boolean): Promise<void> {
  const times: number[] = []
  let found = 0
  const cpu = process.cpuUsage()
  for (let at = 0; at < QUERIES; at++) {
    const text = query()
    const began = performance.now()
    const { items, by } = await memory.search([PLACE], { text, ...(wordsOnly ? { wordsOnly: true as const } : {}) })
    times.push(performance.now() - began)
    if ((by === 'words') !== wordsOnly) throw new Error(`found by ${by}`)
    found += items.length
  }
  const { user, system } = process.cpuUsage(cpu)
  times.sort((a, b) => a - b)
  const at = (part: number): string =>
    `${times[Math.min(times.length - 1, Math.floor(times.length * part))]!.toFixed(1)} ms`
  console.log(
    `${what}: median ${at(0.5)}, p95 ${at(0.95)}, ${(found / QUERIES).toFixed(1)} items each, ${((user + system) / 1000 / QUERIES).toFixed(1)} ms of CPU, load ${loadavg()[0]!.toFixed(1)}`,
  )
}

await measure('by one word', word, true)
await measure('by two words', () => sentence(2), true)
await measure('by the beginning of a word', () => `wor`, true)
from = performance.now()
for (let note: string | undefined = ''; note !== undefined; )
  note = (await memory.search([PLACE], { text: 'word1' })).note
console.log(`vectors of ${DIMENSION} numbers made in ${since(from)}`)
await measure('by meaning', () => sentence(8), false)
console.log(`${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`)
await memory.close()
await store.close()
server.close()
rmSync(folder, { recursive: true, force: true })
