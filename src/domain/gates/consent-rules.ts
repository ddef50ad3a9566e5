// Consent: what a person must have approved before it begins. It applies to tasks with a high impact, by policy, and to tasks directly
// behind an approved gate, by `needs` or an outcome edge. An approval covers one visit, exactly the bytes that were shown, for a limited
// time; any difference voids it and the gate asks again, before anything has been done.
//
//   ready ──► find what it would do now (engine/gates/consent.ts) ──► exactly that is approved ──► begins
//                                                              └─ not approved ──► gate asks ──► approved ──► ready again

import type { Consent } from '../event.ts'
import type { Millis, Sha256, TaskName } from '../id.ts'
import type { Approvers, Impact, TaskDefinition } from '../plan.ts'
import { IMPACT_WORDS, isActing } from '../plan-rules/impact.ts'
import { approversBy, askedCommand, commandReason, gatedIn } from '../policy/policy-in-state.ts'
import type { Failed, Found, Prepared } from '../result.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { NEEDS_OPEN, reopen } from '../rules/routing.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { asksBeforeClaim, openNeeds } from '../state/task-index.ts'
import { CONSENT } from './consent.ts'

/** Must a person approve it before it begins? The definition alone excludes most tasks. */
export function needsConsent(state: PlanState, task: TaskState): boolean {
  if (asksBeforeClaim(state, task)) return true
  return isActing(task.definition) && (impactIn(state, task) !== null || isReleased(state, task))
}

/** Do the gates before it show exactly what it would do? A claimed task without impact is only named there. */
export const isShownWhole = (state: PlanState, task: TaskState): boolean =>
  isActing(task.definition) || asksBeforeClaim(state, task)

export const impactIn = (state: PlanState, task: TaskState): Impact | null => gatedIn(state, task.definition)

/** The gates directly before it, by `needs` or an outcome edge, at which a person approved it. A skipped gate approves nothing. */
export function gatesBefore(state: PlanState, task: TaskState): readonly TaskState[] {
  const needed = hasGates(state, task) ? (task.definition.needs ?? NONE) : NONE
  if (needed.length === 0 && task.routedBy.length === 0) return NONE
  const gates = new Set<TaskState>()
  for (const name of needed) {
    const gate = state.tasks.get(name)
    if (gate !== undefined && isApproval(gate.definition) && isPassed(gate)) gates.add(gate)
  }
  for (const name of task.routedBy) {
    const gate = state.tasks.get(name)
    if (gate !== undefined && (isApproval(gate.definition) || isChoice(gate.definition)) && isPassed(gate))
      gates.add(gate)
  }
  return [...gates]
}

const NONE: readonly never[] = []

const isReleased = (state: PlanState, task: TaskState): boolean => gatesBefore(state, task).length > 0

/** A gate that was imported as passed was not approved here. */
const isPassed = ({ status, reason }: TaskState): boolean => status === 'completed' && reason !== 'imported'

const isChoice = ({ action }: TaskDefinition): boolean => action.type === 'gate' && action.gate === 'decision'

/** The tasks behind an approval or a choice, by outcome. Answering a question approves nothing. */
export function approvedTargets({ action, on }: TaskDefinition): readonly Led[] {
  if (action.type !== 'gate' || action.gate === 'question' || on === undefined) return NONE
  const edge = (...outcomes: readonly string[]): readonly TaskName[] =>
    on[outcomes.find(outcome => Object.hasOwn(on, outcome)) ?? ''] ?? NONE
  if (action.gate !== 'decision') return [{ outcome: 'approved', to: edge('approved', 'success') }]
  return (action.options ?? []).map(({ id }) => ({ outcome: id, to: edge(id, 'default', 'success') }))
}

export interface Led {
  readonly outcome: string
  readonly to: readonly TaskName[]
}

/** The part of what was shown that this choice approves. */
export function chosenBinds(
  gate: TaskDefinition,
  option: string | undefined,
  binds: { readonly [task: string]: Sha256 } | undefined,
): { readonly [task: string]: Sha256 } | undefined {
  const to = approvedTargets(gate).find(({ outcome }) => outcome === option)?.to ?? NONE
  const chosen = Object.entries(binds ?? {}).filter(([name]) => to.includes(name as TaskName))
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen)
}

/** Does a person see there what would happen, before it does? */
export const isApproval = ({ action }: TaskDefinition): boolean =>
  action.type === 'gate' && (action.gate === 'approval' || action.gate === 'diff')

/** Does it show what the plan has written so far? */
export const isReview = ({ action }: TaskDefinition): boolean =>
  action.type === 'gate' && isApproval({ action } as TaskDefinition) && showsDiff(action)

/** Does one approval there cover every task directly behind it, as written? */
export const isStepReview = ({ action }: TaskDefinition): boolean =>
  action.type === 'gate' && action.gate === 'approval' && action.show?.includes('steps') === true

