// Turns a task definition into an attempt: resolves every `${{ … }}` against recorded outputs. Whether a definition has any is remembered,
// so one without costs one look-up.

import { hash } from 'node:crypto'
import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { actionFacts } from '../../domain/actions/actions.ts'
import type { Feedback, GateAsks } from '../../domain/event.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { TIMEOUT_DEFAULT_MS } from '../../domain/limits.ts'
import type { Action, CommandLine, TaskDefinition } from '../../domain/plan.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import { WORK_FIELDS } from '../../domain/plan-rules/judge.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { judgedBy } from '../../domain/state/task-index.ts'
import type { GivenInputs, Texts, UnresolvedInput } from '../../domain/views/board.ts'
import {
  type Evaluate,
  parseTemplate,
  type Resolved,
  resolve,
  resolveArgv,
  resolveScript,
  resolveText,
} from '../../format/expression/template.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import type { Attempt } from '../../runners/runner.ts'
import { evaluator, feedbackOf, ownContext } from './expressions.ts'

const plain = new WeakMap<TaskDefinition, boolean>()

/** The attempt without resolving; complete if the definition is plain. */
export function attemptAsWritten(state: PlanState, task: TaskState, action: Action = task.definition.action): Attempt {
  const { definition } = task
  const attempt: Attempt = {
    plan: state.id,
    task: definition.id,
    visit: task.visit,
    attempt: Math.max(1, task.attempt),
    key: `${state.id}/${definition.id}/${task.visit}`,
    definition,
    action,
    inputs: definition.inputs ?? {},
    env: definition.env ?? {},
    timeoutMs: timeoutOf(state, task),
    ...(task.waitsSince === null ? {} : { waitsSince: task.waitsSince }),
  }
  const { model } = state.definition.defaults ?? {}
  const asked =
    actionFacts(action).sends === 'models'
      ? { ...attempt, keepAs: keptAs(attempt.key, task), ...(model === undefined ? {} : { model }) }
      : attempt
  if (task.feedback.length === 0) return asked
  const lessons = task.feedback.slice(-1 - LESSONS_MAX, -1).map(lessonText)
  return {
    ...asked,
    feedback: feedbackOf(task),
    ...(lessons.length === 0 ? {} : { lessons }),
    ...(task.conversation === undefined ? {} : { conversation: task.conversation }),
  }
}

/** An attempt that failed is followed by one that asks anew. */
export const keptAs = (key: string, { failures }: TaskState): string => `${key}/${failures}`

const LESSONS_MAX = 20

const lessonText = ({ by, text, visit }: Feedback): string =>
  `${visit === undefined ? '' : `run ${visit}, `}${by}: ${text}`

/** `work`: what a judge may see of the task that it judges. */
export async function resolveAttempt(
  state: PlanState,
  task: TaskState,
  action: Action = task.definition.action,
  work: Json | null = judgedBy(state, task) === null ? null : NOT_YET,
): Promise<Resolved<Attempt>> {
  const { definition } = task
  const attempt = attemptAsWritten(state, task, action)
  if (goesToModel(action) && isConfidential(state.definition, definition))
    return {
      ok: false,
      message: `'${definition.id}' is labelled confidential, so it does not go into a prompt`,
      hint: 'take the label away, or let a command do it',
    }
  if (isPlain(definition)) return { ok: true, value: attempt }
  const bound = { ...ownContext(task), ...(work === null ? {} : { work }) }
  const leaves = goesToModel(action)
  const evaluate = await evaluator(state, bound, { leaves })
  const inputs = resolve(attempt.inputs, evaluate)
  if (!inputs.ok) return inputs
  const withInputs = await evaluator(state, { ...bound, inputs: inputs.value }, { leaves })
  const env = resolve(attempt.env, withInputs)
  if (!env.ok) return env
  const resolved = resolveAction(action, withInputs)
  if (!resolved.ok) return resolved
  const placed = resolvePlaces(definition, withInputs)
  if (!placed.ok) return placed
  const texts = Object.fromEntries(
    Object.entries(env.value as JsonObject).map(([name, value]) => [name, asText(value)]),
  )
  const given = {
    action: resolved.value.action,
    inputs: inputs.value as JsonObject,
    env: { ...texts, ...resolved.value.env },
  }
  const cwd = placed.value.cwd ?? null
  const prompt = isPrompt(definition) ? { prompt: placed.value.instruction ?? null } : {}
  const inputHash = hash('sha256', canonicalJson({ ...given, ...prompt, cwd } as unknown as Json)) as Sha256
  return { ok: true, value: { ...attempt, ...given, definition: placed.value, inputHash } }
}

/** Where an attempt is only looked at before it begins. */
const NOT_YET: Json = Object.fromEntries(WORK_FIELDS.map(name => [name, `(${name}: put in when it begins)`]))

