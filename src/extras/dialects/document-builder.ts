// Reading another format's maps into the canonical document. A Draft is the document in the making: what it will say, where
// each part came from, and what must be told about it. Fields go over one map: they move known keys to canonical ones, mark
// where each came from, and keep the rest in `extra`, with a warning, so that nothing is lost and nothing is guessed.
// Values are handed on as they are: the schema then says what is wrong with them, at the place they were written.

import { advise, type Hint, quoted } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import type { TaskStatus } from '../../domain/status.ts'
import type { EndedStatus, Reading } from '../../format/plan/dialect.ts'
import { endedStatus } from '../../format/plan/dialect.ts'
import { DIAGNOSTICS_MAX, type Diagnostic, type DocumentFault, type Path } from '../../format/text/diagnostic.ts'
import { isList, type Source } from '../../format/text/source.ts'
import { Trace, type Where } from '../../format/text/source-map.ts'
import type { StatusWords } from '../../format/text/status-words.ts'

export { Names, planSlug, taskSlug, writtenIds } from './names.ts'

/** C2: the keys under which formats say what must be done before. */
export const NEEDS_KEYS = ['needs', 'depends_on', 'dependsOn', 'dependencies'] as const

/** Where a part of what was read stands in the text, for texts that are not YAML or JSON. */
export type Locate = (path: Path) => { readonly line: number; readonly column: number }

export class DocumentBuilder {
  readonly trace: Trace
  readonly warnings: DocumentFault[] = []
  readonly sketch: DocumentFault[] = []
  readonly ended = new Map<TaskName, EndedStatus>()
  readonly underWay = new Set<TaskName>()
  readonly #faults: Diagnostic[] = []
  readonly #source: Source
  readonly #locate: Locate | null

  constructor(source: Source, locate: Locate | null = null) {
    this.#source = source
    this.#locate = locate
    this.trace = locate === null ? new Trace() : new LineTrace(locate)
  }

  /** The fields of a map that stands at `at` in what was read, and whose canonical form stands at `to`. */
  fields(map: JsonObject, at: Path, to: Path): Fields {
    this.trace.mark(to, { path: at })
    return new Fields(this, map, at, to)
  }

  /** Refuses the text; the path is one of the text that was read. */
  refuse(complaint: DocumentFault): void {
    const { message, hint = 'see docs/formats/dialects.md', path } = complaint
    const { line, column } = this.#locate?.(path) ?? { line: 1, column: 1 }
    const { read } = this.#source
    if (this.#locate === null && read.ok) this.#faults.push(read.document.place(complaint))
    else this.refuseAt(line, column, message, hint)
  }

  /** Refuses it at a line of the text. */
  refuseAt(line: number, column: number, message: string, hint: Hint): void {
    this.#faults.push({ severity: 'error', line, column, message, hint })
  }

  /** A warning about a place of the canonical document. */
  warn(path: Path, message: string, hint: Hint): void {
    this.warnings.push({ severity: 'warning', path, message, hint })
  }

  /** The place of the canonical document shows that this is a sketch, which cannot be run. */
  sketched(path: Path, message: string, hint = SKETCH_HINT): void {
    this.sketch.push({ severity: 'warning', path, message, hint })
  }

  /** What was read, with `<placeholders>` in it found. */
  reading(plan: JsonObject): Reading {
    if (this.#faults.length > 0) return { ok: false, diagnostics: this.#faults }
    for (const path of placeholders(plan)) {
      this.sketched(path, `${JSON.stringify(String(at(plan, path)).trim())} is a placeholder`)
    }
    const { trace, warnings, sketch, ended, underWay } = this
    return {
      ok: true,
      plan: isList(plan.tasks) ? { ...plan, tasks: plan.tasks.map(withKind) } : plan,
      trace,
      warnings,
      sketch,
      ended,
      underWay,
    }
  }
}

const ACTIONS = ['run', 'edit', 'decide', 'gate', 'git', 'checkpoint', 'model', 'agent', 'http', 'db', 'runner', 'kind']
const DEPLOY =
  /^(?:step\s+)?[\d.):\s]*(?:deploy(?! (?:keys?|scripts?|docs?|guides?|configs?|pipelines?|logs?)\b)(?!.*\b(?:staging|test|dev|development|preview|local\w*)\b)|(?:deploy|publish|release|ship|promote|push|roll out)\b.*\b(?:prod|production|live|npm|pypi|crates\.io|maven|rubygems|docker ?hub|(?:app|play) store|marketplace|registry|users|customers))\b/i

/**
 * Most of these formats have no word for the kind of a task, so a title that commands a deployment is one: a person is asked before
 * somebody claims it.
 */
function withKind(task: Json): Json {
  if (!isMap(task)) return task
  if (isList(task.subplan)) return { ...task, subplan: task.subplan.map(withKind) }
  const { title, description } = task
  const said = typeof title === 'string' ? title : typeof description === 'string' ? description.split('\n', 1)[0]! : ''
  return DEPLOY.test(said) && !ACTIONS.some(key => Object.hasOwn(task, key)) ? { ...task, kind: 'deploy' } : task
}

/** Marks lines instead of paths. */
class LineTrace extends Trace {
  readonly #locate: Locate

