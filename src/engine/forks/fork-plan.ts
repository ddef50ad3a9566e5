// Forks a plan: a new plan that continues from an entry of another one, in a folder of its own with the files of that time. The origin and
// its folder are only read. The folder is made before the plan, so that every plan has one.

import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { sandboxedCommand } from '../../domain/actions/actions.ts'
import { type Event, isAttemptEnd } from '../../domain/event.ts'
import { advise, type Hint, next, quoted } from '../../domain/hint.ts'
import {
  type Actor,
  isPlanName,
  type Millis,
  NAME_MAX,
  type PlanId,
  type PlanName,
  planId,
  type Sha256,
  type TaskName,
} from '../../domain/id.ts'
import { NAME_TRIES_MAX } from '../../domain/limits.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { othersIn } from '../../domain/plan-rules/authors.ts'
import { usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { keepItems } from '../../domain/plan-rules/for-each.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Failure } from '../../domain/result.ts'
import { wroteIn } from '../../domain/result.ts'
import { refuseGraph } from '../../domain/rules/lifecycle.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { ENDED } from '../../domain/status.ts'
import { gitOperationsOf } from '../../domain/views/git-operations.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import type { Entry, Updated } from '../../stores/store.ts'
import type { Git, GitAnswer } from '../../workspace/git/git.ts'
import type { LeftOut, Snapshots, TreeEntry } from '../../workspace/workspace.ts'
import type { ForkAsk, Forked } from '../engine.ts'
import { roomsOf } from '../git/plan-worktree.ts'
import { declaredScopes, MissingChanges, readChanges, standingNow } from '../rollback/attempt-changes.ts'
import { entriesAfter, followFiles } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { type Writing, writerOf } from '../write-order.ts'
import { type ForkPoint, forkPoint, importedFrom, withInputs, withModel } from './fork-point.ts'

// The files of a fork. Paths that the plan wrote are known exactly, from the change sets of its journal. All other files are as they were
// if a snapshot was taken at that entry, else as they are now. In a repository, the folder is a worktree with a branch of its own.

interface FilesThen {
  readonly base: Sha256
  readonly instead: ReadonlyMap<string, TreeEntry | null>
  readonly others: 'then' | 'now'
  readonly unseen: readonly TaskName[]
  readonly commit: string
}

type Answer<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly failure: Failure }

/** `own` are the rooms of the origin, which is not changed. */
async function filesThen(
  own: Rooms,
  now: PlanState,
  entries: readonly Entry[],
  { version, then }: ForkPoint,
): Promise<Answer<{ readonly files: FilesThen }>> {
  const stored = storedAt(entries, version)
  const standing = stored === null ? await standingNow(own, now) : { snapshot: stored }
  if (standing.snapshot === undefined)
    return {
      ok: false,
      failure: { class: 'resource', message: `the files cannot be stored: ${standing.lacks}`, retryable: true },
    }
  // Anything written while the snapshot was taken is in the journal by now, or belongs to an open visit.
  const all = [...entries, ...(await entriesAfter(own.store, now.id, entries.at(-1)?.version ?? 0))]
  const instead = await writtenThen(own, all, version, then)
  const commit = headThen(all, version, now.definition.name)
  const unseen = unseenSince(all, version, now)
  return {
    ok: true,
    files: { base: standing.snapshot, instead, others: stored === null ? 'now' : 'then', unseen, commit },
  }
}

function storedAt(entries: readonly Entry[], version: number): Sha256 | null {
  const events = entries.find(entry => entry.version === version)?.events ?? []
  for (const event of events.toReversed()) {
    if (event.type === 'checkpoint.taken' && event.standing.snapshot !== undefined) return event.standing.snapshot
    if (event.type === 'attempt.succeeded' && event.result.wrote?.snapshot !== undefined)
      return event.result.wrote.snapshot
  }
  return null
}

/** For every path the plan wrote: its content by then, or from before the plan's first change. */
async function writtenThen(
  own: Rooms,
  entries: readonly Entry[],
  version: number,
  then: PlanState,
): Promise<ReadonlyMap<string, TreeEntry | null>> {
  // A visit that was open then starts again with its captured files.
  const stands = (entry: Entry, event: Event) => entry.version <= version && !isBegunAnew(then, event)
  const at = await followFiles(entries, changes => readChanges(own, changes), stands)
  const open = new Map<string, { readonly preimage?: Sha256; readonly before?: Sha256 }>()
  for (const { events } of entries) for (const event of events) followVisit(open, event)
  for (const { preimage, before } of open.values()) {
    const found =
      preimage !== undefined
        ? await own.workspace.changesSince(preimage)
        : before !== undefined
          ? await own.snapshots?.diff(before, 'now')
          : undefined
    if (found?.ok !== true) continue
    for (const { path, before: was } of found.changes) if (!at.has(path)) at.set(path, was)
  }
  return at
}

