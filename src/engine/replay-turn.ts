// What of a turn matters. A loop may tell of things that no longer change anything: an attempt that was given up meanwhile, a
// preparation for a visit that is over, something said again because nobody knew whether it had been written. Two turns are the
// same when what matters in them is.

import type { Command, Settlement, Turn } from '../domain/command.ts'
import { isClear } from '../domain/decisions/going-back.ts'
import { awaitsProposal } from '../domain/decisions/replanning.ts'
import type { TaskName } from '../domain/id.ts'
import type { PlanState } from '../domain/state.ts'
import { firstDifference } from './replay-difference.ts'

type Restored = NonNullable<Turn['restored']>

/** The turn without ends of attempts that are not open, preparations of tasks that are not ready, and what `before` told. */
export function effective(state: PlanState, command: Command, before: Restored): Partial<Turn> {
  if (command.type !== 'turn') return {}
  const { settled, prepared, restored, expanded, compensated, committed, rolledBack, gates, proposed, ...others } =
    command
  const { shortage, ...rest } = others
  const waits = (name: TaskName, visit: number): boolean => {
    const task = state.tasks.get(name)
    return maySomethingStart(state) && task?.status === 'ready' && task.visit === visit
  }
  const isRetold = (one: Restored[number]): boolean => before.some(told => firstDifference(told, one) === null)
  return {
    ...rest,
    ...some(
      'settled',
      settled?.filter(one => isOpen(state, one)),
    ),
    ...some(
      'prepared',
      prepared?.filter(({ task, visit }) => waits(task, visit)),
    ),
    // Every one of these leaves an event, so only a repetition may be passed over.
    ...some(
      'restored',
      restored?.filter(one => !isRetold(one)),
    ),
    ...some(
      'expanded',
      expanded?.filter(({ task, visit, from }) => waits(task, visit) && from === state.hash),
    ),
    ...some(
      'gates',
      gates?.filter(({ task, visit, from }) => waits(task, visit) && from === state.hash),
    ),
    ...some(
      'proposed',
      proposed?.filter(({ task: name, base }) => {
        const task = name === undefined ? undefined : state.tasks.get(name)
        return task !== undefined && base === state.hash && awaitsProposal(state, task)
      }),
    ),
    ...some(
      'compensated',
      compensated?.filter(({ task }) => state.compensation === task),
    ),
    ...some(
      'committed',
      committed?.filter(one => state.uncommitted.some(({ task, visit }) => task === one.task && visit === one.visit)),
    ),
    // It pauses a plan that moves, and changes no other.
    ...(shortage !== undefined && maySomethingStart(state) && state.rollback === null ? { shortage } : {}),
    ...(rolledBack !== undefined && state.rollback?.id === rolledBack.id && isClear(state) ? { rolledBack } : {}),
  }
}

/** Where nothing may start, nobody asks what was prepared. */
export const maySomethingStart = ({ status, compensating }: PlanState): boolean =>
  status === 'active' && compensating === null

export function isIdle({ type: _, start: __, held: ___, ...news }: Partial<Turn>): boolean {
  return Object.keys(news).length === 0
}

export function isOpen(state: PlanState, { task: name, visit, attempt }: Omit<Settlement, 'result'>): boolean {
  const task = state.tasks.get(name)
  return task?.status === 'running' && task.claim === null && task.visit === visit && task.attempt === attempt
}

const some = <K extends string, V>(key: K, list: readonly V[] | undefined) =>
  list === undefined || list.length === 0 ? {} : ({ [key]: list } as { readonly [key in K]: readonly V[] })
