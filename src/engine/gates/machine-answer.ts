// Answers to Planfold's own questions: may a command reach an address, may more be spent, whose change is this. Some are also saved in the
// user's settings, before the answer is journaled: after a crash in between, the question is asked again. No answer is journaled unsaved.

import type { JsonObject } from '../../domain/json.ts'
import { fillIn } from '../../domain/plan-rules/form.ts'
import { addressBeyond } from '../../domain/policy/policy-layer.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import { programBehind } from '../../safety/environment.ts'
import { changeUserRules } from '../../safety/network/user-rules.ts'
import { lazy } from '../lazy-imports.ts'
import { type Caller, deny } from '../roles.ts'
import type { Rooms } from '../rooms.ts'

/** Saves the answer in the user's settings if it says so. Returns why the answer is refused, or null if it may be journaled. */
export async function keepForMachine(
  { environment, root, stateDir, clock, memory }: Rooms,
  caller: Caller,
  state: PlanState,
  { id, answers }: { readonly id: string; readonly answers: JsonObject },
): Promise<Refusal | null> {
  const question = state.questions.find(one => one.id === id)
  if (question === undefined) return null
  const { network } = question
  // The order itself will be refused with the reason.
  if (PLAN_ENDED.has(state.status) || !fillIn(question.form, answers).ok) return null
  const within = refuseProgram(environment, caller, 'answer this')
  if (within !== null) return within
  if (question.memory !== undefined && memory !== undefined) {
    const { keepProposed } = await lazy.ownMemory()
    return await keepProposed(memory, question, answers.keep)
  }
  if (network === undefined || answers.allow !== 'machine') return null
  if (!caller.rights.has('administer') || caller.scope !== null) {
    const { hint: _, ...denial } = deny(caller, 'administer')
    return { ...denial, hint: 'the answer would be kept for this machine: ask its owner, or answer allow=plan' }
  }
  const place = { environment, root, stateDir }
  const beyond = addressBeyond(state.layers, network.rule)
  if (beyond !== null) return refuse('not-allowed', beyond, 'ask the administrator of this machine')
  const person = { by: caller.actor, at: clock.now() }
  const kept = await changeUserRules(place, { do: 'add', rule: network.rule, for: 'user' }, person)
  return kept.ok ? null : refuse('not-allowed', kept.failure.message, kept.failure.hint)
}

/** Refuses what only a person may say if it comes from a task's command or an agent's shell. On the page, a person says it. */
export function refuseProgram(environment: Rooms['environment'], { isPerson }: Caller, what: string): Refusal | null {
  const program = programBehind(environment)
  if (program === null || (program === 'a coding agent' && isPerson === true)) return null
  return refuse('not-allowed', `${program} may not ${what}`, 'run the command yourself, in a terminal')
}
