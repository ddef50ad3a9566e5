import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { advise, quoted, stepsIn } from '../../domain/hint.ts'
import type { PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { captureBetweenRollbacks, holdRollbacks } from '../../workspace/rollback/rollback-lock.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { refuseReservedFiles } from './reserved-files.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
  mkdirSync(join(place.root, 'sc'))
})
afterEach(async () => {
  await place.close()
  rmSync(place.root, { recursive: true, force: true })
})

const text = (name: string) => readFileSync(join(place.root, name), 'utf8')
const drive = (plan: PlanId) => place.worker.drive(plan, { stop: new AbortController().signal, patienceMs: 0 })
async function run(name: string, tasks: readonly TaskDefinition[]): Promise<PlanId> {
  const made = await place.submit({ type: 'create', definition: { name: name as PlanName, tasks } }, null)
  if (!made.ok) throw new Error(made.refusal.message)
  await place.submit({ type: 'start' }, name)
  await drive(made.plan)
  return made.plan
}

/** Its first attempt leaves `sc/x`, which is set back for the second one. */
const setBack = sh('a', 'test -e on && exit 0; mkdir on; echo half > sc/x; exit 75', {
  write: ['sc/**'],
  network: [],
  retry: { attempts: 2, backoffMs: { min: 1, max: 1 } },
})
const between = (id: string, write: readonly string[], needs: readonly string[] = []) =>
  sh(id, 'exit 75', {
    write,
    network: [],
    needs: needs as TaskName[],
    retry: { attempts: 2, backoffMs: { min: 3_600_000, max: 3_600_000 } },
  })
const restore = () => place.submit({ type: 'restore', paths: ['sc/x'] }, 'p')

it('a kept file is not restored while a task of another plan holds it', async () => {
  const p = await run('p', [setBack])
  await place.worker.drive(p, { stop: new AbortController().signal })
  const q = await run('q', [between('b', ['sc/**'])])
  const refused = await restore()
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'not-ready', message: /'sc\/x'.*task 'b' of plan 'q'/ } })
  expect(refused.ok ? [] : stepsIn(refused.refusal.hint ?? '')).toEqual([
    quoted('resume', { plan: 'q' }),
    quoted('cancel', { plan: 'q' }),
  ])
  await place.submit({ type: 'cancel' }, 'q')
  await drive(q)
  expect(await restore()).toMatchObject({ ok: true })
  expect(text('sc/x')).toBe('half\n')
})

it('nor while a task of the plan itself is between two attempts', async () => {
  const p = await run('p', [setBack, between('b', ['sc/**'], ['a'])])
  await expect
    .poll(async () => {
      await drive(p)
      return await place.rooms.store.reservations.held(p)
    })
    .toMatchObject([{ task: 'b' }])
  expect(await restore()).toMatchObject({
    ok: false,
    refusal: {
      code: 'not-ready',
      message: "task 'b' of plan 'p' is between two attempts and will restore 'sc/x'; nothing was changed",
      hint: advise`let it end first (${quoted('resume', { plan: 'p' })}), or give it up: ${quoted('skip', { plan: 'p', task: 'b' })}`,
    },
  })
  expect(await place.submit({ type: 'skip', task: 'b' as TaskName, reason: 'not needed' }, 'p')).toMatchObject({
    ok: true,
  })
  expect(await restore()).toMatchObject({ ok: true })
})

it('is asked by what the patterns mean: files beside them, and names with brackets, are free', async () => {
  const p = await run('p', [sh('a', 'true')])
  await run('q', [between('b', ['src/*.ts', 'app/[id]/page', 'one/file'])])
  const state = (await place.rooms.store.state(p))!
  const isRefused = async (path: string) => (await refuseReservedFiles(place.rooms, state, [path])) !== null
  const held = ['src/a.ts', 'SRC/A.TS', 'src', 'app/[id]/page', 'app/[id]', 'one/file', 'one/file/below', 'one']
  for (const path of held) expect([path, await isRefused(path)]).toEqual([path, true])
  for (const path of ['src/a.md', 'src/deep/a.ts', 'app/[other]/page', 'one/other', 'free'])
    expect([path, await isRefused(path)]).toEqual([path, false])
})

it('a task that begins in the same moment keeps its files: a restore asks once more when its sign is up', async () => {
  const p = await run('p', [setBack])
  await drive(p)
  const { snapshots } = place.rooms
  const rollback = snapshots!.rollback.bind(snapshots)
  const begun: Promise<PlanId>[] = []
  snapshots!.rollback = async (...asked) => {
    // The restore has asked and found the files free.
    begun.push(run('q', [between('b', ['sc/**'])]))
    await Promise.all(begun)
    return await rollback(...asked)
  }
  const refused = await restore()
  expect(refused).toMatchObject({ ok: false, refusal: { message: /'sc\/x'.*task 'b' of plan 'q'/ } })
  expect(existsSync(join(place.root, 'sc/x'))).toBe(false)
})

it('and one that has begun just after waits until the files are restored', async () => {
  const { workspace } = place.rooms
  const hold = await holdRollbacks(place.rooms)
  const { quiet } = captureBetweenRollbacks(place.rooms, workspace)
  const order: string[] = []
  workspace.quiet = async () => {
    order.push('asked')
    await quiet!()
    order.push(existsSync(join(place.root, 'sc/y')) ? 'has run' : 'runs now')
  }
  const running = run('r', [sh('w', 'echo y > sc/y', { write: ['sc/**'], network: [] })])
  await expect.poll(() => order, { timeout: 120_000 }).toEqual(['asked'])
  hold.release()
  await running
  expect([order, text('sc/y')]).toEqual([['asked', 'runs now'], 'y\n'])
})
