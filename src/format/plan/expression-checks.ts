// Checks every expression and template of a document when the plan is read, including the tasks they refer to.

import { isMap, type Json, type JsonObject, wordList } from '../../domain/json.ts'
import { memoryKey, memoryKeys } from '../../domain/memory/memory-items.ts'
import { suggest } from '../../domain/phrases.ts'
import type { ValueKind } from '../../domain/plan.ts'
import { judgeIn } from '../../domain/plan-rules/judge.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { actionPlaces, RESOLVED_KEYS } from '../actions/actions.ts'
import { compile } from '../expression/expression.ts'
import { parseTemplate, templateExpressions } from '../expression/template.ts'
import { DIAGNOSTICS_MAX, type DocumentFault, type Path, printPath } from '../text/diagnostic.ts'

/** A document that has passed the schema, before conversion. */
export interface PlanDocument {
  readonly done?: unknown
  readonly memory?: unknown
  readonly tasks: readonly TaskDocument[]
}

interface TaskDocument {
  readonly id: string
  readonly subplan?: readonly (string | TaskDocument)[]
  readonly recover?: readonly { readonly replan?: true | { readonly add?: readonly TaskDocument[] } }[]
  readonly [key: string]: unknown
}

export function expressionFaults(
  plan: PlanDocument,
  /** Additional task names that are allowed; null: any name. */
  others: Iterable<string> | null = [],
  { lenient = false }: { readonly lenient?: boolean } = {},
): readonly DocumentFault[] {
  const names = others === null ? null : new Set<string>([...plan.tasks.flatMap(task => namesOf(task)), ...others])
  const known: Known = { names, suggestions: SUGGESTIONS_MAX, plan }
  const faults: DocumentFault[] = []
  for (const found of embedded(plan)) {
    if (faults.length >= FAULTS_MAX) break
    const { type, text, path } = found
    if (lenient && TEXTS.has(path.at(-1) ?? '')) continue
    faults.push(...(type === 'expression' ? bare(text, path, known) : template(found, known)))
  }
  if (!lenient) for (const fault of misplaced(plan)) if (faults.push(fault) >= FAULTS_MAX) break
  return faults
}

/** Fields with templates, resolved when the task begins or is claimed. */
const TEMPLATES: ReadonlySet<ValueKind> = new Set(wordList('prose inputs environment template command undo review'))
/** Fields that contain expressions without braces. */
const EXPRESSIONS: ReadonlySet<ValueKind> = new Set(['expression', 'criteria', 'items', 'modes'] as const)
const RESOLVED = [...WRITTEN.filter(({ value }) => TEMPLATES.has(value)).map(({ key }) => key), ...RESOLVED_KEYS].join(
  ', ',
)
/** Prose from other formats may contain anything, including text that looks like an expression. */
const TEXTS: ReadonlySet<string | number> = new Set(
  WRITTEN.filter(({ value }) => value === 'prose').map(({ key }) => key),
)
/** Opaque data that is stored and never interpreted. */
const DATA_KEYS: ReadonlySet<string> = new Set(['extra', 'hypotheses', 'memory', 'artifacts'])

/** Finds `${{` in fields that are not templates, where it would be used verbatim. */
function* misplaced(plan: PlanDocument): Generator<DocumentFault> {
  let known: Set<string> | null = null
  for (const { text, path } of strings(plan, [])) {
    if (!text.includes('${{') || path.some(step => DATA_KEYS.has(String(step)))) continue
    // Not one of our expressions: may belong to another tool and be intended verbatim.
    if (!templateExpressions(text).some(({ source }) => compile(source).ok)) continue
    known ??= new Set([...embedded(plan)].map(one => printPath(one.path)))
    if (known.has(printPath(path))) continue
    yield {
      path,
      message: `nothing is put in for '\${{ … }}' in ${named(path)}`,
      hint: `it works in a task's ${RESOLVED} and check; elsewhere write the value itself, or '$\${{' for the characters`,
      within: { text: '${{', offset: 0 },
    }
  }
}

/** Unescapes a checked document: `$${{` becomes `${{` in fields that are not templates. */
export const unescaped = <T extends PlanDocument>(plan: T): T =>
  mapPlain(plan, plan, text => text.replaceAll('$${{', () => '${{'))

/** The reverse of `unescaped`, for writing a document. */
export const escaped = (plan: JsonObject): JsonObject =>
  mapPlain(plan, plan as unknown as PlanDocument, text => text.replaceAll('${{', () => '$${{'))

