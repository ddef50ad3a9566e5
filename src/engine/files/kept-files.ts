// Backups: versions of files that a retry, rollback, adoption or restore replaced. Listed from the journal, and restored with the same
// steps as a rollback, which overwrite a person's later changes only if the caller chose that.

import type { Event } from '../../domain/event.ts'
import { advise, type Hint, next } from '../../domain/hint.ts'
import type { Actor, Millis, PlanId, Sha256, TaskName } from '../../domain/id.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { inScope } from '../../safety/scope.ts'
import type { Change, RolledBack } from '../../workspace/workspace.ts'
import type { RestoreAsk, Submitted } from '../orders.ts'
import type { KeptFile } from '../queries.ts'
import { keepChanges, readChanges } from '../rollback/attempt-changes.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { type Writing, write } from '../write-order.ts'
import { overwrittenIn } from './overwritten-edits.ts'
import { refuseReservedFiles, reservedFailure } from './reserved-files.ts'
import { unrecordedRestores } from './restore-scope.ts'

// An interrupted rollback or restore of files. The workspace completes it and remembers the result until it is recorded in the plan's
// journal. The next operation records it first, so that the replaced versions are not lost.

type Finished = Extract<RolledBack, { ok: true }>

interface About {
  readonly plan?: PlanId
  readonly rollback?: string
  readonly restore?: PlanId
  readonly by?: Actor
}

const FILES_NAMED_MAX = 100

const aboutRestore = (plan: PlanId, by: Actor): string => JSON.stringify({ restore: plan, by } satisfies About)

/** Records an interrupted operation. Returns the plan whose rollback must be completed first, or null. */
export async function settleUnfinished(rooms: Rooms, { about, ...done }: Finished): Promise<string | null> {
  const { plan, rollback, restore, by } = JSON.parse(about ?? '{}') as About
  if (restore !== undefined) {
    await recordRestore(rooms, restore, { about, ...done }, { actor: by ?? ('engine' as Actor) })
    return null
  }
  const state = plan === undefined ? null : await rooms.store.state(plan)
  if (state !== null && state.rollback?.id === rollback) return state.definition.name
  await rooms.snapshots?.settled()
  return null
}

async function recordRestore(rooms: Rooms, plan: PlanId, { changed, saved }: Finished, writing: Writing) {
  const changes = await keepChanges(rooms, changed)
  if (changes === null) {
    await rooms.snapshots?.settled()
    return null
  }
  const files = changed.slice(0, FILES_NAMED_MAX).map(({ path }) => path)
  const { actor, once } = writing
  const command = { type: 'restore', changes, saved, paths: changed.length, files, by: actor as string } as const
  const submitted = await write(rooms, plan, command, { actor, once })
  if (submitted.ok) await rooms.snapshots?.settled()
  return submitted
}

/** Oldest first: a restore takes the last version of a path. */
export async function keptFiles(rooms: Rooms, state: PlanState): Promise<readonly KeptFile[]> {
  const kept: KeptFile[] = []
  for (const { now, events } of await entriesAfter(rooms.store, state.id, 0))
    for (const event of events) kept.push(...(await keptBy(rooms, event, now)))
  for (const task of state.order) {
    for (const { saved, made } of unrecordedRestores(rooms, state, task)) {
      const compared = await rooms.workspace.compare(saved, made)
      const by = { at: state.updatedAt, by: 'retry' as const, task: task.definition.id }
      if (compared.ok) kept.push(...versionsIn(compared.changes, by))
    }
  }
  return kept
}

async function keptBy(rooms: Rooms, event: Event, at: Millis): Promise<readonly KeptFile[]> {
  switch (event.type) {
    case 'workspace.restored': {
      const compared = await rooms.workspace.compare(event.saved, event.to)
      return compared.ok ? versionsIn(compared.changes, { at, by: 'retry', task: event.task }) : []
    }
    case 'attempt.succeeded':
    case 'attempt.failed': {
      const { changes = null, overwrote } = event.result.wrote ?? {}
      if (changes === null || overwrote === undefined) return []
      return versionsIn(overwrittenIn(await readChanges(rooms, changes), overwrote), {
        at,
        by: 'task',
        task: event.task,
      })
    }
    case 'files.restored':
      return versionsIn(await readChanges(rooms, event.changes), { at, by: 'restore', task: null })
    case 'rollback.finished': {
      const by = { at, by: event.adopted === undefined ? ('rollback' as const) : ('adopt' as const), task: null }
      const replaced = event.changes === null ? [] : await readChanges(rooms, event.changes)
      const known = new Set(
        replaced.map(({ path, before }) => `${path}\n${before?.type === 'file' ? before.sha256 : ''}`),
      )
      const others = (event.kept ?? []).filter(({ path, sha256 }) => !known.has(`${path}\n${sha256}`))
      return [...versionsIn(replaced, by), ...(await Promise.all(others.map(one => keptContent(rooms, one, by))))]
    }
    default:
      return []
  }
}

