// The state after decisions: gates and answers, recovery, breakers, questions, proposals. Part of `evolve`.

import { attemptKey, newLedger } from '../budget/ledger.ts'
import type { EditChoice, EventOf, JudgementEvent } from '../event.ts'
import type { Millis } from '../id.ts'
import type { NetworkAnswer } from '../network-decision.ts'
import { ENDED } from '../status.ts'
import { indexAlarms } from './alarms.ts'
import { complete, end } from './evolve-attempt.ts'
import type { OpenGate, PlanState, TaskState } from './state.ts'
import { index, setStatus } from './task-index.ts'

type Find = (state: PlanState, name: TaskState['definition']['id']) => TaskState

export function evolveJudgement(state: PlanState, event: JudgementEvent, now: Millis, find: Find): void {
  switch (event.type) {
    case 'recovery.chosen': {
      const task = find(state, event.task)
      const { rule, to, choice } = event
      if (rule === undefined) {
        // Asked for an approval before an attempt, nothing failed, so a recovery goes on.
        if (choice !== 'ask') task.recovering = null
        return
      }
      // Several retries by one rule are one use of it.
      if (choice !== 'retry' || task.recovering?.rule !== rule)
        task.recoveries = Array.from(
          { length: Math.max(rule + 1, task.recoveries.length) },
          (_, at) => (task.recoveries[at] ?? 0) + (at === rule ? 1 : 0),
        )
      task.recovering = choice === 'abort' ? null : { rule, by: to?.[0] ?? event.task }
      return
    }
    case 'task.substituted': {
      const task = find(state, event.task)
      const { result } = find(state, event.by)
      task.recovering = null
      task.handled = false
      if (result !== null) task.result = result
      // The alternate's files are committed and rolled back with the alternate.
      end(state, task, 'completed', now, `done by ${event.by}`)
      return
    }
    case 'plan.aborted':
      state.status = 'active'
      state.reason = event.reason
      state.ending = 'failed'
      state.rollsBack = event.with === 'rollback'
      state.compensating =
        event.with === 'keep'
          ? []
          : state.completedOrder.filter(name => find(state, name).definition.compensate !== undefined)
      for (const task of state.order)
        if (!ENDED.has(task.status) && task.status !== 'running') end(state, task, 'cancelled', now, event.reason)
      return
    case 'breaker.opened': {
      const { capability, failures, until } = event
      state.breakers = [...others(state, capability), { capability, failures, until }]
      return
    }
    case 'breaker.closed':
      state.breakers = others(state, event.capability)
      return
    case 'task.escalated': {
      const task = find(state, event.task)
      task.escalated = [...task.escalated, event.why]
      return
    }
    case 'gate.voted': {
      const task = find(state, event.task)
      const { by, rationale } = event
      if (task.gate !== null) task.gate = { ...task.gate, votes: [...(task.gate.votes ?? []), { by, rationale }] }
      return
    }
    case 'consent.voided': {
      const task = find(state, event.task)
      task.consent = null
      // A claimable task asks first again.
      if (task.status === 'ready') index(state, task)
      return
    }
    case 'question.asked': {
      const { type: _, ...question } = event
      state.questions = [...state.questions, { ...question, since: now }]
      if (event.budget !== undefined) {
        state.budget ??= newLedger()
        state.budget.asked++
      }
      return
    }
    case 'question.answered':
      rememberAnswer(state, event)
      state.questions = state.questions.filter(({ id }) => id !== event.id)
      return
    case 'revision.proposed': {
      const { type: _, ...proposal } = event
      state.proposals = [...state.proposals, { ...proposal, since: now }]
      const asking = proposal.task === undefined ? undefined : state.tasks.get(proposal.task)
      if (asking?.gate != null) asking.gate = { ...asking.gate, proposed: proposal.base }
      return
    }
    case 'revision.declined':
      state.proposals = state.proposals.filter(({ id }) => id !== event.id)
      return
    case 'assessment.made':
      state.rounds = event.round
      return
    case 'notice.sent':
      return
    default:
      event satisfies never
  }
}

