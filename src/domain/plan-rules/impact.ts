// What is hard or impossible to take back, told from what a task says of itself: its kind, its labels, and well-known commands.
// The lint warns by it, and nothing of it begins before a person has agreed. What a script hides nobody can tell from here: `kind`
// is for that.

import type { Json } from '../json.ts'
import type { Action, CommandLine, Impact, PlanDefinition, TaskDefinition } from '../plan.ts'
import { commandImpact, commandImpacts, isDeleting } from './command-impact.ts'
import { dbRequest } from './db-request.ts'
import { effectOf, scopeOf } from './effect.ts'
import { httpRequest, isSafeMethod } from './http-request.ts'
import { asksFirst } from './instruction-file.ts'

/** As the end of a sentence that begins with the task. */
export const IMPACT_WORDS: Readonly<Record<Impact, string>> = {
  push: 'pushes',
  deploy: 'deploys',
  delete: 'deletes data',
  migrate: 'migrates data',
  spend: 'spends money',
  send: 'sends a request that must not be repeated',
  data: 'changes data in a database',
  outside: "may write outside the workspace or the plan's policy.write",
  instructions: 'writes a file that coding agents read as instructions',
  command: 'runs a command that the policy asks about',
  unknown: 'runs code that cannot be read from the plan',
}

/** A definition never changes, so each is looked at once. */
const remembered = new WeakMap<TaskDefinition, { readonly plan: PlanDefinition; readonly impacts: readonly Impact[] }>()

/** What is said of it: the first of its impacts. */
export const impactOf = (plan: PlanDefinition, task: TaskDefinition): Impact | null => impactsOf(plan, task)[0] ?? null

/** All of them: who is asked before deletions is asked before a deployment that deletes. */
function impactsOf(plan: PlanDefinition, task: TaskDefinition): readonly Impact[] {
  const known = remembered.get(task)
  if (known?.plan === plan) return known.impacts
  const impacts = findImpacts(plan, task)
  remembered.set(task, { plan, impacts })
  return impacts
}

function findImpacts(plan: PlanDefinition, task: TaskDefinition): readonly Impact[] {
  const found: Impact[] = [...dangersOf(task)]
  const production = demandsGate(plan.extra) ? productionOf(task) : null
  if (production !== null) found.push(production)
  if (isBeyond(plan, task)) found.push('outside')
  if (isInstructing(plan, task)) found.push('instructions')
  if (isUnreadable(task) && effectOf(plan, task) === 'unsafe') found.push('unknown')
  return found
}

/** The first impact before which a person is asked, by these rules; null when nobody is. */
export const gatedImpact = (
  plan: PlanDefinition,
  task: TaskDefinition,
  rules: Pick<PlanDefinition, 'policy' | 'extra'> = plan,
): Impact | null => impactsOf(plan, task).find(impact => isGated(rules, impact)) ?? null

/**
 * Is a person asked before it? Every kind of it, unless the policy names some or none; what a policy demands always is. Code that
 * cannot be read is let through, unless the policy says otherwise.
 */
export function isGated({ policy, extra }: Pick<PlanDefinition, 'policy' | 'extra'>, impact: Impact): boolean {
  const { before, unknown } = policy?.gates ?? {}
  if (impact === 'command') return true
  if (impact === 'unknown') return unknown === undefined ? demandsGate(extra) : unknown === 'ask'
  return before === undefined || before.includes(impact) || (impact === 'deploy' && demandsGate(extra))
}

const ACTING: ReadonlySet<Action['type']> = new Set(['run', 'edit', 'git', 'http', 'db', 'runner', 'agent'])

/** Does the engine itself do something to the world for it? What an agent or a person does after a claim is theirs. */
export function isActing({ action: { type } }: TaskDefinition): boolean {
  return ACTING.has(type)
}

