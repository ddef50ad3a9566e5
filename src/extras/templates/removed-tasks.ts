// Tasks whose condition was false. What needed one needs instead what that one would have waited for, so the order of the rest
// stays as it was written; this is told in a note. An outcome edge or a recovery that leads to one is a fault: where to go
// then is a decision nobody can make for the author.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { DocumentFault, Path } from '../../format/text/diagnostic.ts'

export interface Removed {
  readonly id: string
  readonly needs: readonly string[]
}

export interface Mended {
  readonly tasks: readonly Json[]
  readonly notes: readonly DocumentFault[]
  readonly faults: readonly DocumentFault[]
}

/** `path` is that of the list of tasks. */
export function repairNeeds(tasks: readonly Json[], removed: readonly Removed[], path: Path): Mended {
  const here = new Set(tasks.flatMap(task => (isMap(task) && typeof task.id === 'string' ? [task.id] : [])))
  // Of two tasks with one name, under opposite conditions, the one that stays is meant.
  const gone = new Map(removed.filter(({ id }) => !here.has(id)).map(({ id, needs }) => [id, needs]))
  const notes: DocumentFault[] = []
  const faults: DocumentFault[] = []
  const mended = tasks.map((task, index) => {
    if (!isMap(task)) return task
    const at = [...path, index]
    for (const { to, key } of routes(task)) {
      if (!gone.has(to)) continue
      faults.push({
        path: [...at, ...key],
        message: `this leads to '${to}', which is left out because its condition is false`,
        hint: "put this under the same condition: << params.x ? 'task' : null >> leaves the key out",
      })
    }
    const needs = namesIn(task.needs)
    const missing = needs.filter(need => gone.has(need))
    if (missing.length === 0) return task
    const instead = [...new Set(needs.flatMap(need => standIns(need, gone)))]
    for (const need of missing)
      notes.push({
        path: [...at, 'needs'],
        message: `'${String(task.id)}' no longer needs '${need}', which is left out because its condition is false`,
        hint: instead.length === 0 ? 'it needs nothing now' : `it needs ${instead.join(', ')}`,
      })
    return { ...task, needs: instead }
  })
  return { tasks: mended, notes, faults }
}

/** The task itself, or, through all that are left out, the tasks it would have waited for. */
function standIns(id: string, gone: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = []
  const seen = new Set<string>()
  const pending = [id]
  while (pending.length > 0) {
    const next = pending.shift()!
    if (seen.has(next)) continue
    seen.add(next)
    const needs = gone.get(next)
    if (needs === undefined) found.push(next)
    else pending.push(...needs)
  }
  return found
}

function routes(task: JsonObject): readonly { readonly to: string; readonly key: Path }[] {
  const on = isMap(task.on) ? Object.entries(task.on) : []
  const modes = Array.isArray(task.failure_modes) ? (task.failure_modes as readonly Json[]) : []
  return [
    ...on.flatMap(([outcome, to]) => namesIn(to).map(name => ({ to: name, key: ['on', outcome] }))),
    ...modes.flatMap((mode, index) =>
      isMap(mode) ? namesIn(mode.recover).map(name => ({ to: name, key: ['failure_modes', index, 'recover'] })) : [],
    ),
  ]
}

function namesIn(value: Json | undefined): readonly string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.filter((one): one is string => typeof one === 'string')
}
