// The reverse of lower-judgement.ts: gates, recovery, policy and notices as a person would write them.

import type { Json, JsonObject } from '../domain/json.ts'
import type {
  Approvers,
  Escalation,
  GateAction,
  GatePolicy,
  Notify,
  Policy,
  Recovery,
  RecoveryRule,
  TaskDefinition,
} from '../domain/plan.ts'
import { raiseCommand, raiseCriterion, raiseMs, raiseRetry, written } from './raise-parts.ts'

/** One word, when nothing else is said about it. */
export function raiseGate(action: GateAction): { readonly [key: string]: Json | undefined } {
  const { gate: type, show, schema, within } = action
  const more = written({
    checks: action.checks?.map(raiseCriterion),
    unmet: action.unmet,
    file: schema?.file,
    against: schema?.against,
    attempts: within?.attempts,
    time: raiseMs(within?.timeMs),
    ...raiseApprovers(action.approvers),
    expires: raiseMs(action.expiresMs),
    expired: action.expired,
    escalate: raiseEscalation(action.escalate),
    options: action.options?.map(option => written({ ...option })),
    question: action.question,
    form: action.form?.map(field => written({ ...field })),
  })
  return { gate: Object.keys(more).length === 0 ? type : { type, ...more }, show }
}

const raiseApprovers = (approvers: Approvers | undefined): { readonly [key: string]: Json | undefined } => ({
  role: approvers?.role,
  count: approvers?.count,
})

const raiseEscalation = (said: Escalation | undefined): JsonObject | undefined =>
  said && written({ after: raiseMs(said.afterMs), to: said.to })

export function raisePolicy(policy: Policy, budget: JsonObject | undefined): JsonObject {
  const { write, network, checkpoints, onFailure, gates, roles, replan, escalate, review, breaker, limits, retention } =
    policy
  return written({
    write,
    network,
    budget,
    checkpoints: checkpoints && written({ ...checkpoints }),
    on_failure: onFailure,
    gates: gates && raiseGates(gates),
    roles,
    replan,
    escalate: raiseEscalation(escalate),
    review: review && written({ window: raiseMs(review.windowMs), max: review.max }),
    breaker: breaker && written({ failures: breaker.failures, cooldown: raiseMs(breaker.cooldownMs) }),
    limits: limits && written({ ...limits }),
    retention: retention && written({ restored: raiseMs(retention.restoredMs) }),
  })
}

function raiseGates({ before, unknown, approvers, validMs }: GatePolicy): Json {
  const more = written({ unknown, ...raiseApprovers(approvers), valid: raiseMs(validMs) })
  const said = { ...(before === undefined ? {} : { before }), ...more }
  if (Object.keys(said).length === 0) return 'default'
  return before?.length === 0 && Object.keys(more).length === 0 ? 'none' : said
}

export function raiseNotify({ on, everyMs, send }: Notify): JsonObject {
  const every = raiseMs(everyMs)
  return written(
    'webhook' in send ? { on, every, webhook: send.webhook } : { on, every, run: raiseCommand(send.command) },
  )
}

export function raiseRecovery(rule: RecoveryRule, raiseTask: (task: TaskDefinition) => JsonObject): JsonObject {
  return written({ on: rule.on, ...raiseChoice(rule.do, raiseTask), times: rule.times })
}

function raiseChoice(
  choice: Recovery,
  raiseTask: (task: TaskDefinition) => JsonObject,
): { readonly [key: string]: Json | undefined } {
  switch (choice.type) {
    case 'retry':
      return { retry: raiseRetry(choice.retry) }
    case 'alternate':
      return { alternate: choice.task }
    case 'repair':
      return { repair: choice.task }
    case 'replan': {
      const more = written({ add: choice.add?.map(raiseTask), template: choice.template })
      return { replan: Object.keys(more).length === 0 ? true : more }
    }
    case 'ask':
      return { ask: choice.to ?? true }
    case 'abort':
      return { abort: choice.with ?? true }
    default:
      choice satisfies never
      return {}
  }
}