type Replaced = Pick<KeptFile, 'at' | 'by' | 'task'>

const versionsIn = (changes: readonly Change[], by: Replaced): readonly KeptFile[] =>
  changes.flatMap(({ path, before, after }) =>
    before?.type === 'directory' || (before === null && after?.type === 'directory')
      ? []
      : [{ ...by, path, kept: before, instead: after }],
  )

/** A version known by its content only, because no manifest names it. */
async function keptContent(
  rooms: Rooms,
  { path, sha256 }: { readonly path: string; readonly sha256: Sha256 },
  by: Replaced,
): Promise<KeptFile> {
  const size = (await rooms.store.blobs.get(sha256))?.length ?? 0
  return { ...by, path, kept: { type: 'file', mode: 0o644, size, sha256 }, instead: null }
}

export async function restoreFiles(
  rooms: Rooms,
  state: PlanState,
  ask: RestoreAsk,
  writing: Writing,
): Promise<Submitted> {
  const { snapshots } = rooms
  if (snapshots === undefined) return no('not-supported', 'this engine was opened without file snapshots')
  const unfinished = await refuseUnfinished(rooms)
  if (unfinished !== null) return unfinished
  const versions = await keptFiles(rooms, state)
  const wanted: KeptFile[] = []
  for (const path of new Set(ask.paths)) {
    const busy = writerOf(state, path)
    if (busy !== null)
      return no(
        'not-ready',
        `'${busy}' is running and may write '${path}'`,
        'wait until it has ended, or pause the plan',
      )
    // What an earlier restore replaced must be named by its hash: otherwise asking twice would take the work away again.
    const found = versions.findLast(
      one => one.path === path && (ask.hash === undefined ? one.by !== 'restore' : hasHash(one, ask.hash)),
    )
    if (found === undefined) return no('not-found', `no version of '${path}' is kept`, 'the list shows what is')
    wanted.push(found)
  }
  if (wanted.length === 0) return no('invalid', 'no path is named', 'name one of the kept paths')
  const refusal = await refuseReservedFiles(rooms, state, ask.paths)
  if (refusal !== null) return { ok: false, refusal }
  const target = await snapshots.compose(wanted.map(({ path, kept }) => [path, kept] as const))
  if (!target.ok) return no('conflict', target.failure.message, target.failure.hint)
  const writeSet = wanted.map(({ path, instead }) => [path, instead] as const)
  const previewed = await snapshots.preview(target.manifest, writeSet)
  if (!previewed.ok) return no('conflict', previewed.failure.message, previewed.failure.hint)
  const conflicts = previewed.paths.filter(({ conflict }) => conflict !== undefined).map(({ path }) => path)
  if (conflicts.length > 0 && ask.every === undefined)
    return {
      ok: false,
      refusal: refuse(
        'conflict',
        `${conflicts.slice(0, 10).join(', ')}${conflicts.length > 10 ? ` and ${conflicts.length - 10} more` : ''} changed since; nothing was restored`,
        'use the backed-up version (the current one is backed up then), or merge both',
        conflicts,
      ),
    }
  const every = ask.every
  const choices = every === undefined ? [] : conflicts.map(path => [path, every] as const)
  const restored = await snapshots.rollback(target.manifest, writeSet, {
    choices,
    about: aboutRestore(state.id, writing.actor),
    refuse: () => reservedFailure(rooms, state, ask.paths),
  })
  if (!restored.ok) return no('conflict', restored.failure.message, restored.failure.hint)
  const submitted = await recordRestore(rooms, state.id, restored, writing)
  // The file already has that content.
  return submitted ?? { ok: true, plan: state.id, name: state.definition.name, version: state.version, events: [] }
}

const no = (code: Refusal['code'], message: string, hint?: Hint): Submitted => ({
  ok: false,
  refusal: refuse(code, message, hint),
})

const hasHash = ({ kept }: KeptFile, hash: string | undefined): boolean =>
  hash === undefined || (kept?.type === 'file' && hash.length >= HASH_MIN && kept.sha256.startsWith(hash.toLowerCase()))

const HASH_MIN = 4

function writerOf(state: PlanState, path: string): TaskName | null {
  for (const { definition } of state.running) {
    const scope = scopeOf(state.definition, definition)
    if (scope !== null && inScope(scope, path)) return definition.id
  }
  return null
}

/** Completes and records an interrupted operation first; refuses if another plan must do that, or it fails. */
async function refuseUnfinished(rooms: Rooms): Promise<Submitted | null> {
  const begun = await rooms.snapshots?.resume()
  if (begun == null) return null
  if (!begun.ok) return no('conflict', begun.failure.message, begun.failure.hint)
  const plan = await settleUnfinished(rooms, begun)
  if (plan === null) return null
  return no(
    'not-ready',
    `a rollback of '${plan}' was cut off in this workspace`,
    advise`finish it first: ${next('resume', { plan })}`,
  )
}
