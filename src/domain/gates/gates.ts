// The decision of a person at a gate, and its consequences.

import type { CommandOf, Decide } from '../command.ts'
import { EDIT_CHOICES, type EventOf, type GateAsks, type GateVerdict } from '../event.ts'
import { advise, type Hint, quoted, type Step } from '../hint.ts'
import { nameKey, type TaskName } from '../id.ts'
import { CONSENT_VALID_MS } from '../limits.ts'
import { fillIn } from '../plan-rules/form.ts'
import { hasLayers, policyOf } from '../policy/policy-in-state.ts'
import { brokenOf } from '../recovery/follow-recovery.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { revise } from '../revisions/revise.ts'
import { conclude } from '../rules/conclude.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { illegal } from '../rules/lifecycle.ts'
import { propagate } from '../rules/readiness.ts'
import { sendBackAgain } from '../rules/review.ts'
import { exhausted, NEEDS_OPEN, reopen } from '../rules/routing.ts'
import { afterFailure, afterSuccess, loopLimitReached } from '../rules/settle.ts'
import { isBefore } from '../state/evolve-gate.ts'
import type { OpenGate, PlanState, TaskState } from '../state/state.ts'
import { openNeeds, transitiveDependants, worksOf } from '../state/task-index.ts'
import { PLAN_ENDED } from '../status.ts'
import { lacksRole } from './approvers.ts'
import { chosenBinds, consumeConsent } from './consent-rules.ts'
import { asksOn } from './gate-timeouts.ts'

export function decideGate(draft: DecisionDraft, command: Decide): Refusal | undefined {
  const { state } = draft
  const refusal = refusalOf(draft, command)
  if (refusal !== undefined) return refusal
  const task = state.tasks.get(command.task)!
  const gate = task.gate!
  const { id } = task.definition
  const { verdict, rationale, by = '', edits } = command
  if (verdict === 'approved' && approvalsLeft(gate, by) > 1) {
    const on = gate.hash === null ? {} : { hash: gate.hash, ...sightOf(command) }
    emit(draft, { type: 'gate.voted', task: id, by, rationale, ...on })
    return undefined
  }
  if (edits !== undefined) {
    const { definition, hash, source, writer } = edits
    const revision = { definition, hash, rationale: `approved with edits: ${rationale}`, source, writer }
    const refused = revise(draft, { type: 'revise', ...revision }, { keep: task })
    if (refused !== undefined) return refused
    // The edits reopened what it needs, so it asks again after that.
    if (task.gate === null) return undefined
  }
  const before = isBefore(gate)
  const target = verdict === 'pushed-back' ? targetOf(state, task, command.to) : null
  const again = target === null ? [] : worksOf(state, target)
  emit(draft, { type: 'gate.decided', task: id, verdict, rationale, ...saidBesides(draft, task, command, target) })
  switch (verdict) {
    case 'rejected':
      afterFailure(draft, task, ['rejected', 'failure'])
      break
    case 'pushed-back':
      reopen(draft, again, `changes requested at '${id}'`, { from: id, by, text: rationale })
      break
    case 'skipped':
      propagate(draft, task)
      break
    case 'again':
      if (gate.asks.type === 'unknown-outcome') {
        consumeConsent(draft, task)
        tryAgain(draft, task)
      } else if (!sendBackAgain(draft, task, by, rationale))
        reopen(draft, brokenOf(state, task), `retry of '${id}'${rationale === '' ? '' : `: ${rationale}`}`)
      break
    default:
      if (before) tryAgain(draft, task)
      else afterSuccess(draft, task)
  }
  conclude(draft)
  return undefined
}