const showsDiff = ({ gate, show = [] }: { readonly gate: string; readonly show?: readonly string[] }): boolean =>
  gate === 'diff' || show.includes('diff')

/** Cached by task and plan definition, which are immutable. */
const gated = new WeakMap<TaskDefinition, { readonly plan: PlanState['definition']; readonly has: boolean }>()

function hasGates(state: PlanState, { definition }: TaskState): boolean {
  const { needs } = definition
  if (needs === undefined || needs.length === 0) return false
  const known = gated.get(definition)
  if (known?.plan === state.definition) return known.has
  const has = needs.some(name => {
    const need = state.tasks.get(name)
    return need !== undefined && isApproval(need.definition)
  })
  gated.set(definition, { plan: state.definition, has })
  return has
}

/** Who must approve: for a high impact, as the policy says; else as the gate before it says. */
export function approversOf(state: PlanState, task: TaskState): Approvers | null {
  const byPolicy = impactIn(state, task) === null ? undefined : approversBy(state)
  if (byPolicy !== undefined) return byPolicy
  const gate = gatesBefore(state, task).find(({ definition }) => approversAt(definition) !== null)
  return gate === undefined ? null : approversAt(gate.definition)
}

export const approversAt = ({ action }: TaskDefinition): Approvers | null =>
  action.type === 'gate' ? (action.approvers ?? null) : null

/** Why an approval does not cover what was found; null when it does. */
export function faultIn(consent: Consent, found: Found, now: Millis): string | null {
  if (consent.until <= now) return 'it was approved too long ago'
  if (consent.hash === found.hash) return null
  if (consent.hash === found.written) return 'not all of it was known when it was approved'
  return found.changed ?? 'it is not what was approved'
}

/** May it begin? If not, opens the gate that asks, and voids the earlier approval. */
export function isAgreed(draft: DecisionDraft, task: TaskState, prepared: Prepared): boolean {
  const { state, now } = draft
  if (!needsConsent(state, task)) return true
  const found = prepared.consent
  if (found === undefined) throw new Error(`bug: nobody looked at what '${task.definition.id}' would do`)
  const { id } = task.definition
  const impact = impactIn(state, task)
  const fault = task.consent === null ? null : faultIn(task.consent, found, now)
  if (task.consent !== null && fault === null) return true
  if (fault !== null) emit(draft, { type: 'consent.voided', task: id, reason: fault })
  const approvers = approversOf(state, task)
  emit(draft, {
    type: 'gate.opened',
    task: id,
    asks: {
      type: 'consent',
      impact: impact ?? 'changed',
      why: whyAsked(state, task, impact, fault),
      ...(approvers === null ? {} : { approvers }),
    },
    hash: found.hash,
    shown: found.hash,
    binds: { [id]: found.hash } as Record<TaskName, Sha256>,
  })
  return false
}

function whyAsked(state: PlanState, task: TaskState, impact: Impact | null, fault: string | null): string {
  const unagreed = task.reason?.startsWith(UNAGREED) === true ? task.reason.slice(UNAGREED.length) : null
  // A task that began was approved; its approval is used up.
  const voided = fault ?? unagreed ?? (task.attempt > 0 ? USED : null)
  if (impact !== null) {
    const asked = impact === 'command' ? askedCommand(state, task.definition) : null
    const does = asked === null ? `it ${IMPACT_WORDS[impact]}` : commandReason(asked)
    return voided === null ? does : `${does}; its approval is no longer valid: ${voided}`
  }
  const gate = gatesBefore(state, task)[0]?.definition.id ?? ''
  return voided === null
    ? `the approval at '${gate}' was for something else`
    : `its approval is no longer valid: ${voided}`
}

const USED = 'an attempt with unknown outcome used it'

/** An approval counts once, so that repeating a task with an unknown outcome needs another. */
export function consumeConsent(draft: DecisionDraft, { definition, consent }: TaskState): void {
  if (consent !== null) emit(draft, { type: 'consent.voided', task: definition.id, reason: USED })
}

/** The start of the reason of a task that did not begin because its approval was void. */
export const UNAGREED = 'not approved: '

/** Did it end before it touched anything, because its approval was void? */
export const isUnagreed = ({ failure }: Failed): boolean => failure.code === CONSENT

/** Not tried again, and no failure of the task: the question is asked anew. */
export function askAgain(draft: DecisionDraft, task: TaskState, { failure }: Failed): void {
  const { id } = task.definition
  const reason = failure.message.replace(UNAGREED, '')
  emit(draft, {
    type: 'recovery.chosen',
    task: id,
    visit: task.visit,
    choice: 'ask',
    reason: `needs approval again: ${reason}`,
  })
  if (task.consent !== null) emit(draft, { type: 'consent.voided', task: id, reason })
  if (openNeeds(draft.state, task).unmet > 0) reopen(draft, [task], NEEDS_OPEN)
  else emit(draft, { type: 'task.readied', tasks: [id] })
}
