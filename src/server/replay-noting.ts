// Notices that a request was asked before under its key, however many orders it makes and whichever route makes them: the engine as
// one request sees it, which remembers whether anything was answered again.

import type { EngineInProcess } from '../engine/engine.ts'
import type { Streams } from '../stores/store.ts'
import type { ServerRooms } from './rooms.ts'
import type { Answer } from './route.ts'

export const REPLAYED = 'idempotency-replayed'

export interface Noting {
  readonly rooms: ServerRooms
  /** The answer, which says so when it was given before. */
  marked(answer: Answer): Answer
}

export function noteReplays(rooms: ServerRooms): Noting {
  const { engine } = rooms
  let isReplayed = false
  const seen = <T extends { readonly ok: boolean; readonly replayed?: true }>(done: T): T => {
    if (done.replayed === true) isReplayed = true
    return done
  }
  const stream = <E, R, F>(of: Streams<E, R, F>): Streams<E, R, F> => ({
    append: async (...asked) => seen(await of.append(...asked)),
    read: (...asked) => of.read(...asked),
    get: id => of.get(id),
    list: query => of.list(query),
  })
  const noting: EngineInProcess = {
    submit: async (...asked) => seen(await engine.submit(...asked)),
    ask: query => engine.ask(query),
    watch: options => engine.watch(options),
    close: () => engine.close(),
    killSwitch: engine.killSwitch,
    sessions: stream(engine.sessions),
    goals: stream(engine.goals),
  }
  return {
    rooms: { ...rooms, engine: noting },
    marked: answer =>
      !isReplayed || 'stream' in answer ? answer : { ...answer, headers: { ...answer.headers, [REPLAYED]: 'true' } },
  }
}
