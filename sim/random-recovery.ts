// Plans that go wrong, drawn from a seed: rules of recovery, breakers, caps, timeboxes, gates and edges, and a world that fails at
// random and people who answer at random. A seed is a whole life, so that a failure is told in one number.

import type { Command, Decide, Settlement, Turn } from '../src/domain/command.ts'
import type { GateAsks, GateVerdict } from '../src/domain/event.ts'
import { asksOf } from '../src/domain/gates/open-gate.ts'
import type { TaskName } from '../src/domain/id.ts'
import { type NextActions, nextActions } from '../src/domain/next-actions.ts'
import type { PlanDefinition, Recovery, RecoveryRule, TaskDefinition } from '../src/domain/plan.ts'
import { checkGraph } from '../src/domain/plan-rules/graph-rules.ts'
import type { Failed, FailureClass, Prepared, Result } from '../src/domain/result.ts'
import type { PlanState, TaskState } from '../src/domain/state/state.ts'
import { numberedSha } from '../src/testing/ids.ts'
import { failed, interrupted, START, succeeded } from '../src/testing/journal.ts'
import { name, type PlanOptions, plan, type TaskOptions, task } from '../src/testing/plan.ts'

/** Numbers from a seed, the same everywhere. */
export class Luck {
  #state: number
  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b9) >>> 0
  }

  /** A whole number from 0 up to `below`. */
  next(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  one<T>(...of: readonly T[]): T {
    return of[this.next(of.length)]!
  }

  /** True once in so many times. */
  rarely(times: number): boolean {
    return this.next(times) === 0
  }
}

const CLASSES: readonly FailureClass[] = ['transient', 'logic', 'policy', 'resource']
const HELPERS = 3

export function troubledPlan(luck: Luck): PlanDefinition {
  const count = 1 + luck.next(6)
  const any = () => `t${luck.next(count)}`
  const tasks: TaskDefinition[] = []
  for (let at = 0; at < count; at++) tasks.push(troubledTask(luck, `t${at}`, at, any))
  for (let at = 0; at < HELPERS; at++)
    tasks.push(task(`h${at}`, { ...attempts(luck), ...(luck.rarely(4) ? { needs: [any()] } : {}), ...visits(luck) }))
  const options: PlanOptions = {
    concurrency: 1 + luck.next(4),
    ...(luck.rarely(4) ? { done: [{ type: 'prose', text: 'it is good' } as const] } : {}),
    policy: {
      ...(luck.rarely(3) ? { breaker: { failures: 1 + luck.next(3), cooldownMs: 1_000 + luck.next(60_000) } } : {}),
      ...(luck.rarely(3)
        ? {
            limits: {
              ...(luck.rarely(2) ? { attempts: 3 + luck.next(20) } : {}),
              ...(luck.rarely(2) ? { loops: 1 + luck.next(4) } : {}),
            },
          }
        : {}),
      ...(luck.rarely(4) ? { onFailure: luck.one('keep', 'compensate', 'rollback') } : {}),
    },
  }
  const drawn = plan('random', ...tasks, options)
  if (checkGraph(drawn).length === 0) return drawn
  // A remedy that comes after what it helps, or tasks in a circle: without those needs it is a plan.
  const bare = tasks.map(({ needs: _, ...one }) => one)
  const cut = plan('random', ...bare, options)
  return checkGraph(cut).length === 0 ? cut : plan('random', ...bare.map(({ recover: _, ...one }) => one), options)
}

