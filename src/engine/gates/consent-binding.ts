// The binding of an approval: everything that decides what a task would do. Its resolved action, inputs and environment, the files it
// names, the plan's definition and policy. Stored as bytes; an approval refers to their hash.

import { resolve } from 'node:path'
import { actionFacts } from '../../domain/actions/actions.ts'
import { ownBudget } from '../../domain/budget/ledger.ts'
import {
  CONSENT,
  type ShownAction,
  type ShownChange,
  type ShownPush,
  type ShownTask,
  type ShownWords,
} from '../../domain/gates/consent.ts'
import { approversOf, impactIn } from '../../domain/gates/consent-rules.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type {
  Action,
  Approvers,
  Budget,
  CommandLine,
  Edit,
  EffectClass,
  PlanDefinition,
  TaskDefinition,
} from '../../domain/plan.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { effectOf } from '../../domain/plan-rules/effect.ts'
import { type NetworkUse, networkOf } from '../../domain/plan-rules/network.ts'
import { networkAround } from '../../domain/policy/policy-in-state.ts'
import { confinementOf } from '../../domain/policy/run-mode.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { contendersOf } from '../../domain/tries/tries.ts'
import { fromLiteral, templateExpressions } from '../../format/expression/template.ts'
import { canonicalJson, definitionHash } from '../../format/plan/hash.ts'
import type { Attempt } from '../../runners/runner.ts'
import { inheritedEnvironment } from '../../safety/environment.ts'
import { runsOutside } from '../../safety/sandbox/command-sandbox.ts'
import { letThrough, sandboxFor } from '../attempts/attempt-sandbox.ts'
import { writeAgreed } from '../attempts/policy-checks.ts'
import type { Rooms } from '../rooms.ts'
import { namedFiles, programOf, remotesOf, sha256 } from './command-files.ts'
import { pushTarget } from './push-target.ts'

/** A stored value with its hash, and the contents that it refers to. */
export interface Binding<T> {
  readonly shown: T
  readonly bytes: Buffer
  readonly hash: Sha256
  readonly contents: readonly Buffer[]
}

export interface BindOptions {
  /** Who must approve, when the gate, the policy or an earlier approval decides that rather than the task. */
  readonly approvers?: Approvers | null
  readonly reviewed: readonly ShownChange[] | null
}

/** The resolved attempt; or none, `open` says why not yet; or the task as written. */
export type Resolution =
  | { readonly attempt: Attempt; readonly open: null }
  | { readonly attempt: null; readonly open: string }
  | typeof AS_WRITTEN

/** Approves the task as written; earlier tasks supply the missing values. */
export const AS_WRITTEN = { attempt: null, open: null } as const

