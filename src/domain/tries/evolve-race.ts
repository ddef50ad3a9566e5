// The race of a task after one of its events. Part of `evolve`.

import type { RaceEvent } from '../event.ts'
import type { Millis } from '../id.ts'
import { rememberSetBack } from '../state/evolve-attempt.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { openRace } from './race.ts'

export function evolveRace(state: PlanState, task: TaskState, event: RaceEvent, now: Millis): void {
  const race = openRace(task)
  if (event.type === 'race.began') {
    const { type: _, task: __, attempt: ___, ...round } = event
    const { tried = [], judged, judges } = race ?? {}
    task.race = {
      ...round,
      tried,
      ...(judged === undefined ? {} : { judged }),
      ...(judges === undefined ? {} : { judges }),
    }
    return
  }
  if (race === null) return
  switch (event.type) {
    case 'race.tried': {
      const { type: _, task: __, visit: ___, attempt: ____, ...tried } = event
      task.race = { ...race, tried: [...race.tried, tried] }
      return
    }
    case 'race.judged': {
      const { type: _, task: __, visit: ___, attempt: ____, ...judged } = event
      const { judges = [] } = race
      const model = judged.judge?.model
      task.race = { ...race, judged, ...(model === undefined ? {} : { judges: [...judges, model] }) }
      return
    }
    case 'race.applied': {
      const { saved, overwrote } = event
      const { applied = { saved } } = race
      const all =
        overwrote === undefined ? applied.overwrote : [...(applied.overwrote ?? []), { saved, paths: overwrote }]
      task.race = { ...race, applied: { saved: applied.saved, ...(all === undefined ? {} : { overwrote: all }) } }
      if (overwrote !== undefined)
        rememberSetBack(state, { task: event.task, saved, files: overwrote, how: 'overwritten' }, now)
      return
    }
    default:
      event satisfies never
  }
}
