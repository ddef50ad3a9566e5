// Forks a plan: a new plan that goes on from where another one stood, in a folder of its own with the files of then. The other
// plan and its folder are only read. The folder is made before the plan, so that a plan that is there always has one.

import { refuseGraph } from '../domain/decisions/lifecycle.ts'
import { worksApart } from '../domain/effect.ts'
import { isPlanName, NAME_MAX, type PlanName, planId, type TaskName } from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import { NAME_TRIES_MAX } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Failure } from '../domain/result.ts'
import type { PlanState } from '../domain/state.ts'
import { ENDED } from '../domain/status.ts'
import { definitionHash } from '../format/hash.ts'
import type { Updated } from '../stores/store.ts'
import type { ForkAsk, Forked } from './engine.ts'
import { declaredScopes, MissingChanges } from './footprint.ts'
import { filesThen, folderOf, isFree, type Settled, settle } from './fork-files.ts'
import { type ForkPoint, forkPoint, importedFrom, withInputs, withModel } from './fork-point.ts'
import { roomsOf } from './places.ts'
import type { Rooms } from './rooms.ts'
import type { Writing } from './submitting.ts'
import { entriesAfter } from './written.ts'

export type Forking =
  | { readonly ok: true; readonly updated: Extract<Updated, { ok: true }>; readonly fork: Forked }
  | { readonly ok: false; readonly refusal: Refusal }

/** So many paths and tasks are named. */
const TOLD_MAX = 20

/** `rooms` are those of the workspace. */
export async function fork(rooms: Rooms, now: PlanState, ask: ForkAsk, { actor, once }: Writing): Promise<Forking> {
  if (now.rollback !== null)
    return no('not-ready', 'a rollback is under way', `let it end first: planfold resume ${now.definition.name}`)
  const entries = await entriesAfter(rooms.store, now.id, 0)
  const point = forkPoint(entries, ask.from)
  if ('code' in point) return { ok: false, refusal: point }
  const defined = definitionFor(point, ask)
  if ('code' in defined) return { ok: false, refusal: defined }
  if (worksApart(defined))
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
  // What it begins with, so that what it changes is known whoever changes it.
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
      ...(ask.source === undefined ? {} : { source: ask.source }),
      ...(imported.length === 0 ? {} : { imported }),
      ...(place === undefined ? {} : { place }),
      ...(start?.ok === true ? { start: start.manifest } : {}),
    },
    actor,
    once === undefined ? {} : { once },
  )
  if (!updated.ok) return { ok: false, refusal: leavingFolder(updated.refusal, rooms, settled?.settled ?? null, named) }
  const operations = settled?.settled.operations ?? []
  if (operations.length > 0) await rooms.store.update(plan, { type: 'place', operations }, { actor })
  return { ok: true, updated, fork: told(point, updated.state, settled?.settled ?? null, files?.files ?? null) }
}

/** The definition of then, or another one, with what was asked for. */
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

function told(
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
            left: { paths: settled.left.length, first: settled.left.slice(0, TOLD_MAX) },
            others: files?.others ?? 'now',
            unseen: (files?.unseen ?? []).slice(0, TOLD_MAX),
            uncommitted: { paths: settled.uncommitted.length, first: settled.uncommitted.slice(0, TOLD_MAX) },
            ...(settled.why === undefined ? {} : { why: settled.why }),
          },
  }
}

/** A change set that is missing is the world's no. */
async function tryFiles<T>(work: () => Promise<T>): Promise<T | { readonly ok: false; readonly failure: Failure }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MissingChanges)) throw error
    const hint = 'run `planfold check --read-data`'
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

const no = (code: Refusal['code'], message: string, hint: string): Forking => ({
  ok: false,
  refusal: refuse(code, message, hint),
})
