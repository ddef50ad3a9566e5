// Lowering of what a document says about judgement: gates, recovery, policy, notices. Part of lower.ts.

import type {
  Approvers,
  Budget,
  CheckpointPolicy,
  Escalation,
  Field,
  GateAction,
  GatePolicy,
  Notify,
  Option,
  Policy,
  Recovery,
  RecoveryRule,
  TaskDefinition,
} from '../domain/plan.ts'
import { lowerCommand, lowerCriterion, lowerRetry, sparse } from './lower-parts.ts'
import type { PlanDocument } from './schema.ts'
import type { FieldDocument, GateDocument, NotifyDocument, RecoveryDocument } from './schema-judgement.ts'

/** `show` may stand beside the gate or inside it. */
export function lowerGate(gate: GateDocument, show: readonly string[] | undefined): GateAction {
  if (typeof gate === 'string') return sparse<GateAction>({ type: 'gate', gate, show })
  const { file, against, attempts, time } = gate
  return sparse<GateAction>({
    type: 'gate',
    gate: gate.type,
    show: gate.show ?? show,
    checks: gate.checks?.map(lowerCriterion),
    unmet: gate.unmet,
    schema: file === undefined || against === undefined ? undefined : { file, against },
    within: attempts === undefined && time === undefined ? undefined : sparse({ attempts, timeMs: time }),
    approvers: lowerApprovers(gate),
    expiresMs: gate.expires,
    expired: gate.expired,
    escalate: lowerEscalation(gate.escalate),
    options: gate.options?.map(option => sparse<Option>({ ...option })),
    question: gate.question,
    form: gate.form?.map(lowerField),
  })
}

export function lowerField(document: FieldDocument): Field {
  const { type = 'text', optional, ...rest } = document
  return sparse<Field>({ ...rest, type, optional: optional === true ? true : undefined })
}

function lowerApprovers({ role, count }: { role?: string | undefined; count?: number | undefined }) {
  return role === undefined && count === undefined ? undefined : sparse<Approvers>({ role, count })
}

const lowerEscalation = (said: { after: number; to: string } | undefined): Escalation | undefined =>
  said && { afterMs: said.after, to: said.to }

export function lowerPolicy(document: NonNullable<PlanDocument['policy']>, budget: Budget | undefined): Policy {
  const { write, network, checkpoints, roles, replan, review, breaker, limits, retention } = document
  return sparse<Policy>({
    write,
    network,
    budget,
    checkpoints: checkpoints && sparse<CheckpointPolicy>({ ...checkpoints }),
    onFailure: document.on_failure,
    gates: document.gates === undefined ? undefined : lowerGates(document.gates),
    roles,
    replan,
    escalate: lowerEscalation(document.escalate),
    review: review && sparse({ windowMs: review.window, max: review.max }),
    breaker: breaker && { failures: breaker.failures, cooldownMs: breaker.cooldown },
    limits: limits && sparse({ ...limits }),
    retention: retention && sparse({ restoredMs: retention.restored }),
  })
}

function lowerGates(document: NonNullable<NonNullable<PlanDocument['policy']>['gates']>): GatePolicy {
  if (typeof document === 'string') return document === 'none' ? { before: [] } : {}
  const { before, unknown, valid } = document
  return sparse<GatePolicy>({ before, unknown, approvers: lowerApprovers(document), validMs: valid })
}

export function lowerNotify(document: NotifyDocument): readonly Notify[] {
  return document.map(({ on, run, webhook, every }) =>
    sparse<Notify>({
      on,
      everyMs: every,
      send: run === undefined ? { webhook: webhook ?? '' } : { command: lowerCommand(run) },
    }),
  )
}

export function lowerRecovery<T>(rule: RecoveryDocument<T>, lowerTask: (task: T) => TaskDefinition): RecoveryRule {
  return sparse<RecoveryRule>({ on: rule.on, times: rule.times, do: lowerChoice(rule, lowerTask) })
}

/** That a rule says exactly one thing was seen to before. */
function lowerChoice<T>(rule: RecoveryDocument<T>, lowerTask: (task: T) => TaskDefinition): Recovery {
  const { retry, alternate, repair, critic, replan, ask, abort } = rule
  if (retry !== undefined) return { type: 'retry', retry: lowerRetry(retry)! }
  if (alternate !== undefined) return { type: 'alternate', task: alternate }
  const repairer = repair ?? critic
  if (repairer !== undefined) return { type: 'repair', task: repairer }
  if (replan === true) return { type: 'replan' }
  if (replan !== undefined)
    return sparse<Recovery>({ type: 'replan', add: replan.add?.map(lowerTask), template: replan.template })
  if (ask !== undefined) return ask === true ? { type: 'ask' } : { type: 'ask', to: ask }
  if (abort === undefined || abort === true) return { type: 'abort' }
  return { type: 'abort', with: abort }
}
