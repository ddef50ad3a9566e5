// Records what happens in the race of a running attempt. Which try is the best is decided here, from what the journal holds, so that a
// replay decides it again.

import type { CommandOf } from '../command.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { judgeRace, openRace, triedAt } from './race.ts'

/** What was recorded before is not recorded again, so a step may be repeated. */
export function raceStep(draft: DecisionDraft, { type: _, step, ...of }: CommandOf<'race'>): Refusal | undefined {
  const task = draft.state.tasks.get(of.task)
  if (task?.status !== 'running' || task.visit !== of.visit || task.attempt !== of.attempt)
    return refuse('conflict', `the attempt of '${of.task}' is over`)
  const race = openRace(task)
  switch (step.is) {
    case 'began': {
      const { is, ...round } = step
      if (race?.round !== round.round) emit(draft, { type: 'race.began', ...of, ...round })
      return undefined
    }
    case 'tried': {
      const { is, ...tried } = step
      if (race !== null && triedAt(race, tried) === undefined) emit(draft, { type: 'race.tried', ...of, ...tried })
      return undefined
    }
    case 'judged':
      if (race === null || race.judged?.round === race.round) return undefined
      emit(draft, { type: 'race.judged', ...of, round: race.round, ...judgeRace(race, step.judge) })
      return undefined
    case 'applied': {
      const { is, ...applied } = step
      // Written once more after an interruption: what it replaces now was not saved before.
      const isNew =
        applied.overwrote !== undefined && race?.applied?.overwrote?.some(one => one.saved === applied.saved) !== true
      if (race !== null && (race.applied === undefined || isNew))
        emit(draft, { type: 'race.applied', ...of, ...applied })
      return undefined
    }
    default:
      return step satisfies never
  }
}
