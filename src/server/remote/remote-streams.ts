// Sessions and goals through the Engine door.

import type { OwnStreams } from '../../engine/engine.ts'
import { isSessionInScope } from '../../engine/roles.ts'
import type { WireStream } from '../../format/wire/streams.ts'
import type { Streams } from '../../stores/store.ts'
import { inTokenWords } from '../auth/denial-text.ts'
import { refused } from '../problem.ts'
import type { Call } from '../request.ts'
import { type Answer, ok } from '../route.ts'
import { noSession, onceFor } from '../sessions/session-history.ts'

export async function answerStream(call: Call<undefined, WireStream>): Promise<Answer> {
  const { engine, body, who } = call
  if (body.of === 'sessions' && body.do !== 'list' && !isSessionInScope(who.scope, body.id)) return noSession(body.id)
  // Which events and filters belong to which stream was checked by the schema.
  const stream = engine[body.of] as OwnStreams<Streams<unknown, unknown>>
  switch (body.do) {
    case 'append': {
      const { id, events, expected_version: expectedVersion } = body
      const appended = await stream.append(id, events, {
        ...(expectedVersion === undefined ? {} : { expectedVersion }),
        ...onceFor(call, { of: body.of, id, events: events as never }),
      })
      return appended.ok ? ok({ answer: appended }) : refused(inTokenWords(who, appended.refusal))
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