/** Maps the texts that are not templates; returns the same object if none contains `${{`. */
function mapPlain<T>(value: T, plan: PlanDocument, change: (text: string) => string): T {
  let live: Set<string> | null = null
  const map = (item: unknown, path: Path): unknown => {
    if (typeof item === 'string') {
      if (!item.includes('${{')) return item
      live ??= new Set([...embedded(plan)].map(one => printPath(one.path)))
      return live.has(printPath(path)) ? item : change(item)
    }
    if (Array.isArray(item)) {
      const made = item.map((one, index) => map(one, [...path, index]))
      return made.some((one, index) => one !== item[index]) ? made : item
    }
    if (item === null || typeof item !== 'object') return item
    const entries = Object.entries(item).map(
      ([key, one]) => [key, DATA_KEYS.has(key) ? one : map(one, [...path, key])] as const,
    )
    return entries.some(([key, one]) => one !== (item as Record<string, unknown>)[key])
      ? Object.fromEntries(entries)
      : item
  }
  return map(value, []) as T
}

const named = (path: Path): string => `'${String(path.findLast(step => typeof step === 'string') ?? 'the plan')}'`

/** Fields for expressions only are written without braces. */
function bare(text: string, path: Path, known: Known): readonly DocumentFault[] {
  const faults = expression(text, text, 0, path, known)
  if (faults.length === 0 || !text.trimStart().startsWith('${{')) return faults
  return [
    {
      path,
      message: `${named(path)} is an expression already`,
      hint: "leave out '${{' and '}}'",
      within: { text: '${{', offset: 0 },
    },
  ]
}

const FAULTS_MAX = 2 * DIAGNOSTICS_MAX
/** Finding the nearest of 20,000 names takes milliseconds. */
const SUGGESTIONS_MAX = 20

interface Known {
  readonly plan: PlanDocument
  readonly names: ReadonlySet<string> | null
  suggestions: number
}

/** A task and the tasks of its subplan, with their names in expressions. */
function namesOf(task: TaskDocument, prefix = ''): readonly string[] {
  const name = `${prefix}${task.id}`
  const steps = task.subplan ?? []
  return [
    name,
    ...addedTasks(task).map(({ added }) => added.id),
    ...steps.flatMap((step, index) =>
      typeof step === 'string' ? [`${name}/${index + 1}`] : namesOf(step, `${name}/`),
    ),
  ]
}

/** Tasks that a rule of `recover` would add, with their paths. */
function addedTasks(task: TaskDocument): readonly { readonly added: TaskDocument; readonly at: Path }[] {
  return (task.recover ?? []).flatMap(({ replan }, index) =>
    replan === undefined || replan === true
      ? []
      : (replan.add ?? []).map((added, place) => ({ added, at: ['recover', index, 'replan', 'add', place] })),
  )
}

interface Embedded {
  readonly type: 'expression' | 'template'
  readonly text: string
  readonly path: Path
}

function template({ text, path }: Embedded, known: Known): readonly DocumentFault[] {
  if (!text.includes('${{')) return []
  const parsed = parseTemplate(text)
  if (!parsed.ok) return [{ path, message: parsed.message, hint: parsed.hint, within: { text: '${{', offset: 0 } }]
  return parsed.parts.flatMap(part =>
    part.type === 'expression' ? expression(part.source, part.source, 0, path, known, TEMPLATE_HINT) : [],
  )
}

const TEMPLATE_HINT = "write '$${{' for the characters themselves"

function expression(
  source: string,
  within: string,
  offset: number,
  path: Path,
  known: Known,
  fallback?: string,
): readonly DocumentFault[] {
  const compilation = compile(source)
  if (!compilation.ok) {
    const hint = [compilation.hint, fallback].filter(part => part !== undefined).join('; ')
    return [
      {
        path,
        message: compilation.message,
        ...(hint === '' ? {} : { hint }),
        within: { text: within, offset: offset + compilation.position },
      },
    ]
  }
  if (compilation.compiled.references.variables.includes('work') && !judges(known.plan, path))
    return [
      {
        path,
        message: "'work' is only known in the instruction of a 'model' task that judges another",
        hint: 'name the task in a `critic` or a `review`; an agent is shown the work in its brief',
        within: { text: within, offset: offset + Math.max(0, source.search(/\bwork\b/)) },
      },
    ]
  const unread = unreadKey(compilation.compiled.references.memory, known)
  if (unread !== undefined)
    return [
      {
        path,
        message: `the plan does not say that it reads '${unread.slice(0, 100)}' of memory`,
        hint: `add it at the top: memory: { keys: [${unread.slice(0, 100)}] }; it is read when the plan starts`,
        within: { text: within, offset: offset + Math.max(0, source.search(/\bmemory\b/)) },
      },
    ]
  const { names } = known
  if (names === null) return []
  return compilation.compiled.references.tasks
    .filter(name => !names.has(name))
    .map(name => {
      const near = known.suggestions-- > 0 ? suggest(name.slice(0, 100), names) : null
      const hint = near === null ? 'name a task of this plan' : `did you mean '${near}'?`
      const at = Math.max(0, source.indexOf(name))
      return {
        path,
        message: `there is no task '${name.slice(0, 100)}'`,
        hint,
        within: { text: within, offset: offset + at },
      }
    })
}

