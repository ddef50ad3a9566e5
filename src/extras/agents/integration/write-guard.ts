// May an agent write there? Judged by the tasks it has claimed: inside the write scope of one of them, and never where no task may
// write. Who has claimed nothing is not judged. Paths are judged by where they lead, through links and past what is not there yet.
//
// This keeps an honest agent to its task. It is no wall: what a command writes does not come by here.

import { join, relative, resolve } from 'node:path'
import type { TaskName } from '../../../domain/id.ts'
import type { Engine } from '../../../engine/engine.ts'
import { claimedTasks } from '../../../operations/agents/claimed-tasks.ts'
import { stateInside } from '../../../safety/files/path-gate.ts'
import { protectedBy } from '../../../safety/files/protected-path.ts'
import { realTarget } from '../../../safety/files/real-path.ts'
import { inScope } from '../../../safety/scope.ts'

/** What a claimed task may write, and in which folder. */
export interface HeldScope {
  readonly plan: string
  readonly task: TaskName
  /** Null: wherever its folder reaches. */
  readonly write: readonly string[] | null
  /** The folder it works in, relative to the workspace; null: the workspace itself. */
  readonly place: string | null
}

/** Of all tasks that these names have claimed. */
export async function heldScopes(
  engine: Pick<Engine, 'ask'>,
  agents: readonly string[],
): Promise<readonly HeldScope[]> {
  const scopes: HeldScope[] = []
  for (const { plan, task } of await claimedTasks(engine, agents)) {
    const briefing = await engine.ask({ type: 'briefing', plan, task })
    const summary = await engine.ask({ type: 'summary', plan })
    if (briefing === null || summary === null) continue
    scopes.push({ plan: summary.name, task, write: briefing.write, place: summary.place })
  }
  return scopes
}

export interface DeniedWrite {
  /** As the agent wrote it. */
  readonly path: string
  readonly scope: HeldScope
  /** The rule that protects it; null when it is only outside the scope. */
  readonly rule: string | null
}

export interface GuardedFolders {
  readonly root: string
  readonly stateDir: string
  /** What relative paths begin at. */
  readonly cwd: string
}

/** The first of these paths that none of the tasks may write; null when all may be written, or no task is held. */
export async function deniedWrite(
  folders: GuardedFolders,
  scopes: readonly HeldScope[],
  paths: readonly string[],
): Promise<DeniedWrite | null> {
  if (scopes.length === 0) return null
  const places = await Promise.all(scopes.map(async scope => await placeOf(folders, scope)))
  const root = await realTarget(folders.root)
  for (const path of paths) {
    // Programs shorten `link/../file` before they open it, the system does not: both must be allowed.
    const raw = path.startsWith('/') ? path : `${folders.cwd}/${path}`
    for (const target of new Set([await realTarget(raw), await realTarget(resolve(raw))])) {
      const verdicts = places.map(place => judge(place, target, root))
      if (verdicts.includes('allowed')) continue
      const at = verdicts.findIndex(verdict => typeof verdict === 'object')
      const verdict = verdicts[at]
      const rule = typeof verdict === 'object' ? verdict.rule : null
      return { path, scope: scopes[Math.max(at, 0)]!, rule }
    }
  }
  return null
}

interface Place {
  readonly base: string | null
  /** Where in it the state folder is. */
  readonly state: readonly string[] | null
  readonly write: readonly string[] | null
}

async function placeOf({ root, stateDir }: GuardedFolders, { place, write }: HeldScope): Promise<Place> {
  const folder = place === null ? root : join(root, place)
  return { base: await realTarget(folder), state: await stateInside({ root: folder, stateDir }), write }
}

function judge(
  { base, state, write }: Place,
  target: string | null,
  root: string | null,
): 'allowed' | 'outside' | { readonly rule: string } {
  if (base === null || target === null) return 'outside'
  const inside = within(base, target)
  // A task without a scope says nothing about files that have nothing to do with this workspace.
  if (inside === null) return write === null && root !== null && within(root, target) === null ? 'allowed' : 'outside'
  const rule = protectedBy(inside.split('/'), state)
  if (rule !== null) return { rule }
  return inScope(write, inside) ? 'allowed' : 'outside'
}

/** The path below the folder; null when it leads elsewhere. */
function within(folder: string, path: string): string | null {
  const inside = relative(folder, path)
  return inside === '..' || inside.startsWith('../') ? null : inside
}
