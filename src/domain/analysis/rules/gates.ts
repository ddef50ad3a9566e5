// Rules about people: what cannot be taken back should not happen before somebody has agreed. A task counts as gated when a
// gate stands somewhere before it.

import type { Json } from '../../json.ts'
import type { CommandLine, TaskDefinition } from '../../plan.ts'
import type { Finding } from '../finding.ts'
import { joins } from '../lengths.ts'
import type { Look } from '../look.ts'

export function* gates(look: Look): Iterable<Finding> {
  const gated = gatedTasks(look)
  const isDemanded = demandsGate(look.graph.definition.extra)
  for (const [at, task] of look.graph.tasks.entries()) {
    const danger = dangerOf(task)
    // What is in a circle never runs; the circle itself is told.
    if (danger === null || gated[at] || joins(look.graph, at) || look.waves.waveOf[at] === -1) continue
    const required = isDemanded && danger === 'deploys'
    yield {
      code: required ? 'gate-required' : 'ungated',
      severity: required ? 'error' : 'warning',
      task: task.id,
      key: 'id',
      message: required
        ? `'${task.id}' ${danger}, and the policy wants a gate before that`
        : `'${task.id}' ${danger}, and nobody is asked before`,
      hint: "let it need a task with 'gate: approval'",
    }
  }
}

/** In the order of the waves, so that whoever comes before has been looked at. */
function gatedTasks({ graph, waves }: Look): readonly boolean[] {
  const gated = graph.tasks.map(() => false)
  const isGate = (task: number): boolean => graph.tasks[task]!.action.type === 'gate'
  for (const task of waves.order) {
    const by = waves.wokenBy[task]!
    gated[task] =
      graph.needs[task]!.some(need => isGate(need) || gated[need]!) || (by !== -1 && (isGate(by) || gated[by]!))
  }
  return gated
}

type Danger = 'deploys' | 'deletes data' | 'migrates data' | 'pushes'

const BY_KIND: readonly (readonly [RegExp, Danger])[] = [
  [/^(deploy|release|publish|rollout|roll-out|ship)/i, 'deploys'],
  [/^(delete|destroy|drop|purge|wipe|erase|data[-_. ]?delet)/i, 'deletes data'],
  [/migrat/i, 'migrates data'],
  [/^(git[-_. ]?)?push/i, 'pushes'],
]
/** The beginnings of well-known commands. Whatever is missing here is what `kind` is for. */
const BY_COMMAND: readonly (readonly [RegExp, Danger])[] = [
  [/(^|[\s;&|(])git\s+(-\S+\s+)*push\b/, 'pushes'],
  [/(^|[\s;&|(])(kubectl\s+(apply|rollout|delete)|helm\s+(install|upgrade|uninstall))\b/, 'deploys'],
  [/(^|[\s;&|(])(terraform|tofu)\s+(apply|destroy)\b/, 'deploys'],
  [/(^|[\s;&|(])(npm|pnpm|yarn|cargo)\s+publish\b/, 'deploys'],
  [/\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE|DELETE\s+FROM)\b/i, 'deletes data'],
]

function dangerOf(task: TaskDefinition): Danger | null {
  if (task.action.type === 'gate') return null
  const kind = task.kind ?? ''
  for (const [pattern, danger] of BY_KIND) if (pattern.test(kind)) return danger
  if (task.labels?.includes('destructive')) return 'deletes data'
  const line = commandOf(task)
  if (line === null) return null
  for (const [pattern, danger] of BY_COMMAND) if (pattern.test(line)) return danger
  return null
}

const LINE_MAX = 10_000

function commandOf({ action }: TaskDefinition): string | null {
  if (action.type === 'run') return textOf(action.command).slice(0, LINE_MAX)
  return action.type === 'db' ? wordsOf(action.spec).slice(0, LINE_MAX) : null
}

const textOf = (command: CommandLine): string => ('argv' in command ? command.argv.join(' ') : command.script)

function wordsOf(spec: Json): string {
  return typeof spec === 'string'
    ? spec
    : JSON.stringify(spec)
        .replace(/["{}[\],:]+/g, ' ')
        .trim()
}

/** `requireGateForProd`, wherever another format put its policies. */
function demandsGate(extra: Json | undefined): boolean {
  let level: readonly (Json | undefined)[] = [extra]
  for (let depth = 0; depth < 3; depth++) {
    const maps = level.flatMap(value => (value !== null && typeof value === 'object' ? [value] : []))
    const entries = maps.flatMap(map => Object.entries(map) as [string, Json][])
    if (entries.some(([key, value]) => /^require_?gate_?for_?prod$/i.test(key) && value === true)) return true
    level = entries.map(([, value]) => value)
  }
  return false
}
