// Lists by cursor over many plans: how long the first page of 100 takes, and the last full one, with and without each filter; and how
// long it takes to catch search up, and to find something. `BENCH_PLANS` says how many plans. A benchmark never fails a test.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Actor, planId, type Sha256 } from '../src/domain/id.ts'
import { thisHost } from '../src/stores/leases/host.ts'
import { StoreSqlite } from '../src/stores/sqlite/store-sqlite.ts'
import type { Page, PlanQuery, Store, TaskQuery } from '../src/stores/store.ts'
import { external, gate, plan, START } from '../src/testing/index.ts'

const PLANS = Number(process.env.BENCH_PLANS ?? 100_000)
const PAGE = 100
const RUNS = 21
const AT_ONCE = 250
const ME = 'bench' as Actor

export async function pagingBench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-paging-'))
  const clock = { now: () => Date.now(), monotonic: () => performance.now() }
  const store = await StoreSqlite.open({ folder, clock, host: thisHost(process.pid), newId: () => 'bench' })
  try {
    const madeMs = await took(() => fill(store))
    console.log(`${PLANS} plans made in ${(madeMs / 1_000).toFixed(1)} s`)
    const caughtUpMs = await took(() => store.tidy())
    console.log(`search and steps caught up in ${(caughtUpMs / 1_000).toFixed(1)} s`)
    const rows = []
    for (const [what, query] of Object.entries(PLAN_LISTS)) rows.push(await measured(what, query, q => store.plans(q)))
    for (const [what, query] of Object.entries(TASK_LISTS)) rows.push(await measured(what, query, q => store.tasks(q)))
    rows.push(await measured('search', { text: 'number' }, q => store.search(q)))
    console.table(rows)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

const PLAN_LISTS: Readonly<Record<string, PlanQuery>> = {
  'all plans': {},
  'not archived': { archived: false },
  draft: { status: 'draft' },
  active: { status: 'active' },
  blocked: { status: 'blocked' },
  'one agent': { agent: 'agent-1' },
  'one agent, active': { agent: 'agent-1', status: 'active' },
  'one goal': { goal: 'goal-1' },
  'one session, not archived': { session: 'session-1', archived: false },
  'by a word': { text: 'number' },
}

const TASK_LISTS: Readonly<Record<string, TaskQuery>> = {
  'recent tasks': { order: 'recent' },
  'tasks of one agent': { order: 'recent', assignee: 'agent-1' },
  'tasks that wait': { order: 'recent', status: 'waiting' },
  'tasks that are ready': { status: 'ready' },
}

/** Half of them drafts; of the others nine tenths can be claimed, and one tenth waits for a person. */
async function fill(store: Store): Promise<void> {
  for (let from = 0; from < PLANS; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, PLANS - from) }, (_, at) => from + at)
    await Promise.all(
      numbers.map(async number => {
        const id = planId(EPOCH_MS + number, new Uint8Array(10))
        const work = number % 20 === 1 ? gate('work') : external('work', { assignee: `agent-${number % 10}` })
        const definition = plan(`plan-${number}`, work, { title: `Number ${number}` })
        const [agent, goal, session] = [`agent-${number % 10}`, `goal-${number % 7}`, `session-${number % 3}`]
        const made = await store.create({ type: 'create', plan: id, definition, hash: HASH, agent, goal, session }, ME)
        if (!made.ok) throw new Error(made.refusal.message)
        if (number % 2 === 1) await store.update(id, START, { actor: ME })
      }),
    )
  }
}

const EPOCH_MS = 1_767_225_600_000
const HASH = '0'.repeat(64) as Sha256

async function measured<Q extends object, R>(what: string, query: Q, list: (query: Q) => Promise<Page<R>>) {
  const from = (cursor: string | null) => list({ ...query, limit: PAGE, ...(cursor === null ? {} : { cursor }) })
  let full: string | null = null
  let pages = 0
  for (let at: string | null = null; ; pages++) {
    const page: Page<R> = await from(at)
    if (page.items.length === PAGE) full = at
    at = page.next
    if (at === null) break
  }
  // By turns, and the quickest counts: whatever else the machine does only adds to it.
  const times: [number[], number[]] = [[], []]
  for (let run = 0; run < RUNS; run++) {
    times[0].push(await took(() => from(null)))
    times[1].push(await took(() => from(full)))
  }
  const [first, last] = times.map(each => Math.min(...each)) as [number, number]
  return {
    list: what,
    pages: pages + 1,
    'first ms': first.toFixed(2),
    'last ms': last.toFixed(2),
    'last ÷ first': (last / first).toFixed(2),
  }
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

if (process.argv[1]?.endsWith('paging.js') || process.argv[1]?.endsWith('paging.ts')) await pagingBench()