export async function bindTask(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  { attempt, open }: Resolution,
  options: BindOptions,
): Promise<Binding<ShownTask>> {
  const plan = state.definition
  const definition = attempt?.definition ?? task.definition
  const action = attempt?.action ?? definition.action
  const env = attempt?.env ?? definition.env ?? {}
  const inputs = attempt?.inputs ?? definition.inputs ?? {}
  const cwd = definition.cwd ?? '.'
  const impact = impactIn(state, task)
  const written = Object.keys(task.definition.env ?? {})
  const isWritten = attempt === null && open === null
  const does = await doing(rooms, state, definition, action, isWritten ? 'as written' : attempt)
  const words = wordsOf(does)
  const given = givenTo(does, env, written)
  const named = namesOf(action, [...words, ...given], cwd, rooms.root)
  const remotes = impact === 'push' ? remotesOf(rooms.root) : {}
  const folder = resolve(rooms.root, cwd)
  const push =
    impact === 'push' ? pushTarget(folder, [...words, ...given], inheritedEnvironment(rooms.environment)) : null
  const effect = effectOf(plan, definition)
  const isShut = await isSandboxed(rooms, state, definition, does)
  const network = reachedBy(state, definition)
  const isByRules =
    network === null && (isShut || does.type === 'request') && confinementOf(state, definition).isRequired
  const shown: ShownTask = {
    type: 'task',
    plan: state.id,
    name: plan.name,
    definition: writtenHash(plan),
    policy: policyHash(state),
    approvers: options.approvers === undefined ? approversOf(state, task) : options.approvers,
    task: definition.id,
    visit: task.visit,
    impact,
    effect,
    open,
    ...(isWritten ? { filledLater: [...new Set(expressionsIn([action, inputs, env, definition.cwd]))] } : {}),
    does,
    inputs,
    values: Object.fromEntries(Object.entries(env).filter(([name]) => !written.includes(name))),
    // Values may be secret. The salted hash shows whether a value changed, not what it is.
    env: Object.fromEntries(written.sort().map(name => [name, sha256(`${state.id}\0${name}\0${env[name] ?? ''}`)])),
    feedback: attempt?.feedback ?? null,
    cwd,
    program: does.type === 'argv' ? programOf(rooms.root, cwd, does.argv[0] ?? '', rooms.environment) : null,
    files: named.map(({ path, sha256, bytes }) => ({ path, sha256, bytes })),
    remotes,
    ...(push === null ? {} : { push }),
    reviewed: options.reviewed,
    besides: besidesOf(definition),
    ...(isShut ? { sandbox: true } : {}),
    write: writesNothing(definition, effect) ? [] : writeAgreed(state, definition),
    network: network?.allow ?? null,
    ...(isByRules ? { rules: 'own' } : {}),
    ...(network?.unknown === 'ask' ? { unknown: 'ask' } : {}),
    hosts: hostsIn([
      ...words,
      ...(network?.allow ?? []),
      ...Object.values(remotes),
      ...addressesIn(push),
      JSON.stringify(inputs),
      ...given,
    ]),
    cost: costWords(ownBudget(definition) ?? plan.policy?.budget),
    words: shownTexts(definition),
  }
  const contents = named.flatMap(({ bytesThere }) => (bytesThere === null ? [] : [bytesThere]))
  return { ...sealed(shown), contents }
}

/** A task that is declared to only read writes nothing, whatever the policy allows; nor does a request whose answer goes into no file. */
function writesNothing(task: TaskDefinition, effect: EffectClass): boolean {
  const { files } = actionFacts(task.action)
  return task.write === undefined && (effect === 'pure' || (files !== undefined && files(task) === null))
}

/** If a required sandbox is missing, the command is not run at all. */
async function isSandboxed(
  rooms: Rooms,
  state: PlanState,
  definition: TaskDefinition,
  does: ShownAction,
): Promise<boolean> {
  if (does.type !== 'script' && does.type !== 'agent' && (does.type !== 'argv' || runsOutside(does.argv))) return false
  const { sandbox } = sandboxFor(rooms, state, { as: 'attempt', definition, visit: 1, attempt: 1 })
  return sandbox !== undefined && (sandbox.isRequired || (await sandbox.room.check()).ok)
}

/** What the engine itself does to files, repositories and databases reaches no network. */
function reachedBy(state: PlanState, task: TaskDefinition): NetworkUse | null {
  const { network } = actionFacts(task.action)
  const declared =
    network === undefined ? null : (networkOf(state.definition, task) ?? letThrough(networkAround(state, task)))
  return declared ?? (network === 'open' ? null : { allow: [], unknown: 'deny' })
}

/** Addresses in git settings: in the key, such as `url.<address>.insteadOf`, or in the value. */
const addressesIn = (push: ShownPush | null): readonly string[] =>
  Object.entries(push?.config ?? {}).flatMap(([key, value]) => (/^(remote|url)\./.test(key) ? [key, value] : []))

export function sealed<T>(shown: T): Omit<Binding<T>, 'contents'> {
  const bytes = Buffer.from(canonicalJson(shown as unknown as Json))
  return { shown, bytes, hash: sha256(bytes) }
}