function timeoutOf({ definition: { defaults } }: PlanState, { definition, visitAt, startedAt }: TaskState): number {
  const timeoutMs = definition.timeoutMs ?? defaults?.timeoutMs ?? TIMEOUT_DEFAULT_MS
  if (definition.timeboxMs === undefined) return timeoutMs
  const used = visitAt === null || startedAt === null ? 0 : startedAt - visitAt
  return Math.max(1, Math.min(timeoutMs, definition.timeboxMs - used))
}

/** Working folder, probe and prompt may contain expressions too. */
function resolvePlaces(definition: TaskDefinition, evaluate: Evaluate): Resolved<TaskDefinition> {
  const { cwd, probe, instruction } = definition
  const folder = cwd === undefined ? null : resolveText(cwd, evaluate)
  if (folder?.ok === false) return folder
  const asked = probe === undefined || 'script' in probe ? null : resolveArgv(probe.argv, evaluate)
  if (asked?.ok === false) return asked
  const prompt = isPrompt(definition) && instruction !== undefined ? resolveText(instruction, evaluate) : null
  if (prompt?.ok === false) return prompt
  return {
    ok: true,
    value: {
      ...definition,
      ...(folder === null ? {} : { cwd: folder.value }),
      ...(asked === null ? {} : { probe: { argv: asked.value } }),
      ...(prompt === null ? {} : { instruction: prompt.value }),
    },
  }
}

type WithEnv<T> = T & { readonly env: { readonly [name: string]: string } }

function resolveAction(action: Action, evaluate: Evaluate): Resolved<WithEnv<{ readonly action: Action }>> {
  const made: { [field: string]: unknown } = { ...action }
  let env: { readonly [name: string]: string } = {}
  for (const [field, content] of Object.entries(actionFacts(action).fields ?? {}) as [string, FieldContent][]) {
    if (made[field] === undefined) continue
    const resolved = resolveField(content, made[field], evaluate)
    if (!resolved.ok) return resolved
    const { value } = resolved
    if (content === 'command') {
      const { env: given, ...line } = value as WithEnv<CommandLine>
      made[field] = line
      env = given
    } else made[field] = value
  }
  return { ok: true, value: { action: made as unknown as Action, env } }
}

function resolveField(content: FieldContent, written: unknown, evaluate: Evaluate): Resolved<unknown> {
  switch (content) {
    case 'command':
      return resolveCommand(written as CommandLine, evaluate)
    case 'text':
      return resolveText(written as string, evaluate)
    case 'texts':
      return resolve(written as Json, evaluate, resolveText)
    case 'values':
      return resolve(written as Json, evaluate)
    case 'request':
      return resolveRequest(written as Json, evaluate)
    case 'expression':
    case 'criteria':
      return { ok: true, value: written }
    default:
      return content satisfies never
  }
}

/** Secrets in headers and body stay names, because the resolved request is hashed, shown and journaled. */
function resolveRequest(spec: Json, evaluate: Evaluate): Resolved<Json> {
  if (typeof spec === 'string') return resolveText(spec, evaluate)
  const { headers = {}, body, ...rest } = spec as { readonly [key: string]: Json }
  const made: { [key: string]: Json } = {}
  for (const [key, written] of Object.entries(rest)) {
    const resolved =
      typeof written === 'string' && key !== 'json' ? resolveText(written, evaluate) : resolve(written, evaluate)
    if (!resolved.ok) return resolved
    made[key] = resolved.value
  }
  const named: { [name: string]: Json } = {}
  for (const [name, text] of Object.entries(headers as JsonObject)) {
    const resolved = keepSecretNames(String(text), evaluate)
    if (!resolved.ok) return resolved
    named[name] = resolved.value
  }
  if (Object.keys(named).length > 0) made.headers = named
  if (body !== undefined) {
    const resolved = keepSecretNames(String(body), evaluate)
    if (!resolved.ok) return resolved
    made.body = resolved.value
  }
  return { ok: true, value: made }
}

/** Only the author's text can name a secret. A value that is filled in stays plain text, even if it looks like a reference. */
function keepSecretNames(template: string, evaluate: Evaluate): Resolved<Json> {
  const parsed = parseTemplate(template)
  if (!parsed.ok) return parsed
  const parts: (string | { readonly secret: string })[] = []
  for (const part of parsed.parts) {
    const secret = part.type === 'expression' ? /^secrets\.(\w+)$/.exec(part.source)?.[1] : undefined
    if (secret !== undefined) {
      parts.push({ secret })
      continue
    }
    const evaluated = part.type === 'text' ? ({ ok: true, value: part.text } as const) : evaluate(part.source)
    if (!evaluated.ok) return evaluated
    parts.push(asText(evaluated.value))
  }
  const isPlain = parts.every(part => typeof part === 'string')
  return { ok: true, value: isPlain ? parts.join('') : (parts as Json) }
}

