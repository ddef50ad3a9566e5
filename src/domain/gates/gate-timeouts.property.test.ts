// Gates that run out, escalation and deadlines in random plans, under random decisions, pauses, revisions and time that jumps: what
// the index says is what a look at every task says, nobody is called twice for one reason, and nothing overdue stays open.

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { EPOCH, external, type Journal, name, numberedSha, plan, started, task } from '../../testing/index.ts'
import type { JsonObject } from '../json.ts'
import { nextActions } from '../next-actions.ts'
import type { GateAction, PlanDefinition, TaskDefinition } from '../plan.ts'
import { packFold, unpackFold } from '../state/fold.ts'
import type { PlanState } from '../state/state.ts'
import { ENDED } from '../status.ts'
import { decided } from './gates.fixture.ts'

/** More on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 150)
const MINUTE = 60_000
const TASKS = ['a', 'b', 'c', 'd', 'e']

const duration = fc.integer({ min: 1, max: 50 }).map(minutes => minutes * MINUTE)
const gateOf = fc.record(
  {
    expiresMs: duration,
    expired: fc.constantFrom('reject' as const, 'escalate' as const),
    escalate: duration.map(afterMs => ({ afterMs, to: 'boss' })),
    approvers: fc.constantFrom({ count: 2 }, { role: 'lead' }),
  },
  { requiredKeys: [] },
)
const deadline = fc.integer({ min: 0, max: 120 }).map(minutes => new Date(EPOCH + minutes * MINUTE).toISOString())

const taskOf = (id: string, at: number): fc.Arbitrary<TaskDefinition> =>
  fc
    .record({
      isGate: fc.integer({ min: 0, max: 3 }),
      gate: gateOf,
      needs: fc.subarray(TASKS.slice(0, at)),
      due: fc.option(deadline, { nil: undefined }),
    })
    .map(({ isGate, gate, needs, due }) => {
      const options = { needs, optional: true as const, ...(due === undefined ? {} : { deadline: due }) }
      return isGate === 0
        ? external(id, options)
        : task(id, { ...options, action: { type: 'gate', gate: 'approval', ...gate } as GateAction })
    })
const planOf: fc.Arbitrary<PlanDefinition> = fc
  .tuple(fc.tuple(...TASKS.map(taskOf)), fc.option(duration, { nil: undefined }))
  .map(([tasks, after]) =>
    plan('p', ...tasks, {
      policy: {
        roles: { lead: ['ana'], boss: ['cy'] },
        escalate: after === undefined ? undefined : { afterMs: after, to: 'boss' },
      },
    }),
  )

type Step =
  | { readonly type: 'pass'; readonly ms: number }
  | {
      readonly type: 'decide'
      readonly at: number
      readonly by: string
      readonly verdict: 'approved' | 'rejected' | 'pushed-back'
    }
  | { readonly type: 'report' | 'lapse'; readonly at: number }
  | { readonly type: 'pause' | 'resume' | 'store' }
  | { readonly type: 'revise'; readonly to: PlanDefinition }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 30 * MINUTE }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('decide' as const),
      at: fc.nat(4),
      by: fc.constantFrom('ana', 'bo', 'cy'),
      verdict: fc.constantFrom('approved' as const, 'rejected' as const, 'pushed-back' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('report' as const, 'lapse' as const), at: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('pause' as const, 'resume' as const, 'store' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('revise' as const), to: planOf }) },
)

it('the next alarm is the first of all tasks, each is raised once, and nothing overdue stays open', () => {
  fc.assert(
    fc.property(planOf, fc.array(step, { maxLength: 40 }), (definition, steps) => {
      const journal = started(definition)
      let revisions = 1
      for (const one of steps) {
        take(journal, one, () => numberedSha(++revisions))
        drive(journal)
        const { state } = journal
        const now = journal.clock.now()
        expect(nextActions(state, now).wakeAt).toBe(firstAlarm(state))
        const stored = unpackFold(JSON.parse(JSON.stringify(packFold(state))) as JsonObject, state.definition)
        expect(nextActions(stored, now).wakeAt).toBe(firstAlarm(state))
        if (state.status === 'active') expect(firstAlarm(state) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now)
        for (const { escalated } of state.order) expect(new Set(escalated).size).toBe(escalated.length)
      }
    }),
    { numRuns: RUNS },
  )
})

function take(journal: Journal, one: Step, newHash: () => ReturnType<typeof numberedSha>): void {
  const at = 'at' in one ? (journal.state.order[one.at]?.definition.id ?? '') : ''
  switch (one.type) {
    case 'pass':
      journal.clock.advance(one.ms)
      return
    case 'decide':
      journal.submit(decided(at, one.verdict, { by: one.by }))
      return
    case 'report':
      journal.submit({ type: 'report', task: name(at || 'a'), by: 'ana', result: { status: 'succeeded' } })
      return
    case 'lapse':
      journal.submit({ type: 'claim', task: name(at || 'a'), token: 't', by: 'ana' })
      journal.submit({ type: 'lapse', task: name(at || 'a'), token: 't', reason: 'silent' })
      return
    case 'revise':
      journal.submit({ type: 'revise', definition: one.to, hash: newHash(), rationale: 'so' })
      return
    case 'store':
      return
    default:
      journal.submit({ type: one.type })
  }
}

/** As an engine would, until it has nothing to do. */
function drive(journal: Journal): void {
  for (let round = 0; round < 50; round++) {
    const next = nextActions(journal.state, journal.clock.now())
    const [gate] = next.prepare
    if (gate !== undefined) journal.ask(gate.definition.id)
    else if (next.turn) journal.turn()
    else return
  }
  throw new Error('it does not come to rest')
}

/** By looking at every task. */
function firstAlarm(state: PlanState): number | null {
  if (state.status !== 'active' || state.compensating !== null) return null
  const at: number[] = []
  for (const { definition, gate, escalated, status } of state.order) {
    if (ENDED.has(status)) continue
    const { action, deadline: due } = definition
    if (due !== undefined && !escalated.includes('deadline')) at.push(Date.parse(due))
    if (gate === null) continue
    if (gate.expiresAt !== undefined && !escalated.includes('expired')) at.push(gate.expiresAt)
    const escalate = (action.type === 'gate' ? action.escalate : undefined) ?? state.definition.policy?.escalate
    if (escalate !== undefined && !escalated.includes('waiting')) at.push(gate.since + escalate.afterMs)
  }
  return at.length === 0 ? null : Math.min(...at)
}