function followVisit(open: Map<string, { readonly preimage?: Sha256; readonly before?: Sha256 }>, event: Event): void {
  if (event.type === 'attempt.started') {
    const { preimage, before } = event
    const key = `${event.task}/${event.visit}`
    if (open.has(key) || (preimage === undefined && before === undefined)) return
    open.set(key, { ...(preimage && { preimage }), ...(before && { before }) })
  } else if ('visit' in event && wroteIn(event) !== undefined) open.delete(`${event.task}/${event.visit}`)
}

function isBegunAnew(then: PlanState, event: Event): boolean {
  if (!isAttemptEnd(event)) return false
  const task = then.tasks.get(event.task)
  const isOpen = task?.status === 'ready' || task?.status === 'running' || (task?.status === 'failed' && !task.handled)
  return isOpen && task?.visit === event.visit && task.prepared?.preimage !== undefined
}

/** The plan's last commit by then, or the last known HEAD. */
function headThen(entries: readonly Entry[], version: number, name: PlanName): string {
  const until = entries.filter(entry => entry.version <= version)
  const own = gitOperationsOf(until).findLast(one => 'ref' in one && one.ref === `refs/heads/plan/${name}`)
  if (own !== undefined && 'after' in own && own.after !== null) return own.after
  const heads = until.flatMap(({ events }) =>
    events.flatMap(event => {
      if (event.type === 'checkpoint.taken') return event.standing.git?.head ?? []
      return 'result' in event ? (event.result.wrote?.git?.head ?? []) : []
    }),
  )
  return heads.at(-1) ?? 'HEAD'
}

function unseenSince(entries: readonly Entry[], version: number, now: PlanState): readonly TaskName[] {
  const names = entries
    .filter(entry => entry.version > version)
    .flatMap(({ events }) => events)
    .flatMap(event => {
      if (event.type !== 'attempt.succeeded' && event.type !== 'attempt.failed') return []
      const definition = now.tasks.get(event.task)?.definition
      if (definition === undefined || definition.effect === 'pure') return []
      const { action } = definition
      const mayWrite = action.type === 'external' || sandboxedCommand(action) !== null
      return event.result.wrote === undefined && mayWrite ? [event.task] : []
    })
  return [...new Set(names)]
}

interface Settled {
  readonly kind: 'folder' | 'worktree'
  readonly place: string
  readonly files: number
  readonly left: readonly LeftOut[]
  /** Untracked files that the plan did not write: copied as well. */
  readonly uncommitted: readonly string[]
  readonly operations: readonly GitOperation[]
  readonly why?: string
}

interface Settling {
  readonly rooms: Rooms
  readonly own: Rooms
  readonly plan: PlanId
  readonly name: PlanName
  readonly actor: Actor
  readonly at: Millis
}

const folderOf = ({ stateDir }: Pick<Rooms, 'stateDir'>, name: string): string => join(stateDir, 'work', name)

const isFree = (rooms: Rooms, name: string): boolean =>
  lstatSync(folderOf(rooms, name), { throwIfNoEntry: false }) === undefined

async function settle(settling: Settling, files: FilesThen): Promise<Answer<{ readonly settled: Settled }>> {
  const { own, rooms, name } = settling
  const ground = await own.git?.ground()
  const isRepository = own.git !== undefined && ground?.ok === true && ground.value.commit !== null
  const worktree = isRepository ? await inWorktree(settling, own.git, ground.value.top, files) : null
  if (worktree?.ok === true) return worktree
  if (worktree !== null && !worktree.insteadAFolder) return worktree
  if (own.snapshots === undefined)
    return {
      ok: false,
      failure: { class: 'policy', message: 'this engine was opened without file snapshots', retryable: false },
    }
  const folder = folderOf(rooms, name)
  const made = await own.snapshots.materialise(files.base, folder, files.instead)
  if (!made.ok) return made
  const why = worktree === null ? {} : { why: worktree.failure.message }
  const place = relative(rooms.root, folder)
  return {
    ok: true,
    settled: { kind: 'folder', place, files: made.files, left: made.left, uncommitted: [], operations: [], ...why },
  }
}

type NoWorktree = { readonly ok: false; readonly failure: Failure; readonly insteadAFolder: boolean }