/** Answers to Planfold's own questions: may a command reach an address, whose are changes outside a scope, may more be spent. */
function rememberAnswer(state: PlanState, { id, answers }: EventOf<'question.answered'>): void {
  const { network, sandbox, budget, agent, outside, task } = state.questions.find(question => question.id === id) ?? {}
  const { whose } = answers
  const held = outside === undefined || task === undefined ? undefined : state.tasks.get(task)
  if (held?.claim != null && (whose === 'task' || whose === 'other'))
    held.prepared = {
      ...held.prepared,
      outside: { ...held.prepared?.outside, ...Object.fromEntries(outside!.paths.map(path => [path, whose])) },
    }
  if (sandbox === true && answers.run !== 'yes') state.sandbox = 'required'
  if (agent !== undefined && task !== undefined)
    state.permits = [...state.permits, { rule: agent.rule, allowed: answers.allow === 'yes', task }]
  const { visit, attempt } = budget ?? {}
  if (answers.more !== 'yes' && task !== undefined && visit !== undefined && attempt !== undefined)
    state.budget?.denied.add(attemptKey({ task, visit, attempt }))
  if (network === undefined) return
  const { rule } = network
  const forTask = answers.allow === 'plan' || answers.allow === 'machine' || task === undefined ? {} : { task }
  state.permits = [...state.permits, { rule, allowed: PERMITS.has(answers.allow as NetworkAnswer), ...forTask }]
}

const PERMITS: ReadonlySet<NetworkAnswer> = new Set(['task', 'plan', 'machine'])

export function openGate(state: PlanState, task: TaskState, event: EventOf<'gate.opened'>, now: Millis): void {
  const { type: _, task: __, hash = null, ...question } = event
  task.gate = { ...question, hash, since: now }
  if (task.status === 'waiting') indexAlarms(state, task)
  else setStatus(state, task, 'waiting')
}

export function closeGate(
  state: PlanState,
  task: TaskState,
  event: EventOf<'gate.decided'>,
  now: Millis,
  find: Find,
): void {
  const { gate } = task
  task.gate = null
  const { verdict, by = '', until, binds = {} } = event
  // If the task changes after its approval, it is asked about again.
  for (const [name, hash] of Object.entries(binds)) {
    const bound = state.tasks.get(name as never)
    if (bound === undefined || until === undefined) continue
    bound.consent = { hash, until, by, gate: event.task }
    if (bound.status === 'ready') index(state, bound)
  }
  switch (verdict) {
    case 'approved':
    case 'done':
      if (!isBefore(gate)) complete(state, task, now)
      else if (gate?.asks.type === 'verdict') task.prepared = { ...task.prepared, approved: true }
      return
    case 'chosen':
      if (gate?.asks.type === 'edits') {
        const { option, choices } = event
        const chosen = {
          shown: gate.shown!,
          every: option as EditChoice,
          choices,
        }
        task.prepared = { ...task.prepared, chosen }
        return
      }
      task.result = {
        status: 'succeeded',
        outcome: event.option ?? '',
        outputs: { choice: event.option ?? '', rationale: event.rationale, by },
      }
      complete(state, task, now)
      return
    case 'answered':
      task.result = { status: 'succeeded', outputs: event.answers ?? {} }
      complete(state, task, now)
      return
    case 'rejected':
      end(state, find(state, event.task), 'failed', now, event.rationale)
      return
    case 'skipped':
      end(state, task, 'skipped', now, event.rationale)
      return
    case 'again':
    case 'pushed-back':
      return
    default:
      verdict satisfies never
  }
}

/** Does the gate ask before an attempt begins? */
export const isBefore = (gate: OpenGate | null): boolean =>
  gate?.asks.type === 'consent' ||
  gate?.asks.type === 'edits' ||
  (gate?.asks.type === 'verdict' && gate.asks.before === true)

const others = ({ breakers }: PlanState, capability: string): PlanState['breakers'] =>
  breakers.filter(one => one.capability !== capability)
