// What a sandboxed command made where it may not write: new names beside the files it declared, or at protected places. It is moved
// away, not deleted, because a person may have made it meanwhile. What another task declares and may write is its own affair.

import { cpSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Millis } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import { heldScope } from '../../domain/plan-rules/effect.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Attempt } from '../../runners/runner.ts'
import { makeFolder, removeTree } from '../../safety/files/directory.ts'
import { codeOf } from '../../safety/safety-refusal.ts'
import { isClosed } from '../../safety/sandbox/workspace-mounts.ts'
import { inScope } from '../../safety/scope.ts'
import type { Rooms } from '../rooms.ts'

const NAMED_MAX = 5
const MOVED_TO = 'outside-scope'

/** The failure it makes of the attempt; null when others may have made all of it. */
export function moveBeyond(
  rooms: Pick<Rooms, 'root' | 'stateDir'>,
  state: PlanState,
  { plan, task, visit, attempt }: Attempt,
  paths: readonly string[],
): Failure | null {
  const others = state.definition.tasks.filter(({ id }) => id !== task)
  const scopes = others.map(other => heldScope(state.definition, other))
  const own = paths.filter(path => !scopes.some(scope => inScope(scope, path) && !isClosed(scope, path)))
  if (own.length === 0) return null
  const to = join(rooms.stateDir, MOVED_TO, plan, `${task}-${visit}-${attempt}`)
  for (const path of own) move(join(rooms.root, path), join(to, path))
  const named = own.slice(0, NAMED_MAX).map(path => `'${path}'`)
  const more = own.length > NAMED_MAX ? ` and ${numberOf(own.length - NAMED_MAX, 'other', 'others')}` : ''
  return {
    class: 'policy',
    code: 'sandbox:write',
    message: `it wrote outside its write scope: ${named.join(', ')}${more}`,
    hint: `what it wrote there was moved to ${to}; add it to \`write\` if the task may write it`,
    retryable: false,
  }
}

/** Removes what was moved away before then, and says of how many attempts. */
export async function pruneMoved(
  { stateDir }: Pick<Rooms, 'stateDir'>,
  { before, dryRun }: { readonly before: Millis; readonly dryRun: boolean },
): Promise<number> {
  const folder = join(stateDir, MOVED_TO)
  let removed = 0
  for (const plan of namesIn(folder)) {
    for (const attempt of namesIn(join(folder, plan))) {
      const at = join(folder, plan, attempt)
      if ((statSync(at, { throwIfNoEntry: false })?.mtimeMs ?? before) >= before) continue
      removed++
      if (!dryRun) await removeTree(at)
    }
    if (!dryRun && namesIn(join(folder, plan)).length === 0) rmdirSync(join(folder, plan))
  }
  return removed
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

function move(from: string, to: string): void {
  makeFolder(dirname(to), 0o700)
  try {
    renameSync(from, to)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    if (codeOf(error) !== 'EXDEV') throw error
    cpSync(from, to, { recursive: true, verbatimSymlinks: true })
    rmSync(from, { recursive: true, force: true })
  }
}