/** The briefing of a claimant. Each input and text is resolved on its own, so that one failure does not hide the others. */
export async function resolveBriefing(state: PlanState, task: TaskState): Promise<GivenInputs> {
  const given = await resolveInputs(state, task, LEAVES)
  const { texts, unresolved } = await resolveTexts(state, task, given.inputs)
  return { ...given, texts, unresolved: [...given.unresolved, ...unresolved] }
}

/** The claimant may be a model, so confidential values are left out. */
const LEAVES = { leaves: true } as const
const TEXTS = ['title', 'description', 'instruction'] as const

/** Texts of a task that contain expressions. One that cannot be resolved stays as written, with its error. */
async function resolveTexts(
  state: PlanState,
  task: TaskState,
  inputs: JsonObject,
): Promise<{ readonly texts: Texts; readonly unresolved: readonly UnresolvedInput[] }> {
  const { definition } = task
  const written = TEXTS.filter(key => mentions(definition[key]))
  if (written.length === 0) return { texts: {}, unresolved: [] }
  const evaluate = await evaluator(state, { ...ownContext(task), inputs }, LEAVES)
  const texts: { -readonly [key in keyof Texts]: string } = {}
  const unresolved: UnresolvedInput[] = []
  for (const key of written) {
    const resolved = resolveText(definition[key]!, evaluate)
    if (resolved.ok) texts[key] = resolved.value
    else unresolved.push({ input: key, message: resolved.message, hint: resolved.hint ?? null })
  }
  return { texts, unresolved }
}

/** Resolves expressions in titles as far as possible. Free when no title has one. */
export async function withTitles<T extends { readonly title: string | null }>(
  state: PlanState,
  shown: readonly T[],
  taskOf: (one: T) => TaskState | undefined,
): Promise<readonly T[]> {
  if (!shown.some(({ title }) => mentions(title))) return shown
  const titled: T[] = []
  for (const one of shown) {
    const task = mentions(one.title) ? taskOf(one) : undefined
    const title = task === undefined ? undefined : (await resolveBriefing(state, task)).texts?.title
    titled.push(title === undefined ? one : { ...one, title })
  }
  return titled
}

export async function resolveAsks(state: PlanState, task: TaskState, asks: GateAsks): Promise<Resolved<GateAsks>> {
  if (!mentions(asks)) return { ok: true, value: asks }
  const { inputs } = await resolveInputs(state, task, {})
  const evaluate = await evaluator(state, { ...ownContext(task), inputs })
  const question = asks.type === 'question' ? resolveText(asks.question, evaluate) : null
  if (question?.ok === false) return question
  const show: string[] = []
  for (const text of ('show' in asks ? asks.show : undefined) ?? []) {
    const shown = resolveText(text, evaluate)
    if (!shown.ok) return shown
    show.push(shown.value)
  }
  return {
    ok: true,
    value: {
      ...asks,
      ...(question === null ? {} : { question: question.value }),
      ...(show.length === 0 ? {} : { show }),
    } as GateAsks,
  }
}

async function resolveInputs(
  state: PlanState,
  task: TaskState,
  options: { readonly leaves?: boolean },
): Promise<Omit<GivenInputs, 'texts'>> {
  const { definition } = task
  const written = Object.entries(definition.inputs ?? {})
  if (isPlain(definition)) return { inputs: Object.fromEntries(written), unresolved: [] }
  const evaluate = await evaluator(state, ownContext(task), options)
  const inputs: [string, Json][] = []
  const unresolved: UnresolvedInput[] = []
  for (const [input, value] of written) {
    const resolved = resolve(value, evaluate)
    if (resolved.ok) inputs.push([input, resolved.value])
    else unresolved.push({ input, message: resolved.message, hint: resolved.hint ?? null })
  }
  return { inputs: Object.fromEntries(inputs), unresolved }
}

export function resolveCommand(command: CommandLine, evaluate: Evaluate): Resolved<WithEnv<CommandLine>> {
  if ('argv' in command) {
    const argv = resolveArgv(command.argv, evaluate)
    return argv.ok ? { ok: true, value: { argv: argv.value, env: {} } } : argv
  }
  return resolveScript(command.script, evaluate)
}

/** True if it contains no expression, so that nothing must be awaited. */
export function isPlain(definition: TaskDefinition): boolean {
  let known = plain.get(definition)
  if (known === undefined) {
    known = ![
      definition.action,
      definition.inputs,
      definition.env,
      definition.compensate,
      definition.cwd,
      definition.probe,
      ...(isPrompt(definition) ? [definition.instruction] : []),
    ].some(mentions)
    plain.set(definition, known)
  }
  return known
}

/** For a model or an agent, the instruction is the prompt and not a text for a claimant. */
const goesToModel = (action: Action): boolean => actionFacts(action).prompts === true
const isPrompt = ({ action }: Pick<TaskDefinition, 'action'>): boolean => goesToModel(action)

function mentions(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('${{')
  if (value === null || typeof value !== 'object') return false
  for (const item of Array.isArray(value) ? value : Object.values(value)) if (mentions(item)) return true
  return false
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
