// Decisions of people at gates, for tests that drive a plan by hand.

import { type Journal, name } from '../../testing/index.ts'
import type { CommandOf } from '../command.ts'

export const decided = (
  task: string,
  verdict: CommandOf<'decide'>['verdict'],
  said: Partial<Omit<CommandOf<'decide'>, 'type' | 'task' | 'verdict'>> = {},
): CommandOf<'decide'> => ({ type: 'decide', task: name(task), verdict, rationale: 'because', by: 'ana', ...said })

export function refusal(journal: Journal, command: Parameters<Journal['submit']>[0]) {
  const before = JSON.stringify([...journal.state.tasks.values()].map(({ dependants: _, ...task }) => task))
  const made = journal.submit(command)
  if (made.ok) throw new Error(`'${command.type}' was not refused: ${JSON.stringify(made.events)}`)
  const after = JSON.stringify([...journal.state.tasks.values()].map(({ dependants: _, ...task }) => task))
  if (before !== after) throw new Error('a refusal left a trace')
  return made.refusal
}