async function doing(
  rooms: Rooms,
  state: PlanState,
  definition: TaskDefinition,
  action: Action,
  attempt: Attempt | 'as written' | null,
): Promise<ShownAction> {
  const { edits, agreed } = actionFacts(action)
  if (edits !== undefined) {
    if (attempt === 'as written') return { type: 'edit', diff: edits(action).map(editText).join('\n') }
    const diff = attempt === null ? JSON.stringify(edits(action)) : await diffOf(rooms, state, attempt)
    return { type: 'edit', diff }
  }
  if (agreed === undefined) throw new Error(`bug: nobody is asked for ${CONSENT} before '${action.type}'`)
  return agreed({ ...definition, action })
}

/** Do earlier tasks supply what code runs, or where: program, script, folder, edited file? All else is data. */
export function isProgramFilledIn({ action, cwd }: TaskDefinition): boolean {
  if (expressionsIn(cwd).length > 0) return true
  const { edits, files, runsCommands, command: commandIn } = actionFacts(action)
  if (edits !== undefined) return expressionsIn(files?.({ action })).length > 0
  if (runsCommands !== true) return false
  const command = commandIn?.(action) ?? null
  if (command === null) return expressionsIn(action).length > 0
  if (expressionsIn(command).length === 0) return false
  if ('argv' in command) return expressionsIn(command.argv[0]).length > 0 || INTERPRETER.test(command.argv.join(' '))
  return INTERPRETER.test(command.script) || FILLED_PROGRAM.test(command.script)
}