async function inWorktree(
  { rooms, own, plan, name, actor, at }: Settling,
  git: Git,
  top: string,
  files: FilesThen,
): Promise<{ readonly ok: true; readonly settled: Settled } | NoWorktree> {
  const folder = folderOf(rooms, name)
  const branch = await withBase(files.commit, base => git.ensureBranch({ plan, name, base, at }))
  if (!branch.ok) return { ...branch, insteadAFolder: false }
  const added = await git.addWorktree({ plan, name, base: branch.value.tip, folder: dirname(folder), at })
  if (!added.ok) {
    // For example because of filters, which are never run here. Then the branch is useless.
    await git.rollback({ plan, name, actor, operations: [branch.value.operation], at })
    return { ...added, insteadAFolder: true }
  }
  // If the workspace is a folder of the repository, the same folder of the worktree.
  const inside = join(folder, relative(top, realpathSync(own.root)))
  mkdirSync(inside, { recursive: true })
  const place = relative(rooms.root, inside)
  const there = rooms.at?.(place)
  const laid = there?.snapshots === undefined ? null : await writeInto(there.snapshots, files)
  if (laid === null) throw new Error('bug: these rooms cannot look at the files of a place')
  if (!laid.ok) return { ...laid, insteadAFolder: false }
  const { operations } = added.value
  const { files: count, left, uncommitted } = laid
  return { ok: true, settled: { kind: 'worktree', place, files: count, left, uncommitted, operations } }
}

/** From the commit of that time; from HEAD if that is gone. */
async function withBase<T>(commit: string, ask: (base: string) => Promise<GitAnswer<T>>): Promise<GitAnswer<T>> {
  const answer = await ask(commit)
  return answer.ok || commit === 'HEAD' ? answer : await ask('HEAD')
}

/** Writes the files into a fresh worktree; ignored files stay as checked out. */
async function writeInto(
  snapshots: Snapshots,
  { base, instead }: FilesThen,
): Promise<Answer<Pick<Settled, 'files' | 'left' | 'uncommitted'>>> {
  const taken = await snapshots.snapshot()
  if (!taken.ok) return taken
  const found = await snapshots.diff(taken.manifest, base)
  if (!found.ok) return found
  const have = new Map(found.changes.map(({ path, before }) => [path, before] as const))
  const want = new Map<string, TreeEntry | null>(found.changes.map(({ path, after }) => [path, after] as const))
  const others = [...instead.keys()].filter(path => !have.has(path))
  const looked = await snapshots.entries(taken.manifest, others)
  if (!looked.ok) return looked
  for (const { path, entry } of looked.entries) have.set(path, entry)
  for (const [path, entry] of instead) want.set(path, entry)
  const target = await snapshots.compose(want)
  if (!target.ok) return target
  const laid = await snapshots.rollback(target.manifest, have)
  if (!laid.ok) return laid
  await snapshots.settled()
  const uncommitted = found.changes.flatMap(({ path, before, after }) =>
    before === null && after !== null && after.type !== 'directory' && !instead.has(path) ? [path] : [],
  )
  return { ok: true, files: taken.files, left: [...found.left, ...laid.left], uncommitted }
}

export type Forking =
  | { readonly ok: true; readonly updated: Extract<Updated, { ok: true }>; readonly fork: Forked }
  | { readonly ok: false; readonly refusal: Refusal }

const NAMED_MAX = 20

export async function fork(rooms: Rooms, now: PlanState, ask: ForkAsk, writing: Writing): Promise<Forking> {
  const { actor, once } = writing
  if (now.rollback !== null)
    return no(
      'not-ready',
      'a rollback is under way',
      advise`let it end first: ${next('resume', { plan: now.definition.name })}`,
    )
  const entries = await entriesAfter(rooms.store, now.id, 0)
  const point = forkPoint(entries, ask.from)
  if ('code' in point) return { ok: false, refusal: point }
  const defined = definitionFor(point, ask)
  if ('code' in defined) return { ok: false, refusal: defined }
  if (usesTaskWorktrees(defined))
    return no(
      'not-supported',
      "a plan whose tasks work in worktrees of their own ('git: {worktree: task}') cannot be forked yet",
      `make another plan that begins where this one stands: git: {base: plan/${now.definition.name}}`,
    )
  if (ask.here === true && defined.git?.worktree === 'plan')
    return no('conflict', 'this plan works in a worktree of its own', 'leave out --here')
  const named = await freeName(rooms, now, ask)
  if (typeof named !== 'string') return { ok: false, refusal: named }

  const plan = planId(rooms.clock.now(), rooms.random(10))
  const at = rooms.clock.now()
  const own = roomsOf(rooms, now)
  const files = ask.here === true ? null : await tryFiles(() => filesThen(own, now, entries, point))
  if (files?.ok === false) return { ok: false, refusal: refusalOf(files.failure) }
  const settled =
    files === null ? null : await tryFiles(() => settle({ rooms, own, plan, name: named, actor, at }, files.files))
  if (settled?.ok === false) return { ok: false, refusal: refusalOf(settled.failure) }

  const definition: PlanDefinition = { ...defined, name: named }
  const imported = importedFrom(point.then, definition, ask)
  const place = settled?.settled.place
  // All files at the start, so that changes are known whoever makes them.
  const start =
    place === undefined
      ? undefined
      : await rooms.at?.(place).snapshots?.snapshot({ scopes: declaredScopes(definition) })
  const updated = await rooms.store.create(
    {
      type: 'create',
      plan,
      definition,
      hash: definitionHash(definition),
      origin: now.id,
      forkedAt: point.version,
      ...(now.session === null ? {} : { session: now.session }),
      ...(now.goal === null ? {} : { goal: now.goal }),
      ...(now.agent === null ? {} : { agent: now.agent }),
      source: ask.source,
      writer: writerOf(writing, { whole: true }),
      others: ask.source?.dialect === 'planfold' ? undefined : othersIn(point.then),
      ...(imported.length === 0 ? {} : { imported }),
      place,
      ...(start?.ok === true ? { start: start.manifest } : {}),
    },
    actor,
    once === undefined ? {} : { once },
  )
  if (!updated.ok) return { ok: false, refusal: leavingFolder(updated.refusal, rooms, settled?.settled ?? null, named) }
  const operations = settled?.settled.operations ?? []
  if (operations.length > 0) await rooms.store.update(plan, { type: 'place', operations }, { actor })
  return { ok: true, updated, fork: forkedFrom(point, updated.state, settled?.settled ?? null, files?.files ?? null) }
}