/** A part of a plan does not say what the whole reads. */
function unreadKey(keys: readonly string[] | null, { plan }: Known): string | undefined {
  if (keys === null || !Object.hasOwn(plan, 'planfold')) return undefined
  const read = memoryKeys({ memory: plan.memory as Json })
  return keys.find(key => key !== 'has_space' && !read.includes(memoryKey(key) ?? key))
}

/** Is it the prompt of a model that judges the work of another task? */
function judges(plan: PlanDocument, path: Path): boolean {
  const place = path.slice(0, -1).reduce<unknown>((at, step) => (at as { [key: string]: unknown })?.[step], plan)
  if (path.at(-1) !== 'instruction' || !isMap(place as Json)) return false
  const { id, model, by } = place as JsonObject
  if (path.at(-2) === 'review') return typeof by === 'string' && judgeIn(by)?.type === 'model'
  const isNaming = (at: Path) => JUDGES.has(String(at.at(-1))) || (at.at(-1) === 'task' && at.at(-2) === 'by')
  return model !== undefined && [...strings(plan.tasks, [])].some(one => one.text === id && isNaming(one.path))
}

const JUDGES: ReadonlySet<string> = new Set(['critic', 'repair'])

function* embedded(plan: PlanDocument): Generator<Embedded> {
  yield* criteria(plan.done, ['done'])
  for (const [index, task] of plan.tasks.entries()) yield* ofTask(task, ['tasks', index])
}

function* ofTask(task: TaskDocument, path: Path): Generator<Embedded> {
  for (const [index, step] of (task.subplan ?? []).entries())
    if (typeof step !== 'string') yield* ofTask(step, [...path, 'subplan', index])
  for (const { added, at } of addedTasks(task)) yield* ofTask(added, [...path, ...at])
  for (const { key, value } of EMBEDDING) if (task[key] !== undefined) yield* ofField(value, task[key], [...path, key])
  for (const { value, content, path: at } of actionPlaces(task, path))
    if (content === 'criteria') yield* criteria(value, at)
    else if (content !== 'expression') yield* strings(value, at)
    else if (typeof value === 'string') yield { type: 'expression', text: value, path: at }
}

const EMBEDDING = WRITTEN.filter(({ value }) => EXPRESSIONS.has(value) || TEMPLATES.has(value))

function* ofField(kind: ValueKind, written: unknown, path: Path): Generator<Embedded> {
  if (kind === 'expression') yield { type: 'expression', text: written as string, path }
  else if (kind === 'criteria') yield* criteria(written, path)
  else if (kind === 'items') yield* items(written, path)
  else if (kind === 'modes') yield* modes(written, path)
  else yield* strings(written, path)
}

function* items(each: unknown, path: Path): Generator<Embedded> {
  const list = isMap(each) ? each.in : each
  const at = isMap(each) ? [...path, 'in'] : path
  if (typeof list === 'string') yield { type: list.includes('${{') ? 'template' : 'expression', text: list, path: at }
}

function* modes(list: unknown, path: Path): Generator<Embedded> {
  for (const [index, { detect }] of (list as readonly JsonObject[]).entries())
    if (isMap(detect))
      yield { type: 'expression', text: detect.expect as string, path: [...path, index, 'detect', 'expect'] }
}

function* criteria(list: unknown, path: Path): Generator<Embedded> {
  for (const [index, item] of ((list ?? []) as readonly Json[]).entries()) {
    if (!isMap(item)) continue
    yield* strings(item.check, [...path, index, 'check'])
    yield* strings(item.tests, [...path, index, 'tests'])
    if (item.expect !== undefined)
      yield { type: 'expression', text: item.expect as string, path: [...path, index, 'expect'] }
  }
}

function* strings(value: unknown, path: Path): Generator<Embedded> {
  if (typeof value === 'string') yield { type: 'template', text: value, path }
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* strings(item, [...path, index])
  else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) yield* strings(item, [...path, key])
  }
}
