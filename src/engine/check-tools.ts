// What a check that belongs to no attempt is run with: preconditions, the criteria of a report, the definition of done in between.

import type { RunnerTools } from '../runners/runner.ts'
import type { Rooms } from './rooms.ts'

export function checkTools(rooms: Rooms, owner: string, log: RunnerTools['log']): RunnerTools {
  return {
    root: rooms.root,
    stateDir: rooms.stateDir,
    owner,
    write: null,
    environment: rooms.environment,
    about: rooms.about,
    evaluate: () => ({ ok: false, message: 'a check evaluates nothing' }),
    log,
    monotonic: rooms.clock.monotonic,
  }
}