function troubledTask(luck: Luck, id: string, at: number, any: () => string): TaskDefinition {
  const needs = at === 0 ? [] : [...new Set(Array.from({ length: luck.next(3) }, () => `t${luck.next(at)}`))]
  const rules = luck.rarely(3) ? 0 : 1 + luck.next(3)
  const options: TaskOptions = {
    ...(needs.length === 0 ? {} : { needs }),
    ...attempts(luck),
    ...visits(luck),
    ...(luck.rarely(6) ? { optional: true } : {}),
    ...(luck.rarely(3) ? { capabilities: [luck.one('net', 'disk')] } : {}),
    ...(luck.rarely(4) ? { timeboxMs: 500 + luck.next(20_000) } : {}),
    ...(luck.rarely(3) ? { effect: luck.one('pure', 'idempotent', 'unsafe') } : {}),
    ...(luck.rarely(8) ? { compensate: { type: 'run', command: { argv: ['undo'] } } as const } : {}),
    ...(luck.rarely(4) ? { on: { [luck.one('failure', 'success', 'rejected', 'x')]: [any()] } } : {}),
    ...(luck.rarely(5) ? { failureModes: [{ name: 'x', detect: { type: 'prose', text: 'x' } }] as const } : {}),
    ...(rules === 0 ? {} : { recover: Array.from({ length: rules }, () => someRule(luck, any)) }),
  }
  switch (luck.next(9)) {
    case 0:
      return task(id, { ...options, action: { type: 'gate', gate: 'approval' } })
    case 1:
      return task(id, { ...options, action: { type: 'external' }, ...(luck.rarely(2) ? { kind: 'deploy' } : {}) })
    case 2:
      return task(id, {
        ...options,
        action: { type: 'subplan', tasks: [task('u'), task('v', luck.rarely(2) ? { needs: ['u'] } : {})] },
      })
    case 3:
      return task(id, { ...options, matrix: { n: [1, 2] } })
    default:
      return task(id, options)
  }
}

const attempts = (luck: Luck): TaskOptions =>
  luck.rarely(2) ? {} : { retry: { attempts: 1 + luck.next(4), backoffMs: { min: 100, max: 5_000 } } }

const visits = (luck: Luck): TaskOptions => (luck.rarely(3) ? { visits: 1 + luck.next(4) } : {})

function someRule(luck: Luck, any: () => string): RecoveryRule {
  const helper = () => name(luck.rarely(4) ? any() : `h${luck.next(HELPERS)}`)
  const ways: readonly (() => Recovery)[] = [
    () => ({ type: 'retry', retry: { attempts: 1 + luck.next(5), backoffMs: { min: 10, max: 2_000 } } }),
    () => ({ type: 'alternate', task: helper() }),
    () => ({ type: 'alternate', task: helper() }),
    () => ({ type: 'repair', task: helper() }),
    () => ({ type: 'repair', task: helper() }),
    () => ({ type: 'replan' }),
    () => ({ type: 'ask' }),
    () => ({ type: 'abort', with: luck.one('compensate', 'keep', 'rollback') }),
  ]
  return {
    ...(luck.rarely(2) ? {} : { on: [luck.one<string>(...CLASSES, 'x')] }),
    ...(luck.rarely(3) ? { times: 1 + luck.next(3) } : {}),
    do: luck.one(...ways)(),
  }
}

/** What happens next in a world that fails at random. Null when the plan has ended. */
export function troubledCommand(state: PlanState, luck: Luck, now: number): Command | null {
  const next = nextActions(state, now)
  if (next.rest === 'draft') return { ...START, files: 'seen' }
  if (next.rest === 'ended') return null
  if (next.rest === 'paused') return { type: 'resume' }
  const asked = state.order.filter(one => one.gate !== null)
  const claimed = state.order.filter(one => one.claim !== null)
  if (asked.length > 0 && (next.rest === 'waiting' || luck.rarely(3)))
    return answerTo(luck, asked[luck.next(asked.length)]!)
  if (claimed.length > 0 && (next.rest === 'waiting' || luck.rarely(2))) {
    const held = claimed[luck.next(claimed.length)]!
    if (luck.rarely(6)) return { type: 'lapse', task: held.definition.id, token: held.claim!.token, reason: 'silence' }
    return { type: 'report', task: held.definition.id, by: held.claim!.by, result: endOf(luck, held) }
  }
  if (next.rest === 'waiting') return { type: 'claim', token: 'k', by: 'ana', consent: foundIn(state) }
  if (luck.rarely(40)) return { type: 'recover', reason: 'its owner died' }
  if (luck.rarely(30)) return byHand(luck, state)
  return turnOf(state, luck, next)
}

