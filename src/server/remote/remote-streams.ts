// Sessions and goals through the Engine door. Appending needs the right to operate; goals belong to nobody's scope.

import type { OwnStreams } from '../../engine/engine.ts'
import type { WireStream } from '../../format/wire/streams.ts'
import type { Streams } from '../../stores/store.ts'
import { refuseRight } from '../auth/engine-rights.ts'
import { refuseScoped } from '../auth/token-scope.ts'
import { type Problem, refused } from '../problem.ts'
import type { Call } from '../request.ts'
import { type Answer, ok } from '../route.ts'
import { isSessionInScope, noSession, onceFor } from '../sessions/session-history.ts'

export async function answerStream(call: Call<undefined, WireStream>): Promise<Answer> {
  const { rooms, body, who } = call
  const objection = refuseRight(who, body.do === 'append' ? 'operate' : 'read') ?? outOfReach(call)
  if (objection !== null) return objection
  // Which events and filters belong to which stream was checked by the schema.
  const stream = rooms.engine[body.of] as OwnStreams<Streams<unknown, unknown>>
  switch (body.do) {
    case 'append': {
      const { id, events, expected_version: expectedVersion } = body
      const appended = await stream.append(id, events, {
        ...(expectedVersion === undefined ? {} : { expectedVersion }),
        ...onceFor(call, { of: body.of, id, events: events as never }),
      })
      return appended.ok ? ok({ answer: appended }) : refused(appended.refusal)
    }
    case 'read': {
      const { id, of: _, do: __, ...options } = body
      return ok({ answer: await stream.read(id, options) })
    }
    case 'get':
      return ok({ answer: await stream.get(body.id) })
    case 'list': {
      const { of: _, do: __, ...query } = body
      return ok({ answer: await stream.list(query) })
    }
    default:
      return body satisfies never
  }
}

function outOfReach(call: Call<undefined, WireStream>): Problem | null {
  const { body } = call
  if (body.of === 'goals' || body.do === 'list') return refuseScoped(call)
  return isSessionInScope(call, body.id) ? null : noSession(body.id)
}
