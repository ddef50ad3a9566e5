// The files that a task reserves before it starts, across all plans of a workspace, and who holds them. Checked here before files are
// captured, and again inside the transaction that starts the attempt (stores/leases/reservations.ts).

import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { actionFacts } from '../../domain/actions/actions.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { orElse } from '../../domain/json.ts'
import { needsReservation, reservedScope } from '../../domain/reservation.ts'
import type { Reserves } from '../../domain/result.ts'
import { inLine } from '../../domain/rules/scheduling.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { claimableTasks, perDefinition, perVersion } from '../../domain/state/task-index.ts'
import type { ScopeHolder } from '../../stores/store.ts'

import type { ScopeWait } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

const LINKS_MAX = 40

/**
 * The patterns as declared, and with symbolic links resolved where that differs, so that a folder and a link to it count as the same files.
 * Only the part before the first wildcard can be resolved.
 */
export function realScope(
  { root, stateDir, workspaceId }: Pick<Rooms, 'root' | 'stateDir' | 'workspaceId'>,
  patterns: readonly string[],
): Pick<Reserves, 'root' | 'paths'> {
  const realRoot = realPath(root)
  const paths = new Set<string>()
  for (const pattern of patterns) {
    paths.add(pattern)
    const parts = pattern.split('/')
    const wild = parts.findIndex(part => /[*?[]/.test(part))
    const literal = parts.slice(0, wild < 0 ? parts.length : wild).filter(part => part !== '' && part !== '.')
    const rest = wild < 0 ? (pattern.endsWith('/') ? ['**'] : []) : parts.slice(wild)
    const real = realPath(join(realRoot, ...literal))
    const inside = relative(realRoot, real)
    const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
    const path = [...(isOutside ? real : inside).split(sep), ...rest].join('/')
    const whole = path === '' ? '**' : path
    if (inside !== literal.join(sep)) paths.add(whole)
  }
  // Relative, so that reservations survive moving a project together with its state folder.
  const id = workspaceId?.(realRoot) ?? (relative(realPath(stateDir), realRoot) || '.')
  return { root: id, paths: [...paths] }
}

/** Resolves links of the existing part; the rest is appended by name. */
export function realPath(path: string): string {
  let rest = resolve(path)
    .split(sep)
    .filter(part => part !== '')
  let real: string = sep
  for (let links = 0; rest.length > 0; ) {
    const [part, ...more] = rest as [string, ...string[]]
    const next = join(real, part)
    const target = links < LINKS_MAX ? linkAt(next) : null
    if (target === null) {
      real = next
      rest = more
      continue
    }
    links++
    const to = resolve(dirname(next), target)
      .split(sep)
      .filter(one => one !== '')
    real = sep
    rest = [...to, ...more]
  }
  return real
}

const linkAt = (path: string): string | null =>
  orElse(() => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null), null)

type Reserved = { readonly reserves?: Reserves; readonly waits?: ScopeWait }

/** What the task must reserve at its start, or who holds it. Empty if it declares nothing or has its reservation already. */
export async function reserveScope(rooms: Rooms, state: PlanState, task: TaskState): Promise<Reserved> {
  if (!needsReservation(state, task)) return {}
  const wanted = await wantedBy(rooms, state, task)
  const { holders, seen } = await rooms.store.reservations.holders(state.id, wanted)
  if (holders.length > 0) return { waits: await waitFor(rooms, task, wanted, holders) }
  const { within, ...rest } = wanted
  return { reserves: { ...rest, seen, within } }
}

/** Tasks that could start if other plans had not reserved their files; no more are looked for after `SHOWN_MAX`. */
export async function scopeWaits(rooms: Rooms, state: PlanState): Promise<readonly ScopeWait[]> {
  if (state.status !== 'active') return []
  const waits: ScopeWait[] = []
  const claimable = reservingTasks(state)
  // A blocked task does not block the line, so ask again without it.
  const blocked = new Set<TaskName>()
  for (let found = true; found && blocked.size < SHOWN_MAX; ) {
    found = false
    for (const task of [...(blocked.size === 0 ? claimable : []), ...inLine(state, rooms.clock.now(), blocked)]) {
      if (actionFacts(task.definition.action).changesFiles !== true) continue
      const { waits: wait } = await reserveScope(rooms, state, task)
      if (wait === undefined) continue
      waits.push(wait)
      blocked.add(task.definition.id)
      found = true
    }
  }
  return waits
}

const SHOWN_MAX = 64

const reservingTasks = perVersion(state =>
  declaresScopes(state)
    ? claimableTasks(state)
        .filter(task => needsReservation(state, task))
        .slice(0, SHOWN_MAX)
    : [],
)

const declaresScopes = perDefinition(({ definition: plan, order }) =>
  order.some(({ definition }) => reservedScope(plan, definition).length > 0),
)

export async function stillWaits(rooms: Rooms, state: PlanState, task: TaskState): Promise<ScopeWait | null> {
  const { waits } = await reserveScope(rooms, state, task)
  return waits ?? null
}

type Wanted = Omit<Reserves, 'seen'>

async function wantedBy(rooms: Rooms, state: PlanState, task: TaskState): Promise<Wanted> {
  const scope = realScope(rooms, reservedScope(state.definition, task.definition))
  const within = await enclosingPlans(rooms)
  return within.length === 0 ? scope : { ...scope, within }
}

/** Plans whose tasks run this process and hold reservations: waiting for them would be a deadlock. */
export async function enclosingPlans(rooms: Pick<Rooms, 'environment' | 'store'>): Promise<readonly PlanId[]> {
  const found = await enclosingTask(rooms)
  return found === null ? [] : [found.state.id, ...(found.task.prepared?.reserves?.within ?? [])]
}

/** The running task whose command this process is, by PLANFOLD_KEY; null if there is none. */
export async function enclosingTask({
  environment,
  store,
}: Pick<Rooms, 'environment' | 'store'>): Promise<{ readonly state: PlanState; readonly task: TaskState } | null> {
  const [plan, ...rest] = (environment.PLANFOLD_KEY ?? '').split('/')
  if (plan === undefined || plan === '') return null
  const found = await store.find(plan)
  const state = found === null ? null : await store.state(found.plan)
  const task = state?.tasks.get(rest.slice(0, -1).join('/') as TaskName)
  if (state == null || task?.status !== 'running' || String(task.visit) !== rest.at(-1)) return null
  return { state, task }
}

async function waitFor(
  { store }: Rooms,
  { definition, visit }: TaskState,
  { root, paths }: Wanted,
  holders: readonly ScopeHolder[],
): Promise<ScopeWait> {
  const by = await Promise.all(
    holders.map(async holder => {
      const driven = (await store.leases.holder(holder.plan))?.alive === true
      return { ...holder, driven, orders: driven ? [] : (['resume', 'cancel'] as const) }
    }),
  )
  return { task: definition.id, visit, root, paths, by }
}
