// Plans with gates under the third rules, driven by hand: the question of a gate is made as the engine would.

import { Journal, name, numberedSha } from '../../testing/index.ts'
import type { CommandOf } from '../command.ts'
import type { Event, GateQuestion } from '../event.ts'
import type { PlanDefinition } from '../plan.ts'
import { taskOf } from '../state/evolve.ts'
import { asksOf } from './open-gate.ts'

/** Created and started under the rules that gates have now, with the turn taken that starts what can start. */
export function startedNow(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must({ type: 'start', rules: 3 })
  journal.turn()
  return journal
}

/** The gate is made ready: this was found when its checks were judged. */
export function asks(journal: Journal, task: string, found: Partial<GateQuestion> = {}): readonly Event[] {
  const { visit, definition } = taskOf(journal.state, name(task))
  if (definition.action.type !== 'gate') throw new Error(`'${task}' is no gate`)
  const question = { asks: asksOf(definition.action), hash: numberedSha(7), ...found }
  return journal.turn({
    prepared: [{ task: name(task), visit, prepared: {} }],
    gates: [{ task: name(task), visit, from: journal.state.hash, question }],
  })
}

export const decided = (
  task: string,
  verdict: CommandOf<'decide'>['verdict'],
  said: Partial<Omit<CommandOf<'decide'>, 'type' | 'task' | 'verdict'>> = {},
): CommandOf<'decide'> => ({ type: 'decide', task: name(task), verdict, rationale: 'because', by: 'ana', ...said })

/** How a command that must be refused was refused. */
export function refusal(journal: Journal, command: Parameters<Journal['submit']>[0]) {
  const before = JSON.stringify([...journal.state.tasks.values()].map(({ dependants: _, ...task }) => task))
  const made = journal.submit(command)
  if (made.ok) throw new Error(`'${command.type}' was not refused: ${JSON.stringify(made.events)}`)
  const after = JSON.stringify([...journal.state.tasks.values()].map(({ dependants: _, ...task }) => task))
  if (before !== after) throw new Error('a refusal left a trace')
  return made.refusal
}
