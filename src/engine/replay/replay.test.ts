import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Actor, Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import { ENTRY_FORMAT, readEntry } from '../../stores/journal/entry.ts'
import { numberedPlanId, plan, START, started, task } from '../../testing/index.ts'
import { name, setup } from '../rooms.fixture.ts'
import { firstDifference } from './first-difference.ts'
import {
  type Golden,
  lively,
  luck,
  mutated,
  noBlobs,
  ofGolden,
  packed,
  reader,
  rehashed,
  type Said,
  sealed,
} from './replay.fixture.ts'
import { replay } from './replay.ts'

const FOLDER = new URL('../../../test/fixtures/journals/', import.meta.url)
/** More with `REPLAY_ATTACKS=10000`; another draw with `REPLAY_SEED=2`. */
const ATTACKS = Number(process.env.REPLAY_ATTACKS ?? 100)
/** Only what hangs is ended by it: on a busy machine an attack takes a hundred times as long as on an idle one. */
const HANGS_MS = 600_000 + ATTACKS * 1_000
const SEED = Number(process.env.REPLAY_SEED ?? 1)
const ID = numberedPlanId(1)

async function saidBy(lived: Awaited<ReturnType<typeof lively>>): Promise<readonly Said[]> {
  const entries = await lived.rooms.store.read(lived.plan, { limit: 1_000 })
  return entries.map(({ actor, now, fence, command, events }) => ({ actor, now, fence, command, events }))
}