/** Somebody interferes, wherever it stands. */
function byHand(luck: Luck, state: PlanState): Command {
  const { id } = state.order[luck.next(state.order.length)]!.definition
  return luck.one<Command>(
    { type: 'retry', task: id },
    { type: 'retry', task: id, repeat: true },
    { type: 'skip', task: id, reason: 'by hand' },
    { type: 'pause' },
    luck.rarely(4) ? { type: 'cancel', reason: 'enough' } : { type: 'note', text: 'hm' },
  )
}

export function turnOf(state: PlanState, luck: Luck, next: NextActions): Turn {
  const settled: Settlement[] = []
  for (const one of next.perform) {
    if (luck.rarely(4)) continue
    const { visit, attempt } = one
    const result = luck.rarely(25) ? interrupted() : endOf(luck, one)
    settled.push({ task: one.definition.id, visit, attempt, result })
  }
  return {
    type: 'turn',
    settled,
    prepared: next.prepare.map(one => ({
      task: one.definition.id,
      visit: one.visit,
      prepared: preparedOf(state, one),
    })),
    gates: next.prepare.flatMap(one => questionFor(state, one)),
    compensated:
      next.compensate === null
        ? []
        : [{ task: next.compensate.task.definition.id, result: luck.rarely(4) ? failed() : succeeded() }],
    committed: next.commit === null ? [] : [{ task: next.commit.task, visit: next.commit.visit, operations: [] }],
    ...(next.rollback === null ? {} : { rolledBack: { id: next.rollback.id, outcome: { changes: null, paths: 0 } } }),
  }
}

/** What is found before it begins; what it would do is always the same. */
function preparedOf(state: PlanState, { definition }: TaskState): Prepared {
  return {
    when: definition.when === undefined ? undefined : true,
    preimage: numberedSha(7),
    consent: foundIn(state),
  }
}

export const foundIn = (state: PlanState): NonNullable<Prepared['consent']> => ({
  from: state.hash,
  hash: numberedSha(8),
})

export function questionFor(state: PlanState, { definition, visit }: TaskState): NonNullable<Turn['gates']> {
  const { id, action } = definition
  if (action.type !== 'gate') return []
  return [{ task: id, visit, from: state.hash, question: { asks: asksOf(action), hash: state.hash } }]
}

function endOf(luck: Luck, { definition }: TaskState): Result {
  if (!luck.rarely(3)) {
    if (definition.action.type === 'verify')
      return succeeded({ verdicts: [{ criterion: 'it is good', holds: luck.rarely(3) ? null : true }] })
    return succeeded(luck.rarely(8) ? { outcome: 'give-up' } : luck.rarely(6) ? { outcome: 'x' } : {})
  }
  const kind = luck.one(...CLASSES)
  const failure: Failed = failed({
    class: kind,
    retryable: !luck.rarely(3),
    ...(luck.rarely(6) ? { retryAfterMs: luck.next(20_000) } : {}),
  })
  const known = definition.failureModes?.[0]?.name
  return known === undefined || luck.rarely(2) ? failure : { ...failure, mode: known }
}

const ANSWERS: Record<GateAsks['type'], readonly GateVerdict[]> = {
  approval: ['approved', 'approved', 'rejected', 'pushed-back'],
  consent: ['approved', 'approved', 'rejected'],
  decision: ['rejected'],
  question: ['rejected'],
  recovery: ['again', 'skipped', 'rejected'],
  replan: ['again', 'skipped', 'rejected'],
  verdict: ['approved', 'rejected'],
  'unknown-outcome': ['done', 'again', 'rejected'],
  edits: ['rejected'],
}

function answerTo(luck: Luck, { definition, gate }: TaskState): Decide {
  const verdict = luck.one(...ANSWERS[gate!.asks.type])
  return { type: 'decide', task: definition.id, verdict, rationale: 'so it is', by: 'ana' }
}

/** The same question, answered with the no that is always taken. */
export const noTo = (task: TaskName): Decide => ({
  type: 'decide',
  task,
  verdict: 'rejected',
  rationale: 'no',
  by: 'ana',
})
