// Claims an external task: a given one, the best of a plan, or the next of all plans, oldest plan first; now, or as soon as there is one.
// Of concurrent claimants each gets a different task.

import { advise, quoted } from '../domain/hint.ts'
import type { Millis, PlanId, TaskName } from '../domain/id.ts'
import { CLAIM_LEASE_MAX_MS } from '../domain/limits.ts'
import { refuse } from '../domain/refusal.ts'
import type { Card } from '../domain/views/board.ts'
import type { Engine, EngineInProcess, SubmitOptions, Submitted } from '../engine/engine.ts'
import { readyTasks } from './next-step.ts'

export interface ClaimRoom {
  readonly engine: Pick<EngineInProcess, 'caller' | 'ask' | 'submit' | 'watch'>
  readonly now: () => Millis
}

export interface ClaimAsk {
  /** All plans if absent. */
  readonly plan?: PlanId
  readonly task?: TaskName | undefined
  readonly leaseMs?: number
  readonly submit?: SubmitOptions
}

export async function claimTask({ engine, now }: ClaimRoom, ask: ClaimAsk): Promise<Submitted> {
  const lease = ask.leaseMs === undefined ? {} : { leaseMs: ask.leaseMs }
  if (ask.plan !== undefined) {
    const named = ask.task === undefined ? {} : { task: ask.task }
    return await engine.submit(ask.plan, { type: 'claim', ...named, ...lease }, ask.submit)
  }
  let refused: Submitted | null = null
  for await (const { plan, card } of claimable(engine, [engine.caller.actor], now())) {
    // Several tasks may be tried under one key: refusals are not stored.
    const claimed = await engine.submit(plan, { type: 'claim', task: card.name, ...lease }, ask.submit)
    if (claimed.ok) return claimed
    // Claimed by another, or its files are reserved: the next one may be free.
    refused ??= WAITS.has(claimed.refusal.code) ? null : claimed
  }
  const nothing = refuse(
    'not-ready',
    'no external task of any plan is ready to be claimed',
    advise`see ${quoted('next')}`,
  )
  return refused ?? { ok: false, refusal: nothing }
}

export interface ClaimFilter {
  readonly plan?: PlanId | undefined
  readonly session?: string | undefined
  readonly kinds?: readonly string[] | undefined
}

/** Tasks that these agents may claim now: the oldest plan first, and in each by priority. */
export async function* claimable(
  engine: Pick<Engine, 'ask'>,
  agents: readonly (string | undefined)[],
  now: Millis,
  { plan: only, session, kinds }: ClaimFilter = {},
): AsyncIterable<{ readonly plan: PlanId; readonly card: Card }> {
  for (const plan of only === undefined ? await plansWithWork(engine) : [only]) {
    const summary = await engine.ask({ type: 'summary', plan })
    // Ready tasks of a paused plan cannot be claimed.
    const isOpen = summary?.status === 'active' || summary?.status === 'blocked'
    if (!isOpen || (session !== undefined && summary.session !== session)) continue
    const isOpenTo = ({ action, kind, assignee }: Card): boolean =>
      action === 'external' &&
      (kinds === undefined || (kind !== null && kinds.includes(kind))) &&
      (assignee === null || agents.includes(assignee))
    // Usually one of the first few is free; only otherwise all are read.
    const first = (await engine.ask({ type: 'next', plan, limit: FIRST_MAX }))?.ready ?? []
    for (const card of first) if (isOpenTo(card)) yield { plan, card }
    const seen = new Set(first.map(({ name }) => name))
    for (const { card } of (await readyTasks(engine, plan, { now }))?.records ?? [])
      if (!seen.has(card.name) && isOpenTo(card)) yield { plan, card }
  }
}

const FIRST_MAX = 50

/** Like `claimTask`, but waits for a task; null if `signal` fires first. */
export async function claimWhenReady(room: ClaimRoom, ask: ClaimAsk, signal: AbortSignal): Promise<Submitted | null> {
  const { engine } = room
  const waits = ask.plan === undefined ? WAITS_FOR_ANY : WAITS
  for (;;) {
    const after = await engine.ask({ type: 'position' })
    const claimed = await claimTask(room, ask)
    if (claimed.ok || !waits.has(claimed.refusal.code)) return claimed
    if (signal.aborted) return null
    // Many entries may be written at once; one look covers all of them.
    const gap = pause(LOOK_GAP_MS, signal)
    // A timeout referenced only by `AbortSignal.any` would be garbage-collected, and never fire.
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(), LOOK_MS)
    const look = AbortSignal.any([signal, over.signal])
    // Any entry may make a task ready.
    for await (const _ of engine.watch({ ...planOf(ask), after, signal: look })) break
    clearTimeout(timer)
    await gap
    if (signal.aborted) return null
  }
}

/** Refusals that may soon pass. */
const WAITS: ReadonlySet<string> = new Set(['not-ready', 'conflict'])

/** While waiting for any plan, refusals specific to one plan, such as its limit of attempts, do not end the wait. */
const WAITS_FOR_ANY: ReadonlySet<string> = new Set([
  ...WAITS,
  'illegal-transition',
  'limit',
  'not-found',
  'unknown-reference',
])

/** Expired claims and due retries appear in the journal only after somebody looks. */
const LOOK_MS = 5_000

/** The pause between two looks, however much is written. */
const LOOK_GAP_MS = 200

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

const planOf = ({ plan }: ClaimAsk): { readonly plan?: PlanId } => (plan === undefined ? {} : { plan })

const ROWS_MAX = 5_000
const PAGE = 500

/** Plans with ready tasks, or with claims that may have expired; the oldest first. */
async function plansWithWork(engine: Pick<Engine, 'ask'>): Promise<readonly PlanId[]> {
  const found = new Set<PlanId>()
  for (const status of ['ready', 'running'] as const) {
    let cursor: string | undefined
    for (let rows = 0; rows < ROWS_MAX; rows += PAGE) {
      const page = await engine.ask({
        type: 'tasks',
        status,
        limit: PAGE,
        cursor,
      })
      for (const { plan } of page.items) found.add(plan)
      if (page.next === null) break
      cursor = page.next
    }
  }
  return [...found].sort()
}

export interface TakenUpWork {
  readonly claimed: readonly TaskName[]
  readonly left: readonly { readonly task: TaskName; readonly why: string }[]
}

/**
 * Claims, for the caller, tasks that were already in progress when the plan was written, so that no other agent starts them again. Tasks
 * that are assigned to others or cannot be claimed are left, each with the reason.
 */
export async function takeUpWork(
  { engine }: Pick<ClaimRoom, 'engine'>,
  plan: PlanId,
  tasks: Iterable<TaskName>,
): Promise<TakenUpWork> {
  const claimed: TaskName[] = []
  const left: { task: TaskName; why: string }[] = []
  for (const task of tasks) {
    const found = await engine.ask({ type: 'records', plan, tasks: [task] })
    const assignee = found?.tasks[0]?.definition.assignee
    if (assignee !== undefined && assignee !== engine.caller.actor) {
      left.push({ task, why: `it is for ${assignee} to claim` })
      continue
    }
    const done = await engine.submit(plan, { type: 'claim', task, leaseMs: CLAIM_LEASE_MAX_MS })
    if (done.ok) claimed.push(task)
    else left.push({ task, why: done.refusal.message })
  }
  return { claimed, left }
}