describe('a replay', () => {
  it('decides every entry again, and drives the loop through all turns it took', async () => {
    const lived = await lively()
    const told = await lived.engine.ask({ type: 'replay', plan: 'lively' })
    const entries = await lived.rooms.store.read(lived.plan)
    const turns = entries.filter(({ fence }) => fence !== null)
    const attempts = turns.flatMap(({ command }) => (command.type === 'turn' ? (command.settled ?? []) : []))
    expect(attempts.length).toBeGreaterThan(5)
    expect(told).toMatchObject({
      ok: true,
      fault: null,
      entries: entries.length,
      reenacted: { entries: turns.length, owners: 5, attempts: attempts.length, compensations: 2, rollbacks: 3 },
      redecidedOnly: [{ why: 'commands of people and agents', entries: entries.length - turns.length, first: 1 }],
      head: entries.at(-1)!.hash,
    })
    expect((await lived.engine.ask({ type: 'replay', plan: lived.plan }))?.trace).toBe(told?.trace)
    await lived.close()
  })

  it('carries nothing out and writes nothing', async () => {
    const lived = await lively()
    const before = JSON.stringify([lived.attempts.length, lived.asked, await lived.rooms.store.position()])
    const { runners, workspace, processes } = lived.rooms
    const forbidden = () => {
      throw new Error('a replay touched the world')
    }
    for (const runner of runners.values()) Object.assign(runner, { attempt: forbidden, preview: forbidden })
    Object.assign(workspace, { capture: forbidden, restore: forbidden })
    Object.assign(processes, { endOwner: forbidden, endAttempt: forbidden })
    for (const way of ['update', 'create', 'prune'] as const) Object.assign(lived.rooms.store, { [way]: forbidden })
    expect(await lived.engine.ask({ type: 'replay', plan: lived.plan })).toMatchObject({ ok: true })
    expect(JSON.stringify([lived.attempts.length, lived.asked, await lived.rooms.store.position()])).toBe(before)
    await lived.close()
  })

  it('of a plan that is still under way ends where the journal does', async () => {
    const scene = setup()
    const id = await scene.plan({ id: name('a') }, { id: name('b'), needs: [name('a')] })
    const { rooms } = scene
    const owner = await rooms.store.leases.open({ leaseMs: 60_000 })
    const claimed = await rooms.store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('held')
    await rooms.store.update(id, { type: 'turn' }, { actor: 'engine' as Actor, lease: claimed.lease })
    expect(await scene.engine.ask({ type: 'replay', plan: id })).toMatchObject({
      ok: true,
      entries: 3,
      reenacted: { entries: 1, owners: 1, attempts: 0 },
    })
    await owner.stop()
  })

  it('answers commits from the record', async () => {
    const scene = setup()
    const after = { type: 'file', mode: 0o644, size: 1, sha256: 'c'.repeat(64) as Sha256 } as const
    const changes = [{ path: 'out/a', before: null, after }]
    Object.assign(scene.rooms.workspace, { changesSince: async () => ({ ok: true, changes, left: [] }) })
    const files = { effect: 'workspace', write: ['out/**'], network: [] } as const
    const id = await scene.define({
      tasks: [
        { id: name('a'), ...files },
        { id: name('b'), needs: [name('a')], ...files },
      ] as never,
      git: { commits: 'task' },
    })
    await scene.drive(id)
    const told = await scene.engine.ask({ type: 'replay', plan: id })
    expect(told).toMatchObject({ ok: true, reenacted: { attempts: 2, commits: 2, rollbacks: 0 } })
    await scene.worker.close()
  })

  it('knows nothing of a plan that is not there', async () => {
    expect(await setup().engine.ask({ type: 'replay', plan: 'nowhere' })).toBeNull()
  })

  it.each(readdirSync(FOLDER).filter(file => file.endsWith('.jsonl')))(
    'of the golden journal %s is the same',
    async file => {
      const lines = readFileSync(new URL(file, FOLDER), 'utf8').trimEnd().split('\n')
      const entries = lines.map(line => ofGolden(JSON.parse(line) as Golden))
      const told = await replay(reader(sealed(ID, entries)), ID, file)
      expect(told).toMatchObject({ ok: true, entries: entries.length, reenacted: { entries: 0 }, fault: null })
    },
  )

  it('of a long journal reads page by page and says how long it took', async () => {
    const scene = setup()
    // Ten thousand in `npm run soak`.
    const count = process.env.PLANFOLD_RUNS === undefined ? 1_500 : 10_000
    const tasks = Array.from({ length: count }, (_, at) => ({
      id: name(`t${at}`),
      effect: 'pure' as const,
      ...(at === 0 ? {} : { needs: [name(`t${at - 1}`)] }),
    }))
    const id = await scene.plan(...tasks)
    await scene.drive(id)
    const read = scene.rooms.store.read
    let largest = 0
    const counted = {
      read: async (...of: Parameters<typeof read>) => {
        const page = await read(...of)
        largest = Math.max(largest, page.length)
        return page
      },
    }
    const began = performance.now()
    const told = await replay(counted, id, 'large')
    console.log(`replay: ${told.entries} entries of ${count} tasks in ${Math.round(performance.now() - began)} ms`)
    expect(told).toMatchObject({ ok: true, reenacted: { attempts: count } })
    expect(largest).toBeLessThanOrEqual(200)
  })
})