const INTERPRETER =
  /(?:^|[\s;&|(`/'"])(?:(?:ba|da|z|k|a)?sh|fish|eval|exec|env|sudo|doas|xargs|source|find|git|npx|node|deno|bun|python[\d.]*|perl|ruby|php)(?=[\s'"]|$)/
const FILLED_PROGRAM = /(?:^|[;&|(`\n!{]|\b(?:then|do|else)\b)\s*(?:\w+=\S*\s+)*["']?[\w./-]*\$\{\{/

function expressionsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return templateExpressions(value).map(({ source }) => source)
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(expressionsIn) : []
}

/** The whole text of an edit; its file may not exist yet. */
function editText(edit: Edit): string {
  const text = (sign: string, written: string): string =>
    asRead(written)
      .replace(/\n$/, '')
      .split('\n')
      .map(line => `${sign}${line}`)
      .join('\n')
  if (edit.type === 'create')
    return `writes the whole of ${edit.file}, ${lengthOf(edit.content)}:\n${text('+', edit.content)}`
  if (edit.type !== 'replace') return JSON.stringify(edit)
  const where = edit.all === true ? 'everywhere in' : 'once in'
  return `replaces ${where} ${edit.file}, ${lengthOf(edit.find)} by ${lengthOf(edit.replace)}:\n${text('-', edit.find)}\n${text('+', edit.replace)}`
}

const asRead = (written: string): string =>
  templateExpressions(written).length === 0 ? String(fromLiteral(written)) : written

const lengthOf = (written: string): string =>
  templateExpressions(written).length === 0
    ? numberOf(Buffer.byteLength(asRead(written)), 'byte')
    : 'text filled in later'

async function diffOf(rooms: Rooms, state: PlanState, attempt: Attempt): Promise<string> {
  const runner = rooms.runners.get('edit')
  if (runner?.preview === undefined) return JSON.stringify(attempt.action)
  const { text } = await runner.preview(
    attempt,
    {
      root: rooms.root,
      stateDir: rooms.stateDir,
      owner: 'preview',
      write: writeAgreed(state, attempt.definition),
      environment: rooms.environment,
      about: rooms.about,
      evaluate: () => ({ ok: false, message: 'an edit evaluates nothing' }),
      log: () => {},
      monotonic: rooms.clock.monotonic,
    },
    new AbortController().signal,
  )
  return text
}

function wordsOf(does: ShownAction): readonly string[] {
  if ('argv' in does) return does.argv
  if ('script' in does) return [does.script]
  if ('lines' in does) return does.lines
  return 'instruction' in does && does.instruction !== null ? [does.instruction] : []
}

/** Inputs beside the action. Environment values of the plan may be secret, so they are not searched. */
function givenTo(
  does: ShownAction,
  env: { readonly [name: string]: string },
  written: readonly string[],
): readonly string[] {
  const values = Object.entries(env).flatMap(([name, value]) => (written.includes(name) ? [] : [value]))
  return [...values, 'stdin' in does ? (does.stdin ?? '') : '']
}

function namesOf(action: Action, words: readonly string[], cwd: string, root: string) {
  // Prose mentions files in passing; the claimant reads what it needs.
  const named = actionFacts(action).named?.(action) ?? []
  return named === 'words' ? namedFiles(root, cwd, words) : namedFiles(root, '.', named)
}

/** Probe, checks, preconditions and undo. The definition hash covers their words, but not the files they name. */
function besidesOf(definition: TaskDefinition): readonly string[] {
  const { accept = [], preconditions = [], postconditions = [], probe, tries, compensate } = definition
  const checks = (label: string, criteria: typeof accept): readonly string[] =>
    criteria.flatMap(one => {
      const command = commandOf(one)
      return command === null ? [] : [`${label}: ${lineOf(command)}`]
    })
  const by = tries === undefined ? [] : contendersOf(definition).map(({ label }) => label)
  return [
    ...checks('before it', preconditions),
    ...(by.length === 0 ? [] : [`the best of ${by.length} tries: ${by.join(', ')}`]),
    ...(tries?.prepare === undefined ? [] : [`first in each try: ${lineOf(tries.prepare)}`]),
    ...checks('to accept it', accept),
    ...checks('after it', postconditions),
    ...(probe === undefined ? [] : [`after a crash: ${lineOf(probe)}`]),
    ...(compensate === undefined ? [] : [`to undo it: ${undoOf(definition, compensate)}`]),
  ]
}

const lineOf = (command: CommandLine): string => ('argv' in command ? JSON.stringify(command.argv) : command.script)

function undoOf(definition: TaskDefinition, compensate: NonNullable<TaskDefinition['compensate']>): string {
  if (compensate.type === 'task') return `the task ${compensate.task}`
  const { command, agreed } = actionFacts(compensate)
  const line = command?.(compensate) ?? null
  if (line !== null) return lineOf(line)
  const shown = agreed?.({ ...definition, action: compensate })
  return shown?.type === 'request' && shown.lines.length > 0 ? shown.lines.join('\n') : JSON.stringify(compensate)
}

const hashes = new WeakMap<PlanDefinition, { readonly written: Sha256; readonly policy: Sha256 }>()

/** Expanded items are not written by the author; they appear in the inputs of each task. */
export const writtenHash = (plan: PlanDefinition): Sha256 => hashesOf(plan).written

/** Covers the surrounding policy layers too, if there are any. */
export function policyHash({ definition, layers }: Pick<PlanState, 'definition' | 'layers'>): Sha256 {
  if (layers.length === 0) return hashesOf(definition).policy
  const { policy = {} } = definition
  return sha256(canonicalJson({ policy, layers } as unknown as Json))
}

function hashesOf(plan: PlanDefinition) {
  const known = hashes.get(plan)
  if (known !== undefined) return known
  const made = {
    written: definitionHash({ ...plan, tasks: plan.tasks.map(asWritten) }),
    policy: sha256(canonicalJson((plan.policy ?? {}) as unknown as Json)),
  }
  hashes.set(plan, made)
  return made
}

function asWritten(task: TaskDefinition): TaskDefinition {
  const { forEach, action } = task
  const inner = action.type === 'subplan' ? { ...action, tasks: action.tasks.map(asWritten) } : action
  if (forEach?.in === undefined) return action === inner ? task : { ...task, action: inner }
  return { ...task, action: inner, forEach: { in: forEach.in } }
}

/** Hosts in addresses such as `user@host:path`, and declared ones. */
export function hostsIn(texts: readonly string[]): readonly string[] {
  const found = new Set<string>()
  for (const text of texts) {
    const bounded = text.slice(0, 100_000)
    for (const [, host] of bounded.matchAll(/[a-z][a-z0-9+.-]{0,30}:\/\/(?:[^\s/@'"]{0,500}@)?([^\s/:?#'"]+)/gi))
      found.add(host!)
    for (const [, host] of bounded.matchAll(/(?:^|[\s'"=])[\w.-]+@([\w-]+(?:\.[\w-]+)*):/g)) found.add(host!)
    for (const [host] of bounded.matchAll(/\b(?:\d{1,3}\.){3}\d{1,3}\b|\blocalhost\b/g)) found.add(host)
  }
  return [...found].map(host => host.toLowerCase()).sort()
}

function costWords(budget: Budget | undefined): string {
  const { cost, timeMs, attempts, tokens, calls } = budget ?? {}
  const limits = [
    ...(cost === undefined ? [] : [`at most ${cost.amount} ${cost.currency}`]),
    ...(timeMs === undefined ? [] : [`at most ${timeMs / 1000} s`]),
    ...(attempts === undefined ? [] : [`at most ${attempts} attempts`]),
    ...(tokens === undefined ? [] : [`at most ${tokens} tokens`]),
    ...(calls === undefined ? [] : [`at most ${calls} calls`]),
  ]
  return limits.length === 0 ? 'no budget said' : limits.join(', ')
}

export function shownTexts({ title, description, rationale, risks }: TaskDefinition): ShownWords {
  return {
    title,
    description,
    rationale,
    risks,
  }
}

export function differenceOf(approved: ShownTask, now: ShownTask): string {
  const names = Object.keys(now).filter(
    key => canonicalJson(fieldOf(approved, key)) !== canonicalJson(fieldOf(now, key)),
  )
  const fields = names.flatMap(name => (name in FIELD_WORDS ? [FIELD_WORDS[name as keyof typeof FIELD_WORDS]] : []))
  const files = [
    ...new Set([...changedFiles(approved, now), ...changedReviews(approved.reviewed ?? [], now.reviewed ?? [])]),
  ]
  const all = [...new Set([...fields, ...(files.length === 0 ? [] : [files.slice(0, 5).join(', ')])])]
  return all.length === 0 ? 'it is not what was approved' : `${all.join(', ')} changed since`
}

const FIELD_WORDS = {
  definition: 'the plan',
  policy: 'its policy',
  approvers: 'who must approve',
  visit: 'the visit',
  open: 'what is known of it',
  does: 'what it does',
  inputs: 'its inputs',
  values: 'its values',
  env: 'its environment',
  feedback: 'what was said about it',
  cwd: 'the folder it runs in',
  program: 'the program it starts',
  remotes: 'where it pushes to',
  push: 'what it pushes, or how',
} as const

export function changedFiles(approved: ShownTask, now: ShownTask): readonly string[] {
  const before = new Map(approved.files.map(({ path, sha256 }) => [path, sha256]))
  return [
    ...now.files.filter(({ path, sha256 }) => before.get(path) !== sha256).map(({ path }) => path),
    ...approved.files.filter(({ path }) => !now.files.some(file => file.path === path)).map(({ path }) => path),
  ]
}

function changedReviews(approved: readonly ShownChange[], now: readonly ShownChange[]): readonly string[] {
  const stands = new Map(now.map(change => [change.path, change.now]))
  return approved.filter(({ path, now: was }) => stands.get(path) !== was).map(({ path }) => path)
}

const fieldOf = (shown: ShownTask, key: string): Json => (shown as unknown as JsonObject)[key] ?? null
