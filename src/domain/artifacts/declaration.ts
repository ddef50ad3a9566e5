// What a plan says about an output as an artifact: its kind, its type, how long its content is kept, and whether its links are sources. An
// output says it itself, or an entry of the plan's `artifacts` says it, which also publishes the output under a name.

import { isMap, type Json } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { type ArtifactKind, isLinks, type OutputType, readOutputType } from './output-type.ts'

/** How long the content is kept: as long as the plan, so many milliseconds, or also when its plan is old. */
export type Retention = 'plan' | 'forever' | { readonly ms: number }

const UNIT_MS: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Null for words that are not understood. */
export function readRetention(text: string): Retention | null {
  if (text === 'plan' || text === 'forever') return text
  const [, count, unit] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? []
  const ms = count === undefined ? 0 : Number(count) * UNIT_MS[unit!]!
  return ms > 0 ? { ms } : null
}

/** An entry of the plan's `artifacts`. */
export interface Published {
  readonly name: string
  /** As written: a task, or `task.output`. */
  readonly from: string | null
  readonly task: string | null
  readonly output: string
  readonly type?: string
  readonly retention?: string
}

/** Other entries are data of other formats. */
export function publishedIn({ artifacts, tasks }: Pick<PlanDefinition, 'artifacts' | 'tasks'>): readonly Published[] {
  if (!Array.isArray(artifacts)) return []
  const names = new Set<string>(tasks.map(({ id }) => id))
  return (artifacts as readonly Json[]).flatMap(entry => {
    if (!isMap(entry) || typeof entry.name !== 'string') return []
    const { name, from, type, retention } = entry
    return [
      {
        name,
        ...source(name, typeof from === 'string' ? from : null, names),
        ...(typeof type === 'string' ? { type } : {}),
        ...(typeof retention === 'string' ? { retention } : {}),
      },
    ]
  })
}

/** Names of tasks may contain dots, so the longest one counts. */
function source(name: string, from: string | null, tasks: ReadonlySet<string>) {
  if (from === null || tasks.has(from)) return { from, task: from, output: name }
  const dot = from.lastIndexOf('.')
  return dot < 1
    ? { from, task: from, output: name }
    : { from, task: from.slice(0, dot), output: from.slice(dot + 1) || name }
}

export interface Declaration {
  readonly kind: ArtifactKind
  readonly type: string | null
  readonly retention: string
  readonly cites: boolean
  /** The name under which the plan publishes it. */
  readonly published: string | null
  /** Is it declared at all? A task may leave others. */
  readonly isDeclared: boolean
}

export function declarationOf(
  plan: Pick<PlanDefinition, 'artifacts' | 'tasks'>,
  task: TaskDefinition,
  output: string,
  published: readonly Published[] = publishedIn(plan),
): Declaration {
  const own = Object.hasOwn(task.outputs ?? {}, output) ? task.outputs![output] : undefined
  const shared = published.find(one => one.output === output && (one.task === null || one.task === task.id))
  const type = own?.type ?? shared?.type ?? null
  return {
    kind: own?.kind ?? kindOf(type === null ? null : readOutputType(type), own?.from === 'file'),
    type,
    retention: own?.retention ?? shared?.retention ?? 'plan',
    cites: own?.cites === true,
    published: shared?.name ?? null,
    isDeclared: own !== undefined || shared !== undefined,
  }
}

const kindOf = (type: OutputType | null, isFile: boolean): ArtifactKind => {
  if (type !== null && isLinks(type)) return type.is === 'list' ? 'links' : 'link'
  return isFile || type?.is === 'file' ? 'file' : 'note'
}