describe('what a replay refuses', () => {
  const start = started(plan('p', task('a'), task('b', { needs: ['a'] })))
  start.succeed('a', { exit: 0 })
  start.succeed('b')
  const said = start.entries.map(ofGolden as (entry: unknown) => Said)

  it('an entry whose format this program does not know, with a word about versions', async () => {
    const rows = sealed(ID, said).map((row, at) =>
      at === 2 ? { ...row, body: row.body!.replace('"v":1', '"v":3') } : row,
    )
    const told = await replay(reader(rehashed(ID, rows)), ID, 'p')
    expect(told).toMatchObject({ ok: false, entries: 2, fault: { type: 'unknown', version: 3, position: 3 } })
    expect(told.fault?.message).toMatch(/format 3.*this program knows 2; use the planfold that wrote it$/)
  })

  it.each([
    ['command', { command: { type: 'dream' } }],
    ['event', { events: [{ type: 'plan.dreamt' }] }],
  ])('a %s this program does not know', async (word, with_) => {
    const rows = sealed(
      ID,
      said.map((one, at) => (at === 1 ? ({ ...one, ...with_ } as unknown as Said) : one)),
    )
    const told = await replay(reader(rows), ID, 'p')
    expect(told.fault).toMatchObject({ type: 'unknown', version: 2 })
    expect(told.fault?.message).toMatch(new RegExp(`holds the ${word} ".*", which this program does not know`))
  })

  it('events that do not follow, with what was expected, what is there, and where', async () => {
    const entries = said.map((one, at) =>
      at === 3
        ? {
            ...one,
            events: one.events.map(event => (event.type === 'attempt.started' ? { ...event, attempt: 7 } : event)),
          }
        : one,
    )
    expect(await replay(reader(sealed(ID, entries)), ID, 'p')).toMatchObject({
      ok: false,
      entries: 3,
      fault: {
        type: 'diverged',
        by: 'decision',
        version: 4,
        position: 4,
        path: '$.events[2].attempt',
        expected: 1,
        actual: 7,
      },
    })
  })

  it('a command that is refused, or that no rule can read', async () => {
    const refused = said.map((one, at) => (at === 2 ? { ...one, command: START } : one))
    expect((await replay(reader(sealed(ID, refused)), ID, 'p')).fault).toMatchObject({
      version: 3,
      path: '$.events',
      expected: { refused: expect.stringContaining('cannot start') },
    })
    for (const settled of [5, [null], 'x', [{}]]) {
      const broken = said.map((one, at) =>
        at === 3 ? ({ ...one, fence: 1, command: { type: 'turn', settled } } as never) : one,
      )
      const told = await replay(reader(sealed(ID, broken)), ID, 'p')
      expect(told.fault, JSON.stringify(settled)).toMatchObject({ version: 4 })
    }
  })

  it('times, places and fences that fall', async () => {
    const early = said.map((one, at) => (at === 3 ? { ...one, now: one.now - 1 } : one))
    expect((await replay(reader(sealed(ID, early)), ID, 'p')).fault).toMatchObject({ version: 4, path: '$.now' })
    const rows = sealed(ID, said).map((row, at) => (at === 3 ? { ...row, position: 2 } : row))
    expect((await replay(reader(rehashed(ID, rows)), ID, 'p')).fault).toMatchObject({ version: 4, path: '$.position' })
  })

  it('a turn that the rules allow and the loop never took', async () => {
    const lived = await lively()
    const entries = await saidBy(lived)
    // A preparation nobody asked for: `decide` believes what it is told, and lets the task fail.
    const forged = setup()
    const id = await forged.plan({ id: name('a') }, { id: name('b') })
    const owner = await forged.rooms.store.leases.open({ leaseMs: 60_000 })
    const claimed = await forged.rooms.store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('held')
    const failure = { class: 'logic', message: 'so they say', retryable: false } as const
    const lie = [{ task: name('a'), visit: 1, prepared: { failure } }]
    const options = { actor: 'engine' as Actor, lease: claimed.lease }
    await forged.rooms.store.update(id, { type: 'turn', prepared: lie }, options)
    expect((await forged.engine.ask({ type: 'replay', plan: id }))?.fault).toMatchObject({
      type: 'diverged',
      by: 'loop',
      version: 3,
      path: '$.command.prepared',
      actual: lie,
    })
    await owner.stop()
    // And files set back that nobody set back.
    const at = entries.findLastIndex(({ fence }) => fence !== null)
    const restored = [{ task: name('files'), to: 'a'.repeat(64) as never, saved: 'b'.repeat(64) as never }]
    const event = { type: 'workspace.restored', ...restored[0]! } as const
    const told = entries.map((one, index) =>
      index === at
        ? { ...one, command: { ...(one.command as object), restored } as never, events: [event, ...one.events] }
        : one,
    )
    expect((await replay(reader(sealed(lived.plan, told)), lived.plan, 'p')).fault).toMatchObject({
      by: 'loop',
      version: at + 1,
      path: '$.command.restored',
    })
    await lived.close()
  })
})