/** Why this answer is refused; undefined when it is valid. Changes nothing. */
function refusalOf(draft: DecisionDraft, command: Decide): Refusal | undefined {
  const { state } = draft
  const task = state.tasks.get(command.task)
  if (task === undefined) return unknownTask(draft, command.task)
  const { id } = task.definition
  if (PLAN_ENDED.has(state.status)) return illegal(state, 'decide', 'the plan is finished')
  const { gate } = task
  if (gate === null)
    return refuse(
      'not-ready',
      `task '${id}' is ${task.status} and waits for no decision`,
      advise`see ${quoted('inbox')}`,
    )
  const over = gate.expiresAt !== undefined && gate.expiresAt <= draft.now && !asksOn(task)
  if (over)
    return refuse('conflict', `'${id}' could be answered until ${new Date(gate.expiresAt!).toISOString()}`, TOO_LATE)
  const { verdict } = command
  const answers = ANSWERS[gate.asks.type]
  if (!answers.includes(verdict))
    return refuse(
      'illegal-transition',
      `this does not answer '${id}', which ${ASKS_WORDS[gate.asks.type]}`,
      howToAnswer(state.definition.name, id, gate.asks) ?? `answer with ${answers.join(' or ')}`,
      answers,
    )
  if (command.hash !== undefined && command.hash !== gate.hash)
    return refuse('conflict', `the request of '${id}' has changed`, 'look at it again, then decide')
  // Embedding programs may ignore the types.
  if (typeof command.rationale !== 'string')
    return refuse('invalid', `the decision about '${id}' has no reason`, "add 'rationale' with one, or an empty text")
  if (command.rationale.length > RATIONALE_MAX)
    return refuse('limit', `the reason is longer than ${RATIONALE_MAX} characters`, 'say it shorter, or name a file')
  return (
    notAllowed(state, task, gate, command) ??
    illFormed(gate, command) ??
    leadsNowhere(draft, task, gate, command) ??
    unfit(gate, command)
  )
}

/** Refuses a person without the required role, and a second approval by the same person. */
function notAllowed(state: PlanState, task: TaskState, gate: OpenGate, { by, verdict }: Decide): Refusal | undefined {
  const lacking = lacksRole(state, task, gate, by)
  if (lacking !== null) return lacking
  if (verdict !== 'approved' || (gate.votes ?? []).every(vote => !isSame(vote.by, by))) return undefined
  const { id } = task.definition
  return refuse('not-allowed', `'${by}' has approved '${id}' already`, 'another person must approve it as well')
}

const isSame = (one: string, other = ''): boolean => nameKey(one) === nameKey(other)

/** How many must still approve, this one included. */
function approvalsLeft({ asks, votes = [] }: OpenGate, by: string): number {
  const wanted = 'approvers' in asks ? (asks.approvers?.count ?? 1) : 1
  return wanted - votes.filter(vote => !isSame(vote.by, by)).length
}

/** Refuses an answer that leads back to no earlier task, or to one without visits left. */
function leadsNowhere(draft: DecisionDraft, task: TaskState, gate: OpenGate, command: Decide): Refusal | undefined {
  const { verdict, to } = command
  const { id } = task.definition
  if (verdict === 'pushed-back') {
    if (to !== undefined && !draft.state.tasks.has(to)) return unknownTask(draft, to)
    const target = targetOf(draft.state, task, to)
    if (target === null)
      return refuse(
        'unknown-reference',
        to === undefined ? `'${id}' has no earlier task to send it back to` : `'${to}' does not come before '${id}'`,
        'name a task that it needs',
      )
    const over = exhausted(task, worksOf(draft.state, target))
    return over === null ? undefined : tooOften(`sending '${id}' back`, over)
  }
  const completes = !isBefore(gate) && (verdict === 'approved' || verdict === 'done')
  const over = completes ? loopLimitReached(draft, task) : null
  return over === null ? undefined : tooOften(`approving '${id}'`, over)
}

/** In UTF-16 code units; the journal stores it and tasks receive it. */
const RATIONALE_MAX = 64 * 1024
const TOO_LATE = advise`${quoted('retry')} asks again`

const tooOften = (what: string, over: { readonly target: TaskName; readonly visits: number }): Refusal =>
  refuse(
    'not-ready',
    `${what} leads back to '${over.target}', which has used all of its ${over.visits} runs`,
    'reject it, or raise `visits` in the plan file',
  )

