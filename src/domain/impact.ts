// What is hard or impossible to take back, told from what a task says of itself: its kind, its labels, and the beginnings of
// well-known commands. The lint warns by it, and nothing of it begins before a person has agreed. What a script hides nobody can
// tell from here: `kind` is for that.

import { isDeleting } from './deletion.ts'
import type { Json } from './json.ts'
import type { CommandLine, Impact, PlanDefinition, TaskDefinition } from './plan.ts'

/** As the end of a sentence that begins with the task. */
export const IMPACT_WORDS: Readonly<Record<Impact, string>> = {
  push: 'pushes',
  deploy: 'deploys',
  delete: 'deletes data',
  migrate: 'migrates data',
  outside: "may write outside the workspace or the plan's policy.write",
}

interface Remembered {
  readonly plan: PlanDefinition
  readonly impact: Impact | null
}

/** A definition never changes, so each is looked at once. */
const remembered = new WeakMap<TaskDefinition, Remembered>()

export function impactOf(plan: PlanDefinition, task: TaskDefinition): Impact | null {
  const known = remembered.get(task)
  if (known?.plan === plan) return known.impact
  const impact = dangerOf(task) ?? (isBeyond(plan, task) ? 'outside' : null)
  remembered.set(task, { plan, impact })
  return impact
}

/** The impact before which a person is asked, by the plan's policy; null when nobody is. */
export function gatedImpact(plan: PlanDefinition, task: TaskDefinition): Impact | null {
  const impact = impactOf(plan, task)
  return impact === null || !isGated(plan, impact) ? null : impact
}

/** Is a person asked before it? Every kind of it, unless the policy names some or none; what a policy demands always is. */
export function isGated({ policy, extra }: PlanDefinition, impact: Impact): boolean {
  const before = policy?.gates?.before
  return before === undefined || before.includes(impact) || (impact === 'deploy' && demandsGate(extra))
}

/** Does the engine itself do something to the world for it? What an agent or a person does after a claim is theirs. */
export function isActing({ action: { type } }: TaskDefinition): boolean {
  return type === 'run' || type === 'edit' || type === 'git'
}

const BY_KIND: readonly (readonly [RegExp, Impact])[] = [
  [/^(deploy|release|publish|rollout|roll-out|ship)/i, 'deploy'],
  [/^(delete|destroy|drop|purge|wipe|erase|data[-_. ]?delet)/i, 'delete'],
  [/migrat/i, 'migrate'],
  [/^(git[-_. ]?)?push/i, 'push'],
]
/** Options of git that take the next word. */
const WITH_VALUE = '(?:-[cC]|--(?:git-dir|work-tree|namespace))'
/** Whatever is missing here is what `kind` is for. */
const BY_COMMAND: readonly (readonly [RegExp, Impact])[] = [
  // Each word can be read in one way only, or a line of options would be tried in all ways there are.
  [at(`git\\s+(${WITH_VALUE}\\s+\\S+\\s+|(?!${WITH_VALUE}\\s)-\\S+\\s+)*push`), 'push'],
  [at('(docker|podman)\\s+(image\\s+|manifest\\s+)?push'), 'push'],
  [at('(kubectl\\s+(apply|rollout|delete)|helm\\s+(install|upgrade|uninstall))'), 'deploy'],
  [at('(terraform|tofu)\\s+apply'), 'deploy'],
  [at('(npm|pnpm|yarn|cargo)\\s+publish'), 'deploy'],
  [at('(vercel|flyctl|fly|firebase|serverless|wrangler|netlify)\\s+(deploy|publish)'), 'deploy'],
  [at('gh\\s+release\\s+create'), 'deploy'],
  [/\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE|DELETE\s+FROM)\b/i, 'delete'],
  [at('(dropdb|aws\\s+s3\\s+(rm|rb))'), 'delete'],
  [at('(alembic\\s+(upgrade|downgrade)|flyway\\s+migrate|prisma\\s+migrate\\s+deploy)'), 'migrate'],
  [/\b(db:migrate|migrate:latest|manage\.py\s+migrate)\b/, 'migrate'],
]

/**
 * All of them at once: most lines hold none, and are let through by one look instead of one for each. Of a push the word is enough, so
 * that a line full of options is not gone through twice.
 */
const ANY_COMMAND = new RegExp(
  BY_COMMAND.map(([{ source }, impact]) => (impact === 'push' ? 'push' : source)).join('|'),
  'i',
)

/** A word of a command line, also with its path before it. */
function at(command: string): RegExp {
  return new RegExp(`(^|[\\s;&|(/])${command}\\b`)
}

/** What it does that cannot be taken back, by its own words. A gate does nothing. */
export function dangerOf(task: TaskDefinition): Exclude<Impact, 'outside'> | null {
  if (task.action.type === 'gate') return null
  const { kind } = task
  if (kind !== undefined)
    for (const [pattern, impact] of BY_KIND) if (pattern.test(kind)) return impact as Exclude<Impact, 'outside'>
  if (task.labels?.includes('destructive')) return 'delete'
  const line = commandOf(task)
  if (line === null) return null
  if (isDeleting(line)) return 'delete'
  if (!ANY_COMMAND.test(line)) return null
  for (const [pattern, impact] of BY_COMMAND) if (pattern.test(line)) return impact as Exclude<Impact, 'outside'>
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

/** Its scope leaves the workspace, or is one of a command that the policy does not hold. An edit outside that fails by itself. */
function isBeyond({ policy }: PlanDefinition, { action, write }: TaskDefinition): boolean {
  if (action.type !== 'gate' && (write ?? []).some(leaves)) return true
  if (
    action.type === 'edit' &&
    action.edits.some(edit => leaves(edit.file) || (edit.type === 'move' && leaves(edit.to)))
  )
    return true
  if (action.type !== 'run' || write === undefined || policy?.write === undefined) return false
  const allowed = policy.write.map(partsOf)
  return !write.every(pattern => allowed.some(around => holds(around, partsOf(pattern))))
}

/** Absolute, or more steps up than down. What `**` stands for may be nothing. */
function leaves(pattern: string): boolean {
  if (pattern.startsWith('/')) return true
  let depth = 0
  for (const part of partsOf(pattern)) {
    depth += part === '..' ? -1 : part === '**' ? 0 : 1
    if (depth < 0) return true
  }
  return false
}

/** Does every path of one pattern belong to the other? When in doubt it does not, and somebody is asked. */
function holds(around: readonly string[], inside: readonly string[]): boolean {
  for (const [at, part] of around.entries()) {
    if (part === '**' && at === around.length - 1) return true
    const own = inside[at]
    if (own === undefined || own === '**' || (part !== own && part !== '*')) return false
  }
  return around.length === inside.length
}

function partsOf(pattern: string): readonly string[] {
  const parts = pattern.split('/').filter(part => part !== '' && part !== '.')
  return pattern.endsWith('/') ? [...parts, '**'] : parts
}

/** `requireGateForProd`, wherever another format put its policies. */
export function demandsGate(extra: Json | undefined): boolean {
  let level: readonly (Json | undefined)[] = [extra]
  for (let depth = 0; depth < 3; depth++) {
    const maps = level.flatMap(value => (value !== null && typeof value === 'object' ? [value] : []))
    const entries = maps.flatMap(map => Object.entries(map) as [string, Json][])
    if (entries.some(([key, value]) => /^require_?gate_?for_?prod$/i.test(key) && value === true)) return true
    level = entries.map(([, value]) => value)
  }
  return false
}
