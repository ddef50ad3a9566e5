// A random life for a plan, drawn by fast-check: what may happen to it, and what the world says. Not part of the exported
// helpers: fast-check is only ours.

import fc from 'fast-check'
import type { Command, Expanded, RolledBack, Settlement, Turn } from '../src/domain/command.ts'
import type { GateAsks, GateVerdict } from '../src/domain/event.ts'
import type { CheckpointName } from '../src/domain/id.ts'
import { nextActions } from '../src/domain/next-actions.ts'
import type { PlanDefinition } from '../src/domain/plan.ts'
import { bindItems } from '../src/domain/plan-rules/for-each.ts'
import type { Prepared, Result } from '../src/domain/result.ts'
import { meaningFor, meaningOf } from '../src/domain/rollback/rollback-plan.ts'
import { loopLimitReached } from '../src/domain/rules/settle.ts'
import { isBefore } from '../src/domain/state/evolve-gate.ts'
import type { PlanState, TaskState } from '../src/domain/state/state.ts'
import { numberedSha } from '../src/testing/ids.ts'
import { failed, interrupted, type JournalEntry, START, succeeded } from '../src/testing/journal.ts'
import { plans as plainPlans } from './random-plans.ts'
import { foundIn, Luck, questionFor, troubledPlan } from './random-recovery.ts'

/** Plans of every kind; some with rules for when things go wrong. */
export const plans: fc.Arbitrary<PlanDefinition> = fc.oneof(
  plainPlans,
  fc.nat(1_000_000).map(seed => troubledPlan(new Luck(seed))),
)

/** One thing that may happen; the numbers choose among what is possible when it happens. */
export type Move = {
  readonly kind: string
  readonly pick: number
  readonly luck: number
  readonly definition: PlanDefinition
}

const KINDS = [
  ...Array<string>(16).fill('turn'),
  ...Array<string>(3).fill('decide'),
  ...Array<string>(2).fill('claim'),
  ...Array<string>(3).fill('report'),
  'lapse',
  'recover',
  'retry',
  'retry',
  'skip',
  'pause',
  'resume',
  'resume',
  'cancel',
  'note',
  'revise',
  'stale',
  'stop',
  'rollback',
  'rollback',
  'checkpoint',
]

export const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), pick: fc.nat(1_000), luck: fc.nat(1_000_000), definition: plans }),
  { maxLength: 40 },
)

/** The command a move is in this state. It may well be refused. `entries` is the journal so far. */
export function commandOf(
  state: PlanState,
  { kind, pick, luck, definition }: Move,
  now: number,
  entries: readonly JournalEntry[] = [],
): Command {
  const any = state.order[pick % state.order.length]!
  const task = any.definition.id
  const waiting = state.order.filter(other => other.gate !== null)
  const claimed = state.order.filter(other => other.claim !== null)
  switch (kind) {
    case 'decide': {
      const asked = waiting[pick % Math.max(1, waiting.length)]?.definition.id ?? task
      return {
        type: 'decide',
        task: asked,
        verdict: (['approved', 'rejected', 'done', 'again', 'skipped', 'pushed-back'] as const)[luck % 6]!,
        rationale: 'so it is',
        by: luck % 2 === 0 ? 'ana' : 'ben',
      }
    }
    case 'claim':
      return { type: 'claim', token: `k${luck % 3}`, by: `agent-${luck % 3}`, ...(luck % 2 === 0 ? {} : { task }) }
    case 'report': {
      const held = claimed[pick % Math.max(1, claimed.length)]
      return {
        type: 'report',
        task: held?.definition.id ?? task,
        by: held?.claim?.by ?? 'ana',
        result: resultOf(held ?? any, luck),
      }
    }
    case 'lapse':
      return {
        type: 'lapse',
        task: claimed[0]?.definition.id ?? task,
        token: claimed[0]?.claim?.token ?? 'k0',
        reason: 'silence',
      }
    case 'recover':
      return { type: 'recover', reason: 'its owner died' }
    case 'retry':
      return { type: 'retry', task, reason: 'by hand', repeat: true }
    case 'skip':
      return { type: 'skip', task, reason: 'by hand' }
    case 'pause':
    case 'resume':
      return { type: kind }
    case 'cancel':
      return luck % 4 === 0 ? { type: 'cancel', force: luck % 8 === 0 } : { type: 'pause' }
    case 'rollback':
      return rollbackOf(state, entries, pick, luck)
    case 'checkpoint':
      return { type: 'checkpoint', name: `c${luck % 3}` as CheckpointName, standing: { snapshot: numberedSha(luck) } }
    case 'note':
      return { type: 'note', text: 'hm', task }
    case 'revise':
      return { type: 'revise', definition, hash: numberedSha(luck), rationale: 'better' }
    case 'stale':
      return {
        type: 'turn',
        settled: state.order.map(other => ({
          task: other.definition.id,
          visit: other.visit - (luck % 2),
          attempt: other.attempt + 1,
          result: succeeded(),
        })),
      }
    default:
      return turnOf(state, pick, luck, now, kind === 'stop')
  }
}