/** Is it asked about before it begins, or before it can be claimed? The other actions do nothing to the world. */
export function isAskedAbout(task: TaskDefinition): boolean {
  return isActing(task) || task.action.type === 'external'
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

export type Danger = Exclude<Impact, 'outside' | 'instructions' | 'unknown' | 'command'>

/** What it does that cannot be taken back, by its own words. A gate does nothing. */
export const dangerOf = (task: TaskDefinition): Danger | null => dangersOf(task)[0] ?? null

/** What it says of itself comes first, then what can be read from what it does. */
export function dangersOf(task: TaskDefinition): readonly Danger[] {
  if (task.action.type === 'gate') return []
  const said = saidOf(task)
  const seen = seenIn(task)
  return said.length === 0 ? seen : [...said, ...seen]
}

function seenIn(task: TaskDefinition): readonly Danger[] {
  const { action } = task
  if (action.type === 'http') return listed(dangerOfRequest(task))
  if (action.type === 'db') return listed(dangerOfStatements(task))
  const read = action.type === 'run' ? commandImpacts(action.command) : []
  const dangers = read.filter(impact => impact !== 'unknown')
  return dangers.length > 0 ? dangers : wellKnown(task)
}

const listed = (danger: Danger | null): readonly Danger[] => (danger === null ? [] : [danger])

/** What only reads, and what carries a key, can be sent again; the others say how with `effect`. */
function dangerOfRequest({ action, effect = 'unsafe' }: TaskDefinition): Danger | null {
  const request = httpRequest(action)
  if (request === null || isSafeMethod(request.method)) return null
  if (request.method === 'DELETE') return 'delete'
  return request.key === null && effect === 'unsafe' ? 'send' : null
}

function dangerOfStatements(task: TaskDefinition): Danger | null {
  const request = dbRequest(task.action)
  if (request === null || request.do === 'query') return null
  return request.do === 'migrate' ? 'migrate' : (wellKnown(task)[0] ?? 'data')
}

/** By its kind, then by its labels. */
function saidOf({ kind, labels = [] }: TaskDefinition): readonly Danger[] {
  const byKind = kind === undefined ? null : firstOf([...BY_KIND, SPENDING], kind)
  return [...listed(byKind), ...labels.flatMap(label => BY_LABEL.get(label.toLowerCase()) ?? [])]
}

const SPENDING = [/^(spend|pay|purchase|buy)/i, 'spend'] as const

/** A label is one of many words about a task, so only these say what it does. */
const BY_LABEL: ReadonlyMap<string, Danger> = new Map<string, Danger>([
  ['destructive', 'delete'],
  ['delete', 'delete'],
  ['deletes', 'delete'],
  ['deploy', 'deploy'],
  ['deploys', 'deploy'],
  ['push', 'push'],
  ['pushes', 'push'],
  ['migrate', 'migrate'],
  ['migrates', 'migrate'],
  ['migration', 'migrate'],
  ['spend', 'spend'],
  ['spends', 'spend'],
])

/**
 * Of a plan that demands a gate before production, in a format whose tasks have no kind: what its name, its title or its labels say of
 * production. Titles are nobody's promise, so elsewhere they say nothing.
 */
function productionOf({ id, title = '', kind, labels = [], action }: TaskDefinition): Danger | null {
  if (action.type === 'gate') return null
  if (labels.some(label => /^prod(uction)?$/i.test(label))) return 'deploy'
  if (kind !== undefined) return null
  const name = id.split('/').at(-1) ?? id
  const byName = firstOf(BY_KIND, name) ?? firstOf(BY_KIND, title)
  if (byName !== null) return byName
  return /(^|[^a-z])prod(uction)?([^a-z]|$)/i.test(`${name} ${title}`) ? 'deploy' : null
}

const isUnreadable = ({ action }: TaskDefinition): boolean =>
  action.type === 'runner' || (action.type === 'run' && commandImpact(action.command) === 'unknown')

function firstOf(patterns: readonly (readonly [RegExp, Impact])[], text: string): Danger | null {
  for (const [pattern, impact] of patterns) if (pattern.test(text)) return impact as Danger
  return null
}

/** The beginning of a well-known command, anywhere in the line. */
function wellKnown(task: TaskDefinition): readonly Danger[] {
  const line = commandOf(task)
  if (line === null) return []
  const deleting: readonly Danger[] = isDeleting(line) ? ['delete'] : []
  if (!ANY_COMMAND.test(line)) return deleting
  const known = BY_COMMAND.flatMap(([pattern, impact]) => (pattern.test(line) ? [impact as Danger] : []))
  return [...deleting, ...known]
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
function isBeyond({ policy }: PlanDefinition, { action, write, sandbox }: TaskDefinition): boolean {
  if (action.type !== 'gate' && (write ?? []).some(leaves)) return true
  if (
    action.type === 'edit' &&
    action.edits.some(edit => leaves(edit.file) || (edit.type === 'move' && leaves(edit.to)))
  )
    return true
  // With the rights of the person it can write anywhere, and nobody can read from the plan what it will do.
  if (action.type === 'agent' && (sandbox ?? policy?.sandbox) === 'off') return true
  if ((action.type !== 'run' && action.type !== 'agent') || write === undefined || policy?.write === undefined)
    return false
  const allowed = policy.write.map(partsOf)
  return !write.every(pattern => allowed.some(around => holds(around, partsOf(pattern))))
}

/** It names such a file itself. For a command a wildcard does not stand for one: in a sandbox such files are closed to it. */
function isInstructing(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { action, write = [] } = task
  if (action.type === 'gate') return false
  const named = action.type === 'run' || action.type === 'agent' ? (scopeOf(plan, task) ?? []) : write
  if (named.some(asksFirst)) return true
  return (
    action.type === 'edit' &&
    action.edits.some(edit => asksFirst(edit.file) || (edit.type === 'move' && asksFirst(edit.to)))
  )
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
  if (extra === null || typeof extra !== 'object') return false
  const known = demanding.get(extra)
  if (known !== undefined) return known
  const isDemanded = findDemand(extra)
  demanding.set(extra, isDemanded)
  return isDemanded
}

/** What another format said may be much, and every task asks. */
const demanding = new WeakMap<object, boolean>()

function findDemand(extra: Json): boolean {
  let level: readonly (Json | undefined)[] = [extra]
  for (let depth = 0; depth < 3; depth++) {
    const maps = level.flatMap(value => (value !== null && typeof value === 'object' ? [value] : []))
    const entries = maps.flatMap(map => Object.entries(map) as [string, Json][])
    if (entries.some(([key, value]) => /^require_?gate_?for_?prod$/i.test(key) && value === true)) return true
    level = entries.map(([, value]) => value)
  }
  return false
}
