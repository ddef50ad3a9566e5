// May an agent write to a path? Allowed inside the write scope of a task it has claimed, and never where no task may write. An agent
// without a claim is not judged. Paths are resolved through links and past missing parts.
//
// This keeps a cooperative agent to its task. It is no security boundary: commands are not checked here.

import { join, relative, resolve } from 'node:path'
import type { TaskName } from '../../../domain/id.ts'
import type { Engine } from '../../../engine/engine.ts'
import { claimedTasks } from '../../../operations/agents/claimed-tasks.ts'
import { stateInside } from '../../../safety/files/path-gate.ts'
import { protectedBy } from '../../../safety/files/protected-path.ts'
import { realTarget } from '../../../safety/files/real-path.ts'
import { inScope } from '../../../safety/scope.ts'

export interface ClaimedScope {
  readonly plan: string
  readonly task: TaskName
  /** Null: no restriction within its folder. */
  readonly write: readonly string[] | null
  /** The folder it works in, relative to the workspace; null: the workspace itself. */
  readonly place: string | null
}

export async function claimedScopes(
  engine: Pick<Engine, 'ask'>,
  agents: readonly string[],
): Promise<readonly ClaimedScope[]> {
  const scopes: ClaimedScope[] = []
  for (const { plan, task } of await claimedTasks(engine, agents)) {
    const briefing = await engine.ask({ type: 'briefing', plan, task })
    const summary = await engine.ask({ type: 'summary', plan })
    if (briefing === null || summary === null) continue
    scopes.push({ plan: summary.name, task, write: briefing.write, place: summary.place })
  }
  return scopes
}

export interface DeniedWrite {
  readonly path: string
  readonly scope: ClaimedScope
  /** The rule that protects it; null if it is only outside the scope. */
  readonly rule: string | null
}

export interface GuardedFolders {
  readonly root: string
  readonly stateDir: string
  /** The base of relative paths. */
  readonly cwd: string
}

/** The first path that none of the tasks may write; null if all may be written, or no task is claimed. */
export async function deniedWrite(
  folders: GuardedFolders,
  scopes: readonly ClaimedScope[],
  paths: readonly string[],
): Promise<DeniedWrite | null> {
  if (scopes.length === 0) return null
  const places = await Promise.all(scopes.map(async scope => await placeOf(folders, scope)))
  const root = await realTarget(folders.root)
  for (const path of paths) {
    // Programs may normalise `link/../file` before opening it and the system does not, so both must be allowed.
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
  /** The state folder, relative to it. */
  readonly state: readonly string[] | null
  readonly write: readonly string[] | null
}

async function placeOf({ root, stateDir }: GuardedFolders, { place, write }: ClaimedScope): Promise<Place> {
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
  // A task without a scope does not restrict files outside this workspace.
  if (inside === null) return write === null && root !== null && within(root, target) === null ? 'allowed' : 'outside'
  const rule = protectedBy(inside.split('/'), state)
  if (rule !== null) return { rule }
  return inScope(write, inside) ? 'allowed' : 'outside'
}

/** The path relative to the folder; null if it is outside. */
function within(folder: string, path: string): string | null {
  const inside = relative(folder, path)
  return inside === '..' || inside.startsWith('../') ? null : inside
}
