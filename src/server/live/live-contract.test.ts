// Regression 38: faces listen only to events the service sends. The two lists in domain/views are all a face may listen to; here
// real plans run behind a real service until every name of them was heard, and none that is not in them.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { ANNOUNCED, announcedEvent, RESYNC, TICKS } from '../../domain/views/announcement.ts'
import type { Feed } from '../../engine/engine.ts'
import { ANNOUNCED_UNDERSCORE } from '../../extras/compat/sessions/underscore-events.ts'
import type { Entry } from '../../stores/store.ts'
import { edit, external, gate, type JournalEntry, plan, task } from '../../testing/index.ts'
import { type HeardEvent, type Listener, listen } from '../listening.fixture.ts'
import { type Served, type ServedOptions, served } from '../server.fixture.ts'

const ANA = 'ana' as Actor
const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function setup(options: ServedOptions = {}): Promise<Served> {
  const service = await served({ attend: true, ...options })
  cleanups.push(() => service.close())
  return service
}

function hear(url: string, options: Parameters<typeof listen>[1] = {}): Listener {
  const listener = listen(url, options)
  cleanups.push(() => listener.close())
  return listener
}

const names = ({ heard }: Listener): readonly string[] => [...new Set(heard.map(({ name }) => name))].sort()

describe('regression 38', () => {
  test('every underscore name is really sent while plans run, with its one shape, and no other is', async () => {
    const service = await setup()
    const { engine } = service.composed
    await service.ask('POST', '/sessions', { id: 'talk' })
    const url = `${service.url}/api/session/talk/events?names=underscore`
    const [lost, listener, dotted] = [
      hear(url, { after: 'nowhere' }),
      hear(url),
      hear(`${service.url}/api/session/talk/events`),
    ]
    await Promise.all([listener.open, dotted.open])
    await lost.until('resync', ({ length }) => length > 0)

    const make = async (definition: PlanDefinition, origin?: PlanId): Promise<PlanId> => {
      const more = origin === undefined ? {} : { origin }
      const made = await engine.as(ANA).submit(null, { type: 'create', definition, session: 'talk', ...more })
      if (!made.ok) throw new Error(made.refusal.message)
      return made.plan
    }
    const must = async (of: PlanId, order: Parameters<typeof engine.submit>[1]): Promise<void> => {
      const submitted = await engine.as(ANA).submit(of, order)
      if (!submitted.ok) throw new Error(submitted.refusal.message)
    }
    const say = task('say', { effect: 'pure', action: { type: 'run', command: { argv: ['echo', 'hello'] } } })
    const runs = await make(plan('runs', say))
    await must(runs, {
      type: 'revise',
      definition: plan('runs', say, edit('write', 'out.txt', { needs: ['say'] })),
      rationale: 'more to do',
    })
    await must(runs, { type: 'start' })
    await listener.until('the end', heard => heard.some(({ name }) => name === 'plan_completed'))
    await listener.until('how far it came', heard => heard.some(({ data }) => data.data.progress === 1))
    const isDone = ({ name, data }: HeardEvent) =>
      name === 'plan.progress' && data.done === 2 && data.status === 'completed'
    await dotted.until('how far it came', heard => heard.some(isDone))
    await must(runs, { type: 'rollback' })
    await listener.until('the way back', heard => heard.some(({ name }) => name === 'plan_rollback'))
    const again = await make(
      plan('again', task('no', { effect: 'pure', action: { type: 'run', command: { argv: ['false'] } } })),
      runs,
    )
    await must(again, { type: 'start' })
    await listener.until('its failure', heard => heard.some(({ name }) => name === 'plan_failed'))
    await must(again, { type: 'archive' })
    await listener.until('that it is gone', heard => heard.some(({ name }) => name === 'plan_deleted'))
    await must(await make(plan('asks', gate('g'))), { type: 'start' })
    await dotted.until('that it asks', heard => heard.some(({ name }) => name === 'inbox.changed'))

    expect([...new Set([...names(listener), ...names(lost)])].sort()).toEqual(ANNOUNCED_UNDERSCORE.toSorted())
    for (const { name, data } of listener.heard)
      expect(data).toEqual({
        type: name,
        session_id: 'talk',
        plan_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        data: expect.objectContaining({ event: expect.stringMatching(/^[a-z]+\.[a-z]+$/) }),
      })
    const steps = listener.heard.flatMap(({ name, data }) =>
      name === 'plan_step_update' && data.data.step_id === 'say' && data.plan_id === runs ? [data.data.status] : [],
    )
    expect(steps.slice(0, 3)).toEqual(['pending', 'running', 'completed'])
    const output = listener.heard.find(({ data }) => data.data.stream === 'stdout')
    expect(output).toMatchObject({
      name: 'step_progress',
      data: { plan_id: runs, data: { step_id: 'say', attempt: 1, output: 'hello\n' } },
    })
    // What a task printed is heard before its end.
    const order = dotted.heard.map(({ name, data }) => `${name} ${data.task ?? ''}`)
    expect(order.indexOf('task.output say')).toBeLessThan(order.indexOf('attempt.succeeded say'))
    expect(names(dotted).filter(name => !ANNOUNCED.includes(name))).toEqual([])
    expect(TICKS.filter(name => !names(dotted).includes(name))).toEqual([])
    expect(dotted.heard.find(isDone)?.data).toMatchObject({ plan: runs, total: 2, ratio: 1, running: [] })
  })

  test('every dotted name is sent when its event happens: all golden journals, told over HTTP', async () => {
    const entries = goldenEntries()
    const service = await setup({ feed: feedOf(entries) })
    const listener = hear(`${service.url}/events?after=0&progress=false`)
    const lost = hear(`${service.url}/events?progress=false`, { after: '1000000' })
    const underscore = hear(`${service.url}/events?after=0&progress=false&names=underscore`)
    const last = String(entries.length)
    for (const each of [listener, underscore]) await each.until('the last', heard => heard.at(-1)?.id === last)
    await lost.until('resync', heard => heard.length > 0)
    const events = entries.flatMap(entry => entry.events)
    expect(listener.heard.map(({ name, data }) => ({ name, event: data.event }))).toEqual(
      events.map(event => ({ name: event.type, event: announcedEvent(event) })),
    )
    const heard = [...names(listener), ...names(lost), ...TICKS]
    expect(heard.toSorted()).toEqual(ANNOUNCED.toSorted())
    // Under the other names nothing is kept quiet either.
    const told = new Set(underscore.heard.map(({ data }) => data.data.event))
    expect(names(underscore).filter(name => !ANNOUNCED_UNDERSCORE.includes(name))).toEqual([])
    expect(ANNOUNCED.filter(name => !told.has(name))).toEqual([...TICKS, RESYNC])
  })
})

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/journals')

function goldenEntries(): readonly Entry[] {
  return readdirSync(FOLDER)
    .filter(file => file.endsWith('.jsonl'))
    .flatMap(file => readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n'))
    .map((line, index) => {
      const { version, now, command, events, actor } = JSON.parse(line) as JournalEntry
      const of = `0197f000-0000-7000-8000-${String(index).padStart(4, '0')}00000000` as PlanId
      const beside = { fence: null, hash: '' as Entry['hash'], actor: (actor ?? ANA) as Actor }
      return { position: index + 1, plan: of, version, now, command, events, ...beside }
    })
}

/** A feed of entries that were written before. */
function feedOf(entries: readonly Entry[]): Feed {
  return {
    position: async () => entries.length,
    since: async (after, limit) => entries.slice(after, after + limit),
    pruned: async () => 0,
    onChange: () => () => {},
    entries: async () => [],
    output: { last: async () => 0, since: async () => [] },
    facts: async () => ({ name: external('golden').id, session: null }),
    progress: async () => null,
  }
}
