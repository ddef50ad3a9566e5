// One client on the wire: it gets whole characters, never more than it takes, and is cut off when it takes nothing.

import { describe, expect, test } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Feed } from '../../engine/engine.ts'
import { trusted } from '../../engine/roles.ts'
import type { Entry } from '../../stores/store.ts'
import { LIMITS } from '../limits.ts'
import { Live } from './hub.ts'
import { DOTTED, type Outlet, parseCursor, printCursor, sendEvents } from './sse.ts'

const PLAN = '0197f000-0000-7000-8000-000000000000' as PlanId
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

function entriesOf(texts: readonly string[]): readonly Entry[] {
  return texts.map((text, index) => ({
    position: index + 1,
    plan: PLAN,
    version: index + 1,
    actor: 'ana' as Actor,
    now: 0,
    fence: null,
    command: { type: 'note', text },
    events: [{ type: 'note.added', text }],
    hash: '' as Entry['hash'],
  }))
}

function liveOf(texts: readonly string[]): Live {
  const entries = entriesOf(texts)
  const feed: Feed = {
    position: async () => entries.length,
    since: async (after, limit) => entries.slice(after, after + limit),
    pruned: async () => 0,
    onChange: () => () => {},
    entries: async (_, after, limit) => entries.slice(after, after + limit),
    output: { last: async () => 0, since: async () => [] },
    facts: async () => ({ name: 'p', session: null }),
    progress: async () => null,
  }
  return new Live({ feed, log, limits: LIMITS, now: () => 0, monotonic: () => performance.now() })
}

/** A socket that takes everything, or nothing after so many writes. */
function outlet(takes = Number.POSITIVE_INFINITY) {
  const gone = new AbortController()
  const pieces: string[] = []
  let ended: 'open' | 'ended' | 'destroyed' = 'open'
  let wrote = () => {}
  const out: Outlet = {
    begin: () => {},
    write: text => {
      pieces.push(text)
      wrote()
      return pieces.length < takes
    },
    drained: () => new Promise(resolve => gone.signal.addEventListener('abort', () => resolve())),
    buffered: () => 0,
    disconnected: gone.signal,
    end: () => {
      ended = 'ended'
    },
    destroy: () => {
      ended = 'destroyed'
    },
  }
  const until = (test: () => boolean) =>
    new Promise<void>(resolve => {
      wrote = () => {
        if (test()) resolve()
      }
      wrote()
    })
  return { out, pieces, gone, until, ended: () => ended }
}

const wish = { naming: DOTTED, plan: null, wants: () => true, from: { position: 0, index: null }, ticks: false }
const options = { bytesMax: 1_000_000, silentMs: 50, stopping: new AbortController().signal }

describe('a client', () => {
  test('gets long events in pieces it can hold, cut between characters only', async () => {
    const long = '🙂'.repeat(20_000)
    const live = liveOf([`x${long}`, long, 'end'])
    const { out, pieces, gone, until } = outlet()
    const sending = sendEvents(out, await live.subscribe(trusted('listener'), wish), { ...options, bytesMax: 6_000 })
    await until(() => pieces.at(-1)!.includes('"end"'))
    gone.abort()
    expect(await sending).toBe('gone')
    expect(Math.max(...pieces.map(piece => Buffer.byteLength(piece)))).toBeLessThanOrEqual(6_000)
    const whole = pieces.map(piece => Buffer.from(piece).toString()).join('')
    expect(whole).toBe(pieces.join(''))
    expect(whole.split(long).length - 1).toBe(2)
  })

  test('that takes nothing more is cut off, and nothing more is written', async () => {
    const live = liveOf(Array.from({ length: 50 }, (_, at) => `${at}`.padEnd(10_000)))
    const { out, pieces, ended } = outlet(3)
    const subscriber = await live.subscribe(trusted('listener'), wish)
    expect(await sendEvents(out, subscriber, options)).toBe('cut')
    expect({ writes: pieces.length, ended: ended() }).toEqual({ writes: 3, ended: 'destroyed' })
    live.leave(subscriber)
    expect(live.count).toBe(0)
  })

  test.each([
    ['between two events', 1_000_000, true],
    ['in the middle of one', 600, false],
  ])('a stop %s leaves no half event that looks whole', async (_, bytesMax, saysBye) => {
    const live = liveOf(['y'.repeat(10_000)])
    const stop = new AbortController()
    // The third piece is not taken: the stop comes while it waits.
    const { out, pieces, gone, ended } = outlet(saysBye ? 2 : 3)
    const sending = sendEvents(out, await live.subscribe(trusted('listener'), wish), {
      bytesMax,
      silentMs: 60_000,
      stopping: stop.signal,
    })
    await new Promise(resolve => setImmediate(resolve))
    stop.abort()
    gone.abort()
    expect(await sending).toBe('stopped')
    expect(ended()).toBe('ended')
    expect(pieces.at(-1) === ': bye\n\n').toBe(saysBye)
    expect(pieces.join('').endsWith('\n\n')).toBe(saysBye)
  })
})

test('a cursor is printed as it is read', () => {
  for (const text of ['0', '1', '17.0', '999999999999999.12']) expect(printCursor(parseCursor(text)!)).toBe(text)
  for (const text of ['', '-1', '1.', '.1', '1.2.3', '1e3', ' 1', '0.1', '9'.repeat(16)])
    expect(parseCursor(text)).toBeNull()
})
