// What is hard or impossible to undo, according to a task's kind, labels and well-known commands. The lint warns about it, and it needs an
// approval. What a program or a script file does inside is not visible here; `kind` is for that.

import { actionFacts } from '../actions/actions.ts'
import type { Json } from '../json.ts'
import type { Impact, PlanDefinition, TaskDefinition } from '../plan.ts'
import { effectOf, scopeOf } from './effect.ts'
import { asksFirst } from './instruction-file.ts'
import type { Danger } from './known-commands.ts'

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

const remembered = new WeakMap<TaskDefinition, { readonly plan: PlanDefinition; readonly impacts: readonly Impact[] }>()

export const impactOf = (plan: PlanDefinition, task: TaskDefinition): Impact | null => impactsOf(plan, task)[0] ?? null

/** All of them, because the policy may gate deletions but not the deployment that deletes. */
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
  if (actionFacts(task.action).isUnreadable?.(task.action) === true && effectOf(plan, task) === 'unsafe')
    found.push('unknown')
  return found
}

/** The first impact that needs an approval under these rules; null for none. */
export const gatedImpact = (
  plan: PlanDefinition,
  task: TaskDefinition,
  rules: Pick<PlanDefinition, 'policy' | 'extra'> = plan,
): Impact | null => impactsOf(plan, task).find(impact => isGated(rules, impact)) ?? null

/**
 * Does the impact need an approval? Every kind does, unless the policy names some or none. Unreadable code passes unless the policy
 * objects.
 */
export function isGated({ policy, extra }: Pick<PlanDefinition, 'policy' | 'extra'>, impact: Impact): boolean {
  const { before, unknown } = policy?.gates ?? {}
  if (impact === 'command') return true
  if (impact === 'unknown') return unknown === undefined ? demandsGate(extra) : unknown === 'ask'
  return before === undefined || before.includes(impact) || (impact === 'deploy' && demandsGate(extra))
}

/** Does the engine itself act on something outside the journal? What an agent or a person does after a claim is theirs. */
export const isActing = ({ action }: TaskDefinition): boolean => actionFacts(action).acts === true

/** May it need an approval before it begins or is claimed? Other actions have no effect outside. */
export function isAskedAbout(task: TaskDefinition): boolean {
  return isActing(task) || task.action.type === 'external'
}

const BY_KIND: readonly (readonly [RegExp, Impact])[] = [
  [/^(deploy|release|publish|rollout|roll-out|ship)/i, 'deploy'],
  [/^(delete|destroy|drop|purge|wipe|erase|data[-_. ]?delet)/i, 'delete'],
  [/migrat/i, 'migrate'],
  [/^(git[-_. ]?)?push/i, 'push'],
]
export const dangerOf = (task: TaskDefinition): Danger | null => dangersOf(task)[0] ?? null

/** First what it declares, then what its action shows. */
export function dangersOf(task: TaskDefinition): readonly Danger[] {
  if (task.action.type === 'gate') return []
  const declared = declaredDangers(task)
  const seen = actionFacts(task.action).dangers?.(task) ?? []
  return declared.length === 0 ? seen : [...declared, ...seen]
}

function declaredDangers({ kind, labels = [] }: TaskDefinition): readonly Danger[] {
  const byKind = kind === undefined ? null : firstOf([...BY_KIND, SPENDING], kind)
  return [...(byKind === null ? [] : [byKind]), ...labels.flatMap(label => BY_LABEL.get(label.toLowerCase()) ?? [])]
}

const SPENDING = [/^(spend|pay|purchase|buy)/i, 'spend'] as const

/** Labels are free text, so only these count. */
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

/** For a plan in a format without kinds that demands a gate before production: looks at name, title and labels. */
function productionOf({ id, title = '', kind, labels = [], action }: TaskDefinition): Danger | null {
  if (action.type === 'gate') return null
  if (labels.some(label => /^prod(uction)?$/i.test(label))) return 'deploy'
  if (kind !== undefined) return null
  const name = id.split('/').at(-1) ?? id
  const byName = firstOf(BY_KIND, name) ?? firstOf(BY_KIND, title)
  if (byName !== null) return byName
  return /(^|[^a-z])prod(uction)?([^a-z]|$)/i.test(`${name} ${title}`) ? 'deploy' : null
}

function firstOf(patterns: readonly (readonly [RegExp, Impact])[], text: string): Danger | null {
  for (const [pattern, impact] of patterns) if (pattern.test(text)) return impact as Danger
  return null
}

/** Its scope leaves the workspace, or that of a command exceeds the policy. An edit outside it fails by itself. */
function isBeyond(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { action, write } = task
  const { policy } = plan
  const facts = actionFacts(action)
  if (action.type !== 'gate' && (write ?? []).some(leaves)) return true
  if (editedFiles(task).some(leaves) || facts.isUnconfined?.(task, plan) === true) return true
  if (facts.runsCommands !== true || write === undefined || policy?.write === undefined) return false
  const allowed = policy.write.map(partsOf)
  return !write.every(pattern => allowed.some(around => holds(around, partsOf(pattern))))
}

/** It writes such a file by name. A command's wildcard does not count: the sandbox protects these files. */
function isInstructing(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { action, write = [] } = task
  if (action.type === 'gate') return false
  const named = actionFacts(action).runsCommands === true ? (scopeOf(plan, task) ?? []) : write
  return named.some(asksFirst) || editedFiles(task).some(asksFirst)
}

function editedFiles(task: TaskDefinition): readonly string[] {
  const { edits, files } = actionFacts(task.action)
  return edits === undefined ? [] : (files?.(task) ?? [])
}

/** Absolute, or with more `..` than folders. `**` may match nothing. */
function leaves(pattern: string): boolean {
  if (pattern.startsWith('/')) return true
  let depth = 0
  for (const part of partsOf(pattern)) {
    depth += part === '..' ? -1 : part === '**' ? 0 : 1
    if (depth < 0) return true
  }
  return false
}

/** Does one pattern cover every path of the other? In doubt no, and a person is asked. */
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

/** Cached, because the data of another format may be large and every task asks. */
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