function definitionFor({ then }: ForkPoint, ask: ForkAsk): PlanDefinition | Refusal {
  const base = ask.definition === undefined ? then.definition : keepItems(then.definition, ask.definition)
  const ended = new Set<TaskName>(
    importedFrom(then, base, ask).flatMap(({ task, status }) => (ENDED.has(status) ? [task] : [])),
  )
  const changed = withInputs(base, ask.inputs ?? {}, ended)
  if ('code' in changed) return changed
  const asking = ask.model === undefined ? changed : withModel(changed, ask.model, ended)
  return 'code' in asking ? asking : (refuseGraph(asking) ?? asking)
}

async function freeName(rooms: Rooms, now: PlanState, ask: ForkAsk): Promise<PlanName | Refusal> {
  const isTaken = async (name: string): Promise<boolean> =>
    (await rooms.store.find(name)) !== null || (ask.here !== true && !isFree(rooms, name))
  if (ask.name !== undefined) {
    if (!isPlanName(ask.name))
      return refuse('invalid', `'${ask.name}' cannot be the name of a plan`, 'use letters, digits, dots and dashes')
    if (!(await isTaken(ask.name))) return ask.name
    return refuse('exists', `there is a plan '${ask.name}' already, or a folder of its name`, 'choose another name')
  }
  const base = `${now.definition.name.slice(0, NAME_MAX - 10)}-fork`
  for (let tries = 1; tries <= NAME_TRIES_MAX; tries++) {
    const name = tries === 1 ? base : `${base}-${tries}`
    if (!(await isTaken(name))) return name as PlanName
  }
  return refuse('limit', `no free name was found for a fork of '${now.definition.name}'`, 'choose one with --name')
}

function forkedFrom(
  { version }: ForkPoint,
  state: PlanState,
  settled: Settled | null,
  files: { readonly others: 'then' | 'now'; readonly unseen: readonly TaskName[] } | null,
): Forked {
  const ended = state.order.filter(({ status }) => ENDED.has(status))
  return {
    from: version,
    ended: ended.map(({ definition }) => definition.id),
    open: state.order.filter(task => !ended.includes(task)).map(({ definition }) => definition.id),
    works:
      settled === null
        ? { in: 'workspace' }
        : {
            in: settled.kind,
            place: settled.place,
            files: settled.files,
            left: { paths: settled.left.length, first: settled.left.slice(0, NAMED_MAX) },
            others: files?.others ?? 'now',
            unseen: (files?.unseen ?? []).slice(0, NAMED_MAX),
            uncommitted: { paths: settled.uncommitted.length, first: settled.uncommitted.slice(0, NAMED_MAX) },
            why: settled.why,
          },
  }
}

/** A missing change set is a failure, not a bug. */
async function tryFiles<T>(work: () => Promise<T>): Promise<T | { readonly ok: false; readonly failure: Failure }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MissingChanges)) throw error
    const hint = advise`run ${quoted('check', { readData: true })}`
    return { ok: false, failure: { class: 'resource', message: error.message, hint, retryable: false } }
  }
}

const refusalOf = ({ message, hint }: Failure): Refusal => refuse('conflict', `cannot fork: ${message}`, hint)

function leavingFolder(refusal: Refusal, rooms: Rooms, settled: Settled | null, name: string): Refusal {
  if (settled === null) return refusal
  return {
    ...refusal,
    message: `${refusal.message}; the folder ${folderOf(rooms, name)} was made and belongs to no plan`,
  }
}

const no = (code: Refusal['code'], message: string, hint: Hint): Forking => ({
  ok: false,
  refusal: refuse(code, message, hint),
})
