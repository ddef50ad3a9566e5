import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { BlobsMemory } from '../../../sim/memory-store/blobs-memory.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Prepared } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { Journal, name, plan, START, task } from '../../testing/index.ts'
import { openWorkspace } from '../../workspace/scope/scope-workspace.ts'
import type { Rooms } from '../rooms.ts'
import { keptFiles } from './kept-files.ts'
import { restoreScope } from './restore-scope.ts'

let root: string
let rooms: Rooms
let journal: Journal
let preimage: Sha256
/** What the store tells of the plan, where another process has gone on with it. */
let stored: PlanState | null = null

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'planfold-restore-'))
  mkdirSync(join(root, 'src'))
  write('src/a', 'a')
  write('src/b', 'b')
  const blobs = new BlobsMemory(new Map(), { now: () => Date.now(), monotonic: () => 0 })
  const workspace = openWorkspace({ root, stateDir: join(root, '.planfold'), blobs })
  journal = new Journal()
  const store = {
    blobs,
    read: async (_: unknown, { after }: { after: number }) => journal.entries.slice(after),
    position: async () => 0,
    since: async () => [],
    state: async () => stored ?? journal.state,
  }
  rooms = { workspace, store, root } as unknown as Rooms
  const captured = await workspace.capture(['src/**'])
  if (!captured.ok) throw new Error(captured.failure.message)
  preimage = captured.manifest
  const retry = { attempts: 5, backoffMs: { min: 0, max: 0 } }
  const build = task('build', { write: ['src/**'], network: [], retry })
  journal.must({ type: 'create', plan: PLAN, definition: plan('p', build), hash: preimage })
  journal.must(START)
  prepared({ preimage })
})
afterEach(() => {
  stored = null
  rmSync(root, { recursive: true, force: true })
})

const PLAN = '019a0000-0000-7000-8000-000000000000' as never
const write = (path: string, text: string): void => writeFileSync(join(root, path), text)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const prepared = (made: Prepared) =>
  journal.must({ type: 'turn', prepared: [{ task: name('build'), visit: 1, prepared: made }] })
const lost = (lastSign: number) => journal.must({ type: 'recover', reason: 'it died', lastSign })
const restore = (state: PlanState = journal.state) =>
  restoreScope(rooms, state, state.tasks.get(name('build'))!, preimage)

it('what changed before the last sign of life is set back; what changed later is asked about, and nothing is touched', async () => {
  write('src/a', 'by the task')
  lost(Date.now())
  expect(await restore()).toMatchObject({ status: 'restored', restored: { files: ['src/a'] } })
  expect(read('src/a')).toBe('a')
  write('src/a', 'by a person')
  journal.state.tasks.get(name('build'))!.prepared = { preimage, ended: { how: 'lost', at: Date.now() - 60_000 } }
  const asked = await restore()
  expect(asked).toMatchObject({ status: 'asked', edits: { paths: ['src/a'] } })
  expect(read('src/a')).toBe('by a person')
})

it('a clock set back does not make a person of the task: only the mark of the file system counts', async () => {
  write('src/a', 'by the task')
  utimesSync(join(root, 'src/a'), 4_000_000_000, 4_000_000_000)
  lost(Date.now())
  expect(await restore()).toMatchObject({ status: 'restored' })
})

it('a choice holds for what was shown: whoever edits again is asked again', async () => {
  write('src/a', 'mine')
  const one = journal.state.tasks.get(name('build'))!
  const ended = { how: 'lost', at: Date.now() - 60_000 } as const
  one.prepared = { preimage, ended }
  const asked = await restore()
  if (asked.status !== 'asked') throw new Error('it must ask')
  one.prepared = { preimage, ended, chosen: { shown: asked.edits.shown, every: 'take' } }
  write('src/a', 'mine, better')
  expect(await restore()).toMatchObject({ status: 'asked', edits: { paths: ['src/a'] } })
  expect(read('src/a')).toBe('mine, better')
  write('src/a', 'mine')
  expect(await restore()).toMatchObject({ status: 'restored', restored: { files: ['src/a'] } })
  expect(read('src/a')).toBe('a')
})

