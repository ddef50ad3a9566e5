// Answers to what Planfold itself asks: may a command reach an address, may more be spent, whose is a change. Some of them are remembered
// for this machine, in the person's own settings. That is written first: a crash in between leaves a question that is asked once more,
// never a promise that nobody keeps.

import type { JsonObject } from '../../domain/json.ts'
import { fillIn } from '../../domain/plan-rules/form.ts'
import { addressBeyond } from '../../domain/policy/policy-layer.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import { programBehind } from '../../safety/environment.ts'
import { changeUserRules } from '../../safety/network/user-rules.ts'
import { type Caller, deny } from '../roles.ts'
import type { Rooms } from '../rooms.ts'

/** What stands against the answer; null when it may be written, and what it changes on this machine is. */
export async function keepForMachine(
  { environment, root, stateDir, clock }: Rooms,
  caller: Caller,
  state: PlanState,
  { id, answers }: { readonly id: string; readonly answers: JsonObject },
): Promise<Refusal | null> {
  const question = state.questions.find(one => one.id === id)
  if (question === undefined) return null
  const { network } = question
  // What cannot be an answer is refused where it is written.
  if (PLAN_ENDED.has(state.status) || !fillIn(question.form, answers).ok) return null
  const within = refuseProgram(environment, caller, 'answer this')
  if (within !== null) return within
  if (network === undefined || answers.allow !== 'machine') return null
  if (!caller.rights.has('administer') || caller.scope !== null) {
    const { hint: _, ...denial } = deny(caller, 'administer')
    return { ...denial, hint: 'it is kept for this machine: ask whoever it belongs to, or answer allow=plan' }
  }
  const place = { environment, root, stateDir }
  const beyond = addressBeyond(state.layers, network.rule)
  if (beyond !== null) return refuse('not-allowed', beyond, 'ask whoever administers this machine')
  const person = { by: caller.actor, at: clock.now() }
  const kept = await changeUserRules(place, { do: 'add', rule: network.rule, for: 'user' }, person)
  return kept.ok ? null : refuse('not-allowed', kept.failure.message, kept.failure.hint)
}

/** What only a person may say is taken neither from a task's command nor from an agent's shell. On the page, the person says it. */
export function refuseProgram(environment: Rooms['environment'], { isPerson }: Caller, what: string): Refusal | null {
  const program = programBehind(environment)
  if (program === null || (program === 'a coding agent' && isPerson === true)) return null
  return refuse('not-allowed', `${program} may not ${what}`, 'run the command yourself, in a terminal')
}