  constructor(locate: Locate) {
    super()
    this.#locate = locate
  }

  override mark(path: Path, where: Where): void {
    super.mark(path, 'path' in where ? this.#locate(where.path) : where)
  }
}

const SKETCH_HINT = 'a sketch can be looked at, not run: put a value in its place'

export class Fields {
  readonly at: Path
  readonly to: Path
  readonly map: JsonObject
  readonly #draft: DocumentBuilder
  readonly #said: { [key: string]: Json } = {}
  readonly #extra: { [key: string]: Json } = {}
  readonly #taken = new Set<string>()

  constructor(draft: DocumentBuilder, map: JsonObject, at: Path, to: Path) {
    this.#draft = draft
    this.map = map
    this.at = at
    this.to = to
  }

  /** The value of a key, which then counts as read. */
  take(key: string): Json | undefined {
    if (!Object.hasOwn(this.map, key)) return undefined
    this.#taken.add(key)
    return this.map[key]
  }

  /** The first of several names of one thing that is there. The others, if there too, are kept in `extra`. */
  first(keys: readonly string[]): { readonly key: string; readonly value: Json } | null {
    const key = keys.find(one => Object.hasOwn(this.map, one))
    return key === undefined ? null : { key, value: this.take(key) as Json }
  }

  /** Says `key` in the canonical document; `from` is the key it was read from, or a path inside it. */
  put(key: string, value: Json | undefined, from?: string | Path): void {
    if (value === undefined) return
    this.#said[key] = value
    if (from !== undefined) this.mark([key], typeof from === 'string' ? [from] : from)
  }

  /** The part of the canonical map at `path` was read from `from`, both seen from this map. */
  mark(path: Path, from: Path): void {
    this.#draft.trace.mark([...this.to, ...path], { path: [...this.at, ...from] } satisfies Where)
  }

  said(key: string): Json | undefined {
    return this.#said[key]
  }

  /** Moves keys that mean the same under the same name. */
  copy(keys: readonly string[]): void {
    for (const key of keys) this.put(key, this.take(key), key)
  }

  /** Moves one key to its canonical name. */
  rename(from: string, to: string): void {
    const value = this.take(from)
    if (value !== undefined) this.put(to, value, from)
  }

  /** Keeps keys that are known to have no word here. */
  keep(keys: readonly string[]): void {
    for (const key of keys) this.remember(key, this.take(key))
  }

  remember(key: string, value: Json | undefined): void {
    if (value !== undefined) this.#extra[key] = value
  }