it('who edits something else after a choice is asked about that alone, and what was chosen before holds', async () => {
  const one = journal.state.tasks.get(name('build'))!
  one.prepared = { preimage, ended: { how: 'lost', at: Date.now() - 60_000 } }
  const answered = async (paths: readonly string[], every: 'keep' | 'take' | 'merge') => {
    const asked = await restore()
    if (asked.status !== 'asked') throw new Error('it must ask')
    expect(asked.edits.paths).toEqual(paths)
    one.prepared = { ...one.prepared, chosen: { shown: asked.edits.shown, every } }
  }
  write('src/a', 'mine')
  await answered(['src/a'], 'keep')
  write('src/b', 'not wanted')
  await answered(['src/b'], 'take')
  write('src/new', 'mine, too')
  await answered(['src/new'], 'merge')
  // What was decided about holds only as long as it stands as it was shown.
  write('src/a', 'mine, better')
  await answered(['src/a'], 'keep')
  expect(await restore()).toMatchObject({
    status: 'restored',
    restored: { files: ['src/b'], kept: ['src/a', 'src/new'] },
  })
  expect([read('src/a'), read('src/b'), read('src/new')]).toEqual(['mine, better', 'b', 'mine, too'])
})

it('what is kept becomes part of what stood before, so that later attempts leave it alone', async () => {
  write('src/mine', 'mine')
  write('src/a', 'by the task')
  const one = journal.state.tasks.get(name('build'))!
  one.prepared = { preimage, ended: { how: 'lost', at: Date.now() - 60_000 } }
  const asked = await restore()
  if (asked.status !== 'asked') throw new Error('it must ask')
  one.prepared = { ...one.prepared, chosen: { shown: asked.edits.shown, every: 'keep', choices: { 'src/a': 'take' } } }
  const restored = await restore()
  if (restored.status !== 'restored') throw new Error('it must restore')
  expect([read('src/mine'), read('src/a')]).toEqual(['mine', 'a'])
  expect(restored.restored).toMatchObject({ files: ['src/a'], kept: ['src/mine'] })
  const later = await rooms.workspace.changesSince(restored.preimage)
  expect(later.ok && later.changes).toEqual([])
})

it('a restore that was cut off before the journal told of it is told by the next one, whole', async () => {
  write('src/a', 'first')
  write('src/new', 'second')
  lost(Date.now())
  const first = await restore()
  // The process died here: nothing of this is in the journal. Somebody who asks is told all the same.
  expect((await keptFiles(rooms, journal.state)).map(({ path }) => path)).toEqual(['src/a', 'src/new'])
  const again = await restore()
  if (again.status !== 'restored' || first.status !== 'restored') throw new Error('restored')
  expect(again).toMatchObject({ restored: null, earlier: [{ files: ['src/a', 'src/new'] }] })
  journal.must({
    type: 'turn',
    restored: again.earlier.map(one => ({ task: name('build'), ...one })),
    prepared: [{ task: name('build'), visit: 1, prepared: { preimage: again.preimage } }],
  })
  const kept = await keptFiles(rooms, journal.state)
  expect(kept.map(({ path, kept: was }) => [path, was?.type])).toEqual([
    ['src/a', 'file'],
    ['src/new', 'file'],
  ])
})

it('what a restore took away is named, also where the process died and the next restore fails', async () => {
  write('src/a', 'perhaps by a person')
  lost(Date.now())
  // It dies before the journal says it; then the files cannot be restored, and the task fails.
  await restore()
  expect(read('src/a')).toBe('a')
  const failure = { class: 'policy', message: 'no', retryable: false } as const
  const { workspace } = rooms
  rooms = { ...rooms, workspace: { ...workspace, restore: async () => ({ ok: false, failure }) } } as unknown as Rooms
  expect(await restore()).toMatchObject({ status: 'failed', failure, earlier: [{ files: ['src/a'] }] })
})

it('an edit made between a restore that was cut off and the next one is asked about', async () => {
  write('src/a', 'by the task')
  lost(Date.now())
  await restore()
  write('src/b', 'mine')
  const state = journal.state
  state.tasks.get(name('build'))!.prepared = { preimage, ended: { how: 'lost', at: Date.now() - 60_000 } }
  expect(await restore(state)).toMatchObject({ status: 'asked', edits: { paths: ['src/b'] } })
})