function illFormed({ asks }: OpenGate, { verdict, rationale, option, answers, choices }: Decide): Refusal | undefined {
  if (verdict === 'chosen' && asks.type === 'edits') {
    const strange = [option, ...Object.values(choices ?? {})].find(one => !EDIT_CHOICES.includes(one as never))
    if (option !== undefined && strange === undefined) return undefined
    return refuse(
      'invalid',
      `'${strange ?? ''}' is not an answer about edits`,
      'choose keep, take or merge',
      EDIT_CHOICES,
    )
  }
  if (verdict === 'chosen' && asks.type === 'decision') {
    const ids = asks.options.map(({ id }) => id)
    if (option !== undefined && ids.includes(option)) return undefined
    return refuse('invalid', `unknown option '${option ?? ''}'`, `choose one of ${ids.join(', ')}`, ids)
  }
  // A task that is sent back needs to know what to change.
  if (verdict === 'pushed-back' && rationale.trim() === '')
    return refuse('invalid', 'push-back needs a message: what to change', "add -m 'what to change'")
  if (verdict !== 'answered' || asks.type !== 'question') return undefined
  const filled = fillIn(asks.form, answers ?? {})
  return filled.ok ? undefined : filled.refusal
}

/** Approvals with edits must be one person's, since others would have approved something else. */
function unfit(gate: OpenGate, { verdict, edits, by = '' }: Decide): Refusal | undefined {
  if (edits === undefined) return undefined
  if (verdict !== 'approved') return refuse('invalid', 'only an approval can bring edits', 'leave the edits out')
  if (approvalsLeft(gate, by) === 1 && (gate.votes ?? []).length === 0) return undefined
  return refuse(
    'not-allowed',
    'edits cannot be approved where several people must approve',
    'revise the plan first; then everyone approves the same plan',
  )
}

/** The named task, else the target of `on.rejected`, else the last work before the gate; null unless the gate depends on it. */
function targetOf(state: PlanState, task: TaskState, named?: TaskName): TaskState | null {
  const { on } = task.definition
  const name = named ?? on?.rejected?.[0] ?? lastWork(state, task)
  const target = name === undefined ? undefined : state.tasks.get(name)
  if (target === undefined || target === task) return null
  return transitiveDependants([target]).includes(task) ? target : null
}

/** The default task to send a gate back to; null when it cannot be sent back. */
export function backFrom(state: PlanState, task: TaskState): TaskName | null {
  if (task.gate === null || !ANSWERS[task.gate.asks.type].includes('pushed-back')) return null
  const target = targetOf(state, task)
  return target === null || exhausted(task, worksOf(state, target)) !== null ? null : target.definition.id
}

/** The last task it depends on that does work; gates in between ask again. */
function lastWork(state: PlanState, task: TaskState): TaskName | undefined {
  const seen = new Set<TaskState>([task])
  for (const one of seen) {
    for (const name of (one.definition.needs ?? []).toReversed()) {
      const need = state.tasks.get(name)
      if (need === undefined) continue
      if (need.definition.action.type !== 'gate') return name
      seen.add(need)
    }
  }
  return undefined
}

function saidBesides(
  { state, now }: DecisionDraft,
  { definition, gate }: TaskState,
  command: Decide,
  target: TaskState | null,
): Omit<EventOf<'gate.decided'>, 'type' | 'task' | 'verdict' | 'rationale'> {
  if (gate === null) return {}
  const { by, verdict, option, choices, answers, edits, until } = command
  const approved = verdict === 'approved' ? (edits?.binds ?? gate.binds) : undefined
  const binds = verdict === 'chosen' ? chosenBinds(definition, option, gate.binds) : approved
  const hash = edits?.hash ?? gate.hash
  const filled = gate.asks.type === 'question' && verdict === 'answered' ? fillIn(gate.asks.form, answers ?? {}) : null
  return {
    by,
    ...(hash === null ? {} : { hash }),
    ...(gate.hash === null || (verdict !== 'approved' && binds === undefined) ? {} : sightOf(command)),
    ...(binds === undefined ? {} : { binds, until: until ?? now + validMs(state) }),
    option,
    ...(choices === undefined || gate.asks.type !== 'edits' ? {} : { choices }),
    ...(filled?.ok === true ? { answers: filled.answers } : {}),
    ...(target === null ? {} : { to: target.definition.id }),
  }
}

