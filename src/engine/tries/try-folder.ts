// The folder of one try: the files of the workspace when the race began, below the state folder. In a repository it is a worktree without a
// branch, so that git works in it. Folders that the ignore rules match, and that commands need, are shown read-only in the sandbox and
// copied without one.
//
//   <state>/tries/<plan>/<task>-<visit>/<try>           the folder
//                                      /<try>.made      there as long as the folder; says where and with which files it has begun

import { constants } from 'node:fs'
import { cp, mkdir, readdir, readFile, realpath, rename, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { ENDED, PLAN_ENDED } from '../../domain/status.ts'
import { openRace } from '../../domain/tries/race.ts'
import { removeTree } from '../../safety/files/directory.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import type { BorrowedFolder } from '../../safety/sandbox/sandbox.ts'
import type { Change } from '../../workspace/workspace.ts'
import { roomsOf } from '../git/plan-worktree.ts'
import type { Rooms } from '../rooms.ts'

export interface TryFolder {
  readonly rooms: Rooms
  readonly borrowed: readonly BorrowedFolder[]
  /** All files before the try began; null if it has not begun. */
  readonly begun: Sha256 | null
  readonly begin: (files: Sha256) => Promise<void>
}

/** The race of one visit of a task. */
export interface RacePlace {
  readonly plan: PlanId
  readonly task: TaskName
  readonly visit: number
}

interface Making {
  readonly rooms: Rooms
  readonly of: RacePlace
  readonly name: string
  readonly start: Sha256
  /** What an earlier round changed since the start. */
  readonly since: readonly Change[]
  /** Keep the folder of an interrupted attempt that has begun, because an agent continues its work. */
  readonly keep: boolean
  readonly ignored: 'share' | 'copy' | 'leave'
}

const FOLDER = 'tries'

export async function openTry(making: Making): Promise<Answer<TryFolder>> {
  const { rooms, of, name, keep, ignored } = making
  const race = folderOf(rooms, of)
  await mkdir(race, { recursive: true, mode: 0o700 })
  const path = join(await realpath(race), name)
  const note = await readFile(`${path}.made`, 'utf8').catch(() => null)
  const [begun, where] = note?.split('\n') ?? []
  const kept = keep && where !== undefined && (await isFolder(where)) ? where : null
  if (kept === null && note !== null) await removeTry(rooms, of.plan, path)
  if (kept === null) await writeFile(`${path}.made`, '')
  const workspace = kept ?? (await make(making, path))
  if (typeof workspace !== 'string') return workspace
  const borrowed = ignored === 'leave' ? [] : await borrow(making, workspace)
  const begin = (files: Sha256): Promise<void> => writeFile(`${path}.made`, `${files}\n${workspace}`)
  return {
    ok: true,
    value: { rooms: roomsAt(rooms, workspace), borrowed, begun: kept === null ? null : (begun as Sha256), begin },
  }
}

function roomsAt(rooms: Rooms, folder: string): Rooms {
  if (rooms.at === undefined) throw new Error('bug: these rooms cannot be moved')
  return rooms.at(folder)
}

async function make(
  { rooms, of, start, since }: Making,
  path: string,
): Promise<string | Extract<Answer<never>, { ok: false }>> {
  const files = `${path}.files`
  const instead = since.map(({ path, after }) => [path, after] as const)
  const written = await rooms.snapshots!.materialise(start, files, instead)
  if (!written.ok) return written
  const checkedOut = await rooms.git?.checkOutScratch({ plan: of.plan, path, commit: 'HEAD' })
  // No repository, no commit yet, or filters, which are never run here.
  if (checkedOut?.ok !== true) {
    await removeTree(path)
    await rename(files, path)
    return path
  }
  const { workspace } = checkedOut.value
  if (relative(path, workspace) === '') await rename(join(path, '.git'), join(files, '.git'))
  await removeTree(workspace)
  await mkdir(dirname(workspace), { recursive: true })
  await rename(files, workspace)
  return workspace
}

/** Folders with what is installed or built, which no snapshot holds. */
const NEEDED: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv', 'target'])
/** A workspace may be huge. What lies near its root is found first. */
const FOLDERS_MAX = 20_000

async function borrow({ rooms, start, ignored }: Making, workspace: string): Promise<readonly BorrowedFolder[]> {
  const found = await neededIn(rooms.root)
  const known = await rooms.snapshots!.entries(start, found)
  const paths = known.ok ? known.entries.flatMap(({ path, entry }) => (entry === null ? [path] : [])) : []
  const borrowed: BorrowedFolder[] = []
  for (const path of paths) {
    const [from, to] = [await realpath(join(rooms.root, path)), join(workspace, path)]
    if (ignored === 'share') {
      await mkdir(to, { recursive: true })
      borrowed.push({ from, to })
    } else if (!(await isFolder(to)))
      await cp(from, to, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
  }
  return borrowed
}

async function neededIn(root: string): Promise<readonly string[]> {
  const found: string[] = []
  const folders = ['']
  for (let at = 0; at < folders.length && at < FOLDERS_MAX; at++) {
    const folder = folders[at]!
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (!NEEDED.has(entry.name)) {
        if (entry.isDirectory() && !entry.name.startsWith('.')) folders.push(path)
      } else if (await isFolder(join(root, path))) found.push(path)
    }
  }
  return found
}

const isFolder = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isDirectory() === true

const nameOf = ({ task, visit }: Pick<RacePlace, 'task' | 'visit'>): string => `${task.replaceAll('/', '+')}-${visit}`
const folderOf = ({ stateDir }: Pick<Rooms, 'stateDir'>, of: RacePlace): string =>
  join(stateDir, FOLDER, of.plan, nameOf(of))

/** Files first: git also removes a worktree whose folder is gone. */
async function removeTry(rooms: Pick<Rooms, 'git'>, plan: PlanId, path: string): Promise<void> {
  for (const each of [path, `${path}.files`]) await removeTree(each)
  await rooms.git?.removeScratch({ plan, path })
  await removeTree(`${path}.made`)
}

export const removeRace = (rooms: Rooms, of: RacePlace): Promise<void> =>
  removeRaceIn(rooms, of.plan, folderOf(rooms, of))

async function removeRaceIn(rooms: Pick<Rooms, 'git'>, plan: PlanId, race: string): Promise<void> {
  const names = await readdir(race).catch(() => [])
  const at = names.length === 0 ? race : await realpath(race)
  for (const name of new Set(names.map(each => each.replace(/\..*$/, '')))) await removeTry(rooms, plan, join(at, name))
  await removeTree(race)
  await rmdir(dirname(race)).catch(() => {})
  await rmdir(dirname(dirname(race))).catch(() => {})
}

/**
 * Removes what is left of races that do not continue: of the plan that the caller drives, and of plans that have ended. What cannot be removed
 * stays until the next time.
 */
export async function removeLeftTries(rooms: Rooms, driven?: PlanId): Promise<void> {
  const folder = join(rooms.stateDir, FOLDER)
  for (const id of (await readdir(folder).catch(() => [])) as PlanId[]) {
    const state = await rooms.store.state(id).catch(() => null)
    if (state === null || (id !== driven && !(await isAtRest(rooms, state)))) continue
    const open = state.order.filter(task => openRace(task) !== null && !ENDED.has(task.status))
    const kept = new Set(open.map(({ definition, visit }) => nameOf({ task: definition.id, visit })))
    const names = await readdir(join(folder, id)).catch(() => [])
    for (const name of names)
      if (!kept.has(name)) await removeRaceIn(roomsOf(rooms, state), id, join(folder, id, name)).catch(() => {})
  }
}

const isAtRest = async ({ store }: Rooms, { id, status }: PlanState): Promise<boolean> =>
  PLAN_ENDED.has(status) && (await store.leases.holder(id))?.alive !== true