describe('an attacker who can make hashes', () => {
  it(`is caught at the entry, ${ATTACKS} times of ${ATTACKS}: whatever decide computes`, {
    timeout: HANGS_MS,
  }, async () => {
    const lived = await lively()
    const said = await saidBy(lived)
    const draw = luck(SEED)
    const missed: string[] = []
    for (let attack = 0; attack < ATTACKS; ) {
      const at = draw(said.length)
      const events = mutated(said[at]!.events, draw)
      if (firstDifference(said[at]!.events, events) === null) continue
      attack++
      const rows = sealed(
        lived.plan,
        said.map((one, index) => (index === at ? { ...one, events } : one)),
      )
      const { fault } = await replay(reader(rows), lived.plan, 'p')
      if (fault?.version !== at + 1)
        missed.push(`${attack}: entry ${at + 1}, found ${JSON.stringify(fault)}: ${JSON.stringify(events)}`)
    }
    expect(missed).toEqual([])
    await lived.close()
  })

  it(`is caught at the entry too when the stored text is altered, ${ATTACKS} times of ${ATTACKS}`, {
    timeout: HANGS_MS,
  }, async () => {
    const lived = await lively()
    const rows = packed(lived.plan, await saidBy(lived))
    const draw = luck(SEED + 1)
    // What an attempt brought back, and what a person wrote, is told to decide; it cannot be computed again.
    const told = /^\/events\/\d+\/(4|definition|source|rationale|result)(\/|$)|^\/(command|v)/
    const missed: string[] = []
    for (let attack = 0; attack < ATTACKS; ) {
      const at = draw(rows.length)
      const body = JSON.stringify(mutated(JSON.parse(rows[at]!.body!), draw, path => !told.test(path)))
      // A key that nobody reads changes nothing that is said.
      if (readsAs(rows[at]!.body!) === readsAs(body)) continue
      attack++
      const altered = rehashed(
        lived.plan,
        rows.map((row, index) => (index === at ? { ...row, body } : row)),
      )
      const { fault } = await replay(reader(altered), lived.plan, 'p')
      if (fault?.version !== at + 1) missed.push(`${attack}: entry ${at + 1}, found ${JSON.stringify(fault)}: ${body}`)
    }
    expect(missed).toEqual([])
    await lived.close()
  })
})

describe('the first difference', () => {
  it('is named by its path, whatever the order of keys', () => {
    expect(firstDifference({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 })).toBeNull()
    expect(firstDifference({ a: undefined }, {})).toBeNull()
    expect(firstDifference({ b: [1, { c: 2 }] }, { b: [1, { c: 3 }] })).toEqual({
      path: '$.b[1].c',
      expected: 2,
      actual: 3,
    })
    expect(firstDifference([1], [1, 2])).toEqual({ path: '$[1]', actual: 2 })
    expect(firstDifference({ 'a b': 1 }, {})).toEqual({ path: '$["a b"]', expected: 1 })
    expect(firstDifference({}, { x: null })).toEqual({ path: '$.x', actual: null })
    expect(firstDifference(JSON.parse('{"__proto__":1}'), {})).toEqual({ path: '$.__proto__', expected: 1 })
    expect(firstDifference([], {})).toMatchObject({ path: '$' })
  })
})

/** What a store makes of a body; null when it can make nothing of it. */
function readsAs(body: string): string | null {
  const place = { format: ENTRY_FORMAT, position: 1, oldPosition: null, version: 1, at: 0 }
  const row = { ...place, actor: 'a' as Actor, fence: null, body, blob: null, hash: '' as Sha256 }
  try {
    const { command, events } = readEntry(ID, row, noBlobs)
    return canonicalJson([command, events] as unknown as Json)
  } catch {
    return null
  }
}