  /** The keys nobody took. */
  get rest(): readonly string[] {
    return Object.keys(this.map).filter(key => !this.#taken.has(key))
  }

  /** Keeps whatever nobody took, with a warning that names the word that was probably meant. */
  keepRest(known: readonly string[]): void {
    for (const [key, value] of Object.entries(this.map)) {
      if (this.#taken.has(key)) continue
      this.#extra[key] = value
      // Nobody reads more, and looking for what was meant takes time.
      if (this.#draft.warnings.length >= 2 * DIAGNOSTICS_MAX) continue
      const near = suggest(key.slice(0, 60), known)
      this.#draft.warnings.push({
        severity: 'warning',
        path: [...this.to, 'extra', key],
        atKey: true,
        message: `'${key.slice(0, 60)}' is kept, but has no effect here`,
        hint: near === null || near === key ? "it is printed back under 'extra'" : `did you mean '${near}'?`,
      })
      this.mark(['extra', key], [key])
    }
  }

  /** The canonical map. */
  document(): JsonObject {
    const extra: JsonObject = Object.keys(this.#extra).length === 0 ? {} : { extra: this.#extra }
    return { ...this.#said, ...extra }
  }
}

/** Reads a status key: what has ended is told, a word we would not print is remembered, an unknown one is refused. */
export function readStatus(
  draft: DocumentBuilder,
  fields: Fields,
  key: string,
  name: Json,
  words: StatusWords<TaskStatus>,
): void {
  const word = fields.take(key)
  if (word === undefined) return
  if (alternatives(word) !== null) {
    fields.remember('status', word)
    draft.sketched([...fields.to], `'${key}' lists alternatives: ${String(word).slice(0, 80)}`, 'choose one of them')
    return
  }
  const status = words.read(word)
  if (!status.ok) {
    draft.refuse({ path: [...fields.at, key], message: status.message, hint: status.hint })
    return
  }
  const ended = endedStatus(status.status)
  if (status.status === 'running') draft.underWay.add(name as TaskName)
  if (ended !== null) draft.ended.set(name as TaskName, ended)
  else if (status.status !== 'pending') {
    fields.remember('status', word)
    draft.warn(
      [...fields.to, 'extra', 'status'],
      `the task was '${String(word)}' when this was written`,
      status.status === 'running' ? NOT_CLAIMED : 'whether that is still so is found out when the plan runs',
    )
    fields.mark(['extra', 'status'], [key])
  }
  if (status.remember !== null) fields.remember('status', status.remember)
}

/** Work that somebody has in hand belongs to somebody; a document does not say in whose name. */
export const NOT_CLAIMED = advise`nobody has claimed it here yet: ${quoted('import', { start: true })} claims it for you`

/** One thing or a list of them, as a list. */
export function listOf(value: Json): readonly Json[] {
  return isList(value) ? value : [value]
}

/** `a|b|c` as its parts; null for anything else. A schema that shows what may stand there, not a value. */
export function alternatives(value: Json | undefined): readonly string[] | null {
  if (typeof value !== 'string' || value.length > 1_000 || !value.includes('|')) return null
  const parts = value.split('|').map(part => part.trim())
  return parts.every(part => /^[\w.-]{1,60}$/.test(part)) ? parts : null
}

/** `<id>`, `<task id>`: something to be filled in. */
export function isPlaceholder(value: Json | undefined): value is string {
  return typeof value === 'string' && value.length <= 100 && /^\[?<[^<>\n]{1,80}>(\.{3})?\]?$/.test(value.trim())
}

const PLACEHOLDERS_MAX = 20

/** Where placeholders stand in a document; not in `extra`, whose places were told when they were put there. */
function placeholders(plan: JsonObject): readonly Path[] {
  const found: Path[] = []
  const visit = (value: Json, path: Path): void => {
    if (found.length >= PLACEHOLDERS_MAX) return
    if (typeof value === 'string') {
      if (isPlaceholder(value)) found.push(path)
    } else if (isList(value)) for (const [index, item] of value.entries()) visit(item, [...path, index])
    else if (isMap(value))
      for (const [key, item] of Object.entries(value)) if (key !== 'extra') visit(item, [...path, key])
  }
  visit(plan, [])
  return found
}

function at(root: Json, path: Path): Json | undefined {
  let value: Json | undefined = root
  for (const step of path) value = (value as { readonly [key: string | number]: Json })[step]
  return value
}