it('what a person kept stays kept when the process dies before the journal says that the attempt began', async () => {
  write('src/mine', 'mine')
  write('src/a', 'by the task')
  const one = journal.state.tasks.get(name('build'))!
  const ended = { how: 'lost', at: Date.now() - 60_000 } as const
  one.prepared = { preimage, ended }
  const asked = await restore()
  if (asked.status !== 'asked') throw new Error('it must ask')
  const choices = { 'src/a': 'take' } as const
  one.prepared = { preimage, ended, chosen: { shown: asked.edits.shown, every: 'keep', choices } }
  await restore()
  expect(read('src/mine')).toBe('mine')
  // The process died here; the next one finds the same state.
  await restore()
  expect([read('src/mine'), read('src/a')]).toEqual(['mine', 'a'])
})

it('a deletion that a cut-off restore had looked at is not taken for a person', async () => {
  rmSync(join(root, 'src/b'))
  lost(Date.now())
  await restore()
  // As if it had died before this file was made again; the folder was changed by the restore itself.
  rmSync(join(root, 'src/b'))
  journal.state.tasks.get(name('build'))!.prepared = { preimage, ended: { how: 'lost', at: Date.now() - 60_000 } }
  expect(await restore()).toMatchObject({ status: 'restored' })
  expect(read('src/b')).toBe('b')
})

it('a preparation that failed neither forgets what was chosen nor moves the end of the attempt', () => {
  lost(1_000)
  prepared({ edits: { shown: preimage, paths: ['src/a'] } })
  const decide = { type: 'decide', task: name('build'), verdict: 'chosen', rationale: '', by: 'ana' } as const
  journal.must({ ...decide, option: 'keep' })
  const before = journal.state.tasks.get(name('build'))!.prepared
  prepared({ failure: { class: 'transient', message: 'not now', retryable: true } })
  const after = journal.state.tasks.get(name('build'))!.prepared
  expect(after).toMatchObject({ chosen: before!.chosen, ended: { how: 'lost', at: 3_000 } })
})

it('a person who edits in the moment of the restore is asked, and nothing fails', async () => {
  write('src/a', 'by the task')
  const at = Date.now() + 20
  journal.state.tasks.get(name('build'))!.prepared = { preimage, ended: { how: 'failed', at } }
  const { workspace } = rooms
  let edits = 0
  Object.assign(rooms, {
    workspace: {
      ...workspace,
      restore: async (...[id, how = {}]: Parameters<typeof workspace.restore>) => {
        const onSaved = (...saved: Parameters<NonNullable<typeof how.onSaved>>) => {
          how.onSaved?.(...saved)
          while (Date.now() <= at + 20);
          // After everything was looked at, and before it is looked at once more.
          if (edits++ === 0) write('src/b', 'by a person, right now')
        }
        return await workspace.restore(id, { ...how, onSaved })
      },
    },
  })
  expect(await restore()).toMatchObject({ status: 'asked', edits: { paths: ['src/b'] } })
  expect([edits, read('src/a'), read('src/b')]).toEqual([1, 'a', 'by a person, right now'])
})

it('what somebody changes between the look and the restore is looked at again, and asked about', async () => {
  write('src/a', 'by the task')
  lost(Date.now())
  journal.state.tasks.get(name('build'))!.prepared = { preimage, ended: { how: 'lost', at: Date.now() + 50 } }
  const { workspace } = rooms
  let looks = 0
  const changesSince = async (manifest: Sha256) => {
    const found = await workspace.changesSince(manifest)
    if (++looks > 1) return found
    await setTimeout(100)
    write('src/b', 'by a person')
    return found
  }
  rooms = {
    ...rooms,
    workspace: {
      changesSince,
      restore: workspace.restore.bind(workspace),
      capture: workspace.capture.bind(workspace),
      compare: workspace.compare.bind(workspace),
      merge: workspace.merge.bind(workspace),
    },
  }
  expect(await restore()).toMatchObject({ status: 'asked', edits: { paths: ['src/b'] } })
  expect([looks, read('src/a'), read('src/b')]).toEqual([2, 'by the task', 'by a person'])
})

it('what another process made of the task meanwhile is not set back by one that was held up', async () => {
  write('src/a', 'by the task')
  lost(Date.now())
  const before = structuredClone(journal.state.tasks.get(name('build'))!)
  stored = {
    ...journal.state,
    tasks: new Map([[name('build'), { ...before, attempt: before.attempt + 1 }]]),
  } as PlanState
  expect(await restore()).toMatchObject({ status: 'failed', failure: { code: 'taken-over' } })
  expect(read('src/a')).toBe('by the task')
})