const sightOf = ({ unseen }: Decide): { readonly unseen?: true } => (unseen === true ? { unseen } : {})

/** A policy layer can shorten the validity; the plan can also lengthen it. */
function validMs(state: PlanState): number {
  const own = state.definition.policy?.gates?.validMs ?? CONSENT_VALID_MS
  return hasLayers(state) ? Math.min(own, policyOf(state).gates.validMs ?? own) : own
}

/** In order; when one of them is refused at first sight, none is decided. */
export function review(draft: DecisionDraft, command: CommandOf<'review'>): Refusal | undefined {
  const refused = command.decisions.map(decision => refusalOf(draft, decision)).find(refusal => refusal !== undefined)
  if (refused !== undefined) return refused
  // A gate that an earlier decision reopened is not decided: it asks again later.
  for (const decision of command.decisions) decideGate(draft, decision)
  return undefined
}

/** At once, unless its dependencies were reopened: then in its next visit. */
function tryAgain(draft: DecisionDraft, task: TaskState): void {
  if (openNeeds(draft.state, task).unmet > 0) reopen(draft, [task], NEEDS_OPEN)
  else emit(draft, { type: 'task.readied', tasks: [task.definition.id] })
}

/** The end of a sentence that begins with the task. */
const ASKS_WORDS: Record<GateAsks['type'], string> = {
  approval: 'waits for approval',
  consent: 'waits for approval before it starts',
  decision: 'waits for a choice between its options',
  question: 'waits for an answer, not for approval',
  recovery: 'failed and needs a decision',
  replan: 'failed and needs a changed plan',
  verdict: 'waits for a person to confirm its checks',
  'unknown-outcome': 'was interrupted, and its outcome is unknown',
  edits: 'has edited files that its next attempt would revert',
}

/** The command that answers a question which cannot be approved, ready to type; null for yes and no. */
function howToAnswer(plan: string, task: TaskName, asks: GateAsks): Hint | null {
  const say = (step: Step): Hint => advise`answer it: ${step}`
  switch (asks.type) {
    case 'question':
      return say(quoted('answer', { plan, task, fields: asks.form.map(({ name }) => `${name}=…`) }))
    case 'edits':
      return say(quoted('choose', { plan, task, option: 'keep|take|merge' }))
    case 'decision':
      return say(quoted('choose', { plan, task, option: asks.options.map(({ id }) => id).join('|') }))
    case 'recovery':
    case 'replan':
      return advise`${say(quoted('retry', { plan, task }))}, or ${quoted('skip', { plan, task, reason: 'why' })}`
    case 'unknown-outcome':
      return advise`${quoted('approve', { plan, task })} (it happened), ${quoted('retry', { plan, task })} (run it again) or ${quoted('reject', { plan, task, reason: 'why' })} (it failed)`
    default:
      return null
  }
}

const ANSWERS: Record<GateAsks['type'], readonly GateVerdict[]> = {
  approval: ['approved', 'rejected', 'pushed-back'],
  consent: ['approved', 'rejected', 'pushed-back'],
  decision: ['chosen', 'rejected'],
  question: ['answered', 'rejected'],
  recovery: ['again', 'skipped', 'rejected'],
  replan: ['again', 'skipped', 'rejected'],
  verdict: ['approved', 'rejected'],
  'unknown-outcome': ['done', 'again', 'rejected'],
  edits: ['chosen', 'rejected'],
}
