// Proposed revisions, by a person, an agent or a rule of the plan. One takes effect when an authorised person accepts exactly what was
// proposed, for exactly the definition it was made for, or automatically by policy. Also the interim assessment of the definition of
// done, which `converge` uses.
//
//   propose ──► waits ──► accepted ──► plan.revised (all other proposals are void, because their base is outdated)
//                  └────► declined

import type { CommandOf, NoProposal } from '../command.ts'
import type { Proposal } from '../event.ts'
import { hasRole, notAmong } from '../gates/approvers.ts'
import { advise, quoted } from '../hint.ts'
import { membersOf } from '../policy/plan-roles.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { illegal, refuseGraph } from '../rules/lifecycle.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { PLAN_ENDED } from '../status.ts'
import { refuseRevision, revise } from './revise.ts'

const PROPOSALS_MAX = 20

export function propose(draft: DecisionDraft, command: CommandOf<'propose'>): Refusal | undefined {
  const { state } = draft
  const { type: _, ...proposal } = command
  const refusal = refuseProposal(draft, proposal)
  if (refusal !== undefined) return refusal
  if (state.proposals.some(({ hash }) => hash === command.hash)) return undefined
  if (state.proposals.length >= PROPOSALS_MAX)
    return refuse('limit', `${PROPOSALS_MAX} proposals wait for a decision already`, 'decide about some first')
  const refused = isAuto(state)
    ? refuseRevision(draft, asRevision(draft, proposal), options(draft, proposal))
    : undefined
  if (refused !== undefined) return refused
  emit(draft, { type: 'revision.proposed', ...proposal })
  if (isAuto(state)) takeEffect(draft, proposal)
  return undefined
}

function refuseProposal({ state }: DecisionDraft, { definition, base, hash }: Proposal): Refusal | undefined {
  // A failed plan can continue with an accepted proposal.
  if ((PLAN_ENDED.has(state.status) && state.status !== 'failed') || state.compensating !== null)
    return illegal(state, 'propose', 'the plan has ended')
  if (state.definition.policy?.replan === 'never')
    return refuse(
      'not-allowed',
      "the plan's policy takes no proposals (`policy.replan: never`)",
      advise`whoever answers for the plan changes it: ${quoted('revise')}`,
    )
  if (base !== state.hash)
    return refuse('conflict', 'the plan was revised since this proposal was made', 'read it again, then propose')
  if (hash === state.hash) return refuse('invalid', 'the proposal changes nothing', 'change the document first')
  if (definition.name !== state.definition.name)
    return refuse('invalid', `a revision cannot rename the plan to '${definition.name}'`, 'make another plan')
  return refuseGraph(definition)
}

/** From a rule of the plan, in a turn. Ignored when it is outdated or was not asked for. */
export function proposeByRule(draft: DecisionDraft, proposed: Proposal | NoProposal): void {
  const { state } = draft
  const task = proposed.task === undefined ? undefined : state.tasks.get(proposed.task)
  if (task === undefined || proposed.base !== state.hash || !awaitsProposal(state, task)) return
  const { gate } = task
  if (gate?.asks.type !== 'replan') return
  const full = state.proposals.length >= PROPOSALS_MAX ? 'too many proposals wait already' : undefined
  const why = 'definition' in proposed ? (refuseProposal(draft, proposed)?.message ?? full) : proposed.none
  if (why !== undefined || !('definition' in proposed)) {
    // The rule yields nothing, so a person decides.
    const failure = { ...gate.asks.failure, hint: `no revision could be proposed: ${why}` }
    emit(draft, { type: 'gate.opened', task: task.definition.id, asks: { type: 'recovery', failure } })
    return
  }
  emit(draft, { type: 'revision.proposed', ...proposed })
  const refused = refuseRevision(draft, asRevision(draft, proposed), options(draft, proposed))
  if (isAuto(state) && refused === undefined) takeEffect(draft, proposed)
}

/** A rule asks for a revision and says which, and none was proposed for the current definition. */
export function awaitsProposal(state: PlanState, { gate, definition, recoveries }: TaskState): boolean {
  if (gate?.asks.type !== 'replan' || gate.proposed === state.hash || state.definition.policy?.replan === 'never')
    return false
  return (definition.recover ?? []).some(
    ({ do: recovery }, at) =>
      recovery.type === 'replan' &&
      (recovery.add !== undefined || recovery.template !== undefined) &&
      (recoveries[at] ?? 0) > 0,
  )
}

/** The approval covers one hash, made for one definition. */
export function judge(draft: DecisionDraft, command: CommandOf<'judge'>): Refusal | undefined {
  const { state } = draft
  const { id, hash, verdict, rationale, by } = command
  const proposal = state.proposals.find(one => one.id === id)
  if (proposal === undefined)
    return refuse('not-found', `no proposal '${id}' waits for a decision`, advise`see ${quoted('proposals')}`)
  if (proposal.hash !== hash)
    return refuse('conflict', 'the proposal is not the one that was seen', 'look at it again, then decide')
  if (typeof rationale !== 'string')
    return refuse(
      'invalid',
      'the decision about the proposal has no reason',
      "add 'rationale' with one, or an empty text",
    )
  const role = state.definition.policy?.gates?.approvers?.role
  if (role !== undefined && !hasRole(state, by, role))
    return refuse(
      'not-allowed',
      notAmong(state, by, role, 'revisions'),
      `ask ${membersOf(state.definition, role)?.join(', ') ?? `whoever has the role '${role}'`}`,
    )
  if (verdict === 'declined') {
    emit(draft, { type: 'revision.declined', id, by, rationale })
    return undefined
  }
  return takeEffect(draft, proposal, command)
}

function takeEffect(
  draft: DecisionDraft,
  proposal: Proposal,
  { rationale: agreed = '', stamp, writer }: Partial<CommandOf<'judge'>> = {},
): Refusal | undefined {
  const revision = asRevision(draft, proposal)
  const rationale = agreed === '' ? revision.rationale : `${revision.rationale} (${agreed})`
  const stamped = stamp === undefined ? {} : { stamp }
  return revise(draft, { ...revision, rationale, writer, ...stamped }, options(draft, proposal))
}

const asRevision = (
  { state }: DecisionDraft,
  { definition, hash, rationale, source }: Proposal,
): CommandOf<'revise'> => ({
  type: 'revise',
  definition,
  hash,
  rationale,
  source,
  ...(state.status === 'failed' ? { goOn: 'refuse' } : {}),
})

/** The task whose failure asked for it begins its next visit. */
function options({ state }: DecisionDraft, { id, task: name }: Proposal): { proposal: string; again?: TaskState } {
  const task = name === undefined ? undefined : state.tasks.get(name)
  return { proposal: id, ...(task?.gate?.asks.type === 'replan' ? { again: task } : {}) }
}

const isAuto = ({ definition }: PlanState): boolean => definition.policy?.replan === 'auto'

/** Rounds are numbered, so that an interrupted one is not repeated. */
export function assess(draft: DecisionDraft, command: CommandOf<'assess'>): Refusal | undefined {
  const { state } = draft
  const { round, verdicts } = command
  if (state.status === 'draft') return illegal(state, 'assess', 'the plan was not started')
  if (round !== state.rounds + 1)
    return refuse(
      'conflict',
      `round ${round} was judged already, or is not due`,
      advise`begin again: ${quoted('converge')}`,
    )
  emit(draft, { type: 'assessment.made', round, verdicts })
  return undefined
}