/** To some entry, with all of its tasks, none, or a few; or back again to before the last one. */
export function rollbackOf(
  state: PlanState,
  entries: readonly JournalEntry[],
  pick: number,
  luck: number,
  kind: 'rollback' | 'undo' = luck % 4 === 0 ? 'undo' : 'rollback',
): Command {
  const asked = {
    type: 'rollback',
    kind,
    id: `r${luck}`,
    at: 0,
    ...(luck % 3 === 0 ? { force: true as const } : {}),
  } as const
  const last = entries.findLast(({ events }) => events.some(event => event.type === 'rollback.started'))?.version ?? 2
  const to = kind === 'undo' ? last - 1 : 1 + (pick % Math.max(1, entries.length))
  if (luck % 7 === 0) return { ...asked, to, resets: [], compensate: [], filesOnly: true }
  if (luck % 7 === 1) {
    const tasks = [state.order[pick % state.order.length]!.definition.id]
    return { ...asked, to, ...meaningFor(entries, state, tasks), tasks }
  }
  return { ...asked, to, ...meaningOf(entries, state, to) }
}

function turnOf(state: PlanState, pick: number, luck: number, now: number, stopping: boolean): Turn {
  const next = nextActions(state, now)
  const settled: Settlement[] = []
  for (const task of next.perform) {
    if ((pick + task.ordinal) % 3 === 0) continue
    const { visit, attempt } = task
    const result = (luck + task.ordinal) % 11 === 0 ? interrupted() : resultOf(task, luck + task.ordinal)
    settled.push({ task: task.definition.id, visit, attempt, result })
  }
  const prepared = next.prepare.map(task => ({
    task: task.definition.id,
    visit: task.visit,
    prepared: { ...preparedOf(task, luck + task.ordinal), consent: { from: state.hash, hash: numberedSha(8) } },
  }))
  const compensated =
    next.compensate === null
      ? []
      : [
          {
            task: next.compensate.task.definition.id,
            result: luck % 3 === 0 ? failed({ retryable: luck % 2 === 0 }) : succeeded(),
          },
        ]
  const expanded = expandedOf(state, next.prepare, luck)
  const committed = next.commit === null ? [] : [committedOf(next.commit)]
  return {
    type: 'turn',
    settled,
    prepared,
    gates: next.prepare.flatMap(task => questionFor(state, task)),
    compensated,
    expanded,
    committed,
    ...(next.rollback === null ? {} : { rolledBack: rolledBackOf(next.rollback.id, luck) }),
    ...(stopping ? { start: false } : {}),
  }
}

const committedOf = ({ task, visit }: PlanState['uncommitted'][number]) => ({ task, visit, operations: [] })

function rolledBackOf(id: string, luck: number): RolledBack {
  const failure = { class: 'logic', message: 'somebody has worked there', retryable: false } as const
  if (luck % 5 === 0) return { id, outcome: { changes: null, paths: 0, failure, conflicts: ['a'] } }
  return { id, outcome: { changes: luck % 2 === 0 ? null : numberedSha(luck), paths: luck % 2 } }
}

/** Items for every `for_each` whose turn has come; sometimes found for a definition that is no longer the plan's. */
function expandedOf(state: PlanState, line: readonly TaskState[], luck: number): readonly Expanded[] {
  return line.flatMap(({ definition: { id, action }, visit }) => {
    if (action.type !== 'items') return []
    const items = Array.from({ length: luck % 3 }, (_, at) => at)
    const from = luck % 5 === 0 ? numberedSha(luck) : state.hash
    const definition = bindItems(state.definition, action.of, items)
    return [{ task: id, visit, from, items, definition, hash: numberedSha(luck + 1) }]
  })
}

function preparedOf(task: TaskState, luck: number): Prepared {
  const when = task.definition.when === undefined || task.prepared?.when !== undefined ? {} : { when: luck % 4 !== 0 }
  if (luck % 7 === 0) return { failure: { class: 'resource', message: 'no disk', retryable: luck % 2 === 0 } }
  return {
    ...when,
    preconditions: task.definition.preconditions === undefined ? undefined : judgedOf(task),
    preimage: task.prepared?.preimage ?? numberedSha(luck),
    ...(luck % 3 === 0 ? { checkpoint: { snapshot: numberedSha(luck) } } : {}),
  }
}

const judgedOf = (task: TaskState) =>
  (task.definition.preconditions ?? []).map(() => ({ criterion: 'it is quiet', holds: null }))

function resultOf(task: TaskState, luck: number): Result {
  if (luck % 3 === 0) {
    const mode = luck % 2 === 0 ? task.definition.failureModes?.[0]?.name : undefined
    return { ...failed({ retryable: luck % 2 === 0 }), ...(mode === undefined ? {} : { mode }) }
  }
  const outcomes = Object.keys(task.definition.on ?? {})
  const outcome = outcomes[luck % Math.max(1, outcomes.length)]
  if (task.definition.action.type === 'verify')
    return succeeded({ verdicts: [{ criterion: 'it is good', holds: luck % 5 === 0 ? null : true }] })
  const wrote = luck % 4 === 0 ? { wrote: { changes: numberedSha(luck), paths: 1 } } : {}
  return succeeded(outcome === undefined || luck % 5 === 0 ? wrote : { outcome, ...wrote })
}

/** The friendliest command for this state: everything works, everyone agrees. Null when there is nothing left to do. */
export function kindCommand(state: PlanState, now: number): Command | null {
  const next = nextActions(state, now)
  if (next.rest === 'draft') return START
  if (next.rest === 'paused') return { type: 'resume' }
  if (next.rest === 'ended') return null
  const asked = state.order.find(task => task.gate !== null)
  if (asked !== undefined && next.rest === 'waiting') {
    return {
      type: 'decide',
      task: asked.definition.id,
      // Even a kind person cannot send it round once more than the plan allows.
      verdict:
        !isBefore(asked.gate) && loopLimitReached({ state, now, events: [] }, asked) !== null
          ? 'rejected'
          : kindAnswer(asked.gate!.asks.type),
      rationale: '',
      by: asked.gate!.votes?.some(({ by }) => by === 'ana') === true ? 'ben' : 'ana',
    }
  }
  const claimed = state.order.find(task => task.claim !== null)
  // While a rollback is under way a report is refused; it is sent again afterwards.
  if (claimed !== undefined && state.rollback === null)
    return { type: 'report', task: claimed.definition.id, by: claimed.claim!.by, result: kindResult(claimed) }
  if (next.rest === 'waiting') return { type: 'claim', token: 'k', by: 'ana', consent: foundIn(state) }
  return {
    type: 'turn',
    settled: Array.from(next.perform, task => ({
      task: task.definition.id,
      visit: task.visit,
      attempt: task.attempt,
      result: kindResult(task),
    })),
    prepared: next.prepare.map(task => ({
      task: task.definition.id,
      visit: task.visit,
      prepared: {
        when: task.definition.when === undefined ? undefined : true,
        preconditions: task.definition.preconditions === undefined ? undefined : judgedOf(task),
        preimage: numberedSha(7),
        consent: { from: state.hash, hash: numberedSha(8) },
      },
    })),
    gates: next.prepare.flatMap(task => questionFor(state, task)),
    expanded: expandedOf(state, next.prepare, 1),
    compensated: next.compensate === null ? [] : [{ task: next.compensate.task.definition.id, result: succeeded() }],
    committed: next.commit === null ? [] : [committedOf(next.commit)],
    ...(next.rollback === null ? {} : { rolledBack: rolledBackOf(next.rollback.id, 1) }),
  }
}

const kindAnswer = (asks: GateAsks['type']): GateVerdict =>
  asks === 'unknown-outcome' ? 'done' : asks === 'recovery' || asks === 'replan' ? 'again' : 'approved'

function kindResult(task: TaskState): Result {
  const { action, on } = task.definition
  return succeeded(action.type === 'decide' ? { outcome: Object.keys(on ?? {})[0] ?? 'success' } : {})
}
