// Criteria that cannot lie (C21). A sentence somebody wrote becomes an expression only when every part of it is understood and
// everything it looks at is known; a command is one only when it was given as one; all else is prose and needs a verdict by a
// critic or a person. The sentence itself is always kept.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { CommandLine, Criterion } from '../../../domain/plan.ts'
import { type Compilation, compile, VARIABLES } from '../../../format/expression/expression.ts'
import { raiseCriterion } from '../../../format/plan/definition-to-document.ts'
import { readDuration, readSize } from '../../../format/text/units.ts'
import { readPipeline } from './pipeline.ts'

// One sentence of a criterion, and the few ways in which a sentence says something that can be computed: a comparison with units,
// a count of a declared output, emptiness, an exit code, an expression. In any doubt it is prose.

/** What a criterion may look at. */
interface Known {
  /** Declared outputs and artifacts of the task. */
  readonly outputs?: Iterable<string>
  readonly inputs?: Iterable<string>
  /** Results inside the task's pipeline: they may or may not be reported. */
  readonly results?: Iterable<string>
  /** Tasks of the plan that an expression may name. */
  readonly tasks?: Iterable<string>
  /** When it is judged; what has no value then makes it prose. Any time, unless said otherwise. */
  readonly judged?: 'before' | 'after' | 'failed'
  /** Does the task have an exit code? Only commands do. True unless said otherwise. */
  readonly exit?: boolean
}

interface CriterionReading {
  readonly type: 'expect' | 'check' | 'prose'
  /** As it stands in a canonical document. */
  readonly document: Json
  /** Words of the sentence that the expression does not check, e.g. `canonical (IETF, official repos)`. */
  readonly unchecked?: string
}

const SENTENCE_MAX = 500

function readSentence(text: string, known: Known): CriterionReading {
  const prose: CriterionReading = { type: 'prose', document: text }
  const line = text.trim()
  if (line === '' || line.length > SENTENCE_MAX || line.includes('\n')) return prose
  const found = exitCode(line) ?? emptiness(line, known) ?? count(line, known) ?? comparison(line, known)
  const expect = found?.expression ?? asWritten(line)
  if (expect === null || !sound(expect, known)) return prose
  const unchecked = found?.unchecked
  return {
    type: 'expect',
    document: expect === text ? { expect } : { expect, text },
    unchecked,
  }
}

interface Found {
  readonly expression: string
  readonly unchecked?: string
}

/** `exit code 0`, `exits with 0`. */
function exitCode(line: string): Found | null {
  const match = /^(?:the )?(?:command )?exit(?:s|ed)?(?: (?:code|status))?(?: (?:is|of|with|==?))? (\d{1,3})$/i.exec(
    line,
  )
  return match === null ? null : { expression: `exit == ${Number(match[1])}` }
}

/** `top10 is empty`, `sources are not empty`. */
function emptiness(line: string, known: Known): Found | null {
  const match = /^([A-Za-z_][\w.-]*) (?:is|are) (not |non-?)?empty$/i.exec(line)
  if (match === null) return null
  const sign = match[2] === undefined ? '== 0' : '> 0'
  const name = match[1] as string
  const place = placeOf(name, known)
  if (place !== null) return { expression: `size(${place}) ${sign}` }
  // A result inside the pipeline is looked at only if it was reported.
  if (!has(known.results, name) || !PLAIN.test(name)) return null
  return { expression: `has(outputs.${name}) && size(outputs.${name}) ${sign}` }
}

const AMOUNTS: { readonly [words: string]: string } = {
  __proto__: null as never,
  'at least': '>=',
  'no fewer than': '>=',
  'at most': '<=',
  'no more than': '<=',
  'more than': '>',
  'fewer than': '<',
  'less than': '<',
  exactly: '==',
}
const SIGNS: { readonly [sign: string]: string } = { '=': '==', '≥': '>=', '≤': '<=', '≠': '!=' }

/** `>= 5 canonical sources (IETF, …)`, when `sources` is declared. */
function count(line: string, known: Known): Found | null {
  const match =
    /^(>=|<=|==|=|>|<|≥|≤|at least|at most|exactly|more than|fewer than|less than|no more than|no fewer than) ?(\d{1,9}) (\S.*)$/i.exec(
      line,
    )
  if (match === null) return null
  const sign = AMOUNTS[(match[1] as string).toLowerCase()] ?? SIGNS[match[1] as string] ?? (match[1] as string)
  const words = (match[3] as string).split(' ')
  // The thing that is counted stands before whatever tells more about it.
  const more = words.findIndex(word =>
    /^\(|^(?:with|of|in|for|from|per|that|which|across|on|by|to|and|or|who|where)$/i.test(word),
  )
  const head = (more === -1 ? words : words.slice(0, more)).at(-1)?.replace(/[.,;:]$/, '')
  if (head === undefined || head === '') return null
  const name = [head, `${head}s`, head.replace(/s$/i, '')].find(one => has(known.outputs, one))
  if (name === undefined) return null
  const rest = words.filter(
    (word, index) => !(index === (more === -1 ? words.length : more) - 1 && word.startsWith(head)),
  )
  return {
    expression: `size(${member('outputs', name)}) ${sign} ${Number(match[2])}`,
    ...(rest.length === 0 ? {} : { unchecked: rest.join(' ') }),
  }
}

/** `memory.has_space >= 50MB`, `coverage >= 80`, `network.online == true`. */
function comparison(line: string, known: Known): Found | null {
  const match = /^([A-Za-z_][\w.-]*) ?(>=|<=|==|!=|=|>|<|≥|≤|≠) ?(\S.*)$/.exec(line)
  if (match === null) return null
  const place = placeOf(match[1] as string, known)
  const value = measured(match[3] as string)
  if (place === null || value === null) return null
  return { expression: `${place} ${SIGNS[match[2] as string] ?? match[2]} ${value}` }
}

function measured(text: string): string | null {
  if (/^(?:true|false|null|-?\d{1,15}(?:\.\d{1,15})?)$/.test(text)) return text
  if (/^'[^'\\]*'$|^"[^"\\]*"$/.test(text)) return text
  const size = readSize(/^[\d. ]+[kmgt]b$/.test(text) ? text.toUpperCase() : text)
  if (size.ok) return String(size.value)
  const duration = readDuration(text)
  return duration.ok ? String(duration.value) : null
}

/** Where a name's value stands: a variable of expressions, a declared output, an input. */
function placeOf(name: string, known: Known): string | null {
  const [root = '', ...fields] = name.split('.')
  if (has(known.outputs, name)) return member('outputs', name)
  if (has(known.inputs, name)) return member('inputs', name)
  if (!fields.every(field => PLAIN.test(field))) return null
  const path = fields.map(field => `.${field}`).join('')
  if (has(known.outputs, root)) return `${member('outputs', root)}${path}`
  if (has(known.inputs, root)) return `${member('inputs', root)}${path}`
  return (VARIABLES as readonly string[]).includes(root) ? name : null
}

/** Variables that have no value before, after, or at a failure of an attempt. */
const UNBOUND: { readonly [when: string]: readonly string[] } = {
  before: ['exit', 'stdout', 'stderr', 'outputs', 'error', 'failure_class'],
  after: ['memory', 'network', 'error', 'failure_class'],
  failed: ['memory', 'network'],
}
const PLAIN = /^[A-Za-z_]\w*$/
const COMPARING = new Set(['==', '!=', '<', '<=', '>', '>=', '&&', '||', '!_', 'in', 'call', 'rcall'])

/** An expression that somebody wrote as one. A single word is not: `plan` is also a word of prose. */
function asWritten(line: string): string | null {
  // Most sentences begin like no expression, and compiling one in vain is dear.
  const first = /^[!(\s]*([A-Za-z_]\w*)/.exec(line)?.[1]
  if (first === undefined || !BEGINNINGS.has(first)) return null
  const compilation = compiled(line)
  return compilation.ok && COMPARING.has(compilation.compiled.ast.op) ? line : null
}

/** It can be read, looks at something, and that will have a value: a constant would be silently true. */
function sound(expression: string, known: Known): boolean {
  const compilation = compiled(expression)
  if (!compilation.ok) return false
  const { variables, tasks } = compilation.compiled.references
  const unbound: readonly string[] = known.judged === undefined ? [] : (UNBOUND[known.judged] ?? [])
  const bound = variables.every(name => !unbound.includes(name) && !(name === 'exit' && known.exit === false))
  return bound && variables.length > 0 && tasks.every(task => has(known.tasks, task))
}

const BEGINNINGS: ReadonlySet<string> = new Set([
  ...VARIABLES,
  'size',
  'has',
  'int',
  'double',
  'string',
  'bool',
  'matches',
])
/** The same few expressions come again and again in a large plan. */
const remembered = new Map<string, Compilation>()
const REMEMBERED_MAX = 1_000

function compiled(expression: string): Compilation {
  const known = remembered.get(expression)
  if (known !== undefined) return known
  const compilation = compile(expression)
  if (remembered.size >= REMEMBERED_MAX) remembered.clear()
  remembered.set(expression, compilation)
  return compilation
}

function has(names: Iterable<string> | undefined, name: string): boolean {
  for (const one of names ?? []) if (one === name) return true
  return false
}

function member(of: 'outputs' | 'inputs', name: string): string {
  return PLAIN.test(name) ? `${of}.${name}` : `${of}['${name.replace(/[\\']/g, '\\$&')}']`
}

export type { CriterionReading, Known }

/**
 * A sentence, or a map that says `check`, `command`, `run`, `expect`, or `prose` for a sentence that must not be read. What is
 * none of these is handed on for the schema to refuse.
 */
export function readCriterion(criterion: Json, known: Known = {}): CriterionReading {
  if (typeof criterion === 'string') return readSentence(criterion, known)
  if (criterion === null || typeof criterion !== 'object' || Array.isArray(criterion))
    return { type: 'prose', document: criterion }
  const map = criterion as JsonObject
  const keys = Object.keys(map)
  const command = COMMAND_KEYS.find(key => Object.hasOwn(map, key))
  const text = TEXT_KEYS.find(key => Object.hasOwn(map, key))
  const words: JsonObject = text === undefined ? {} : { text: map[text] as Json }
  // A key we do not know may change what is meant, so the schema gets to see it.
  if (keys.some(key => key !== command && key !== text && key !== 'expect' && key !== 'prose'))
    return { type: 'prose', document: map }
  if (command !== undefined && !Object.hasOwn(map, 'expect')) {
    const line = map[command] as Json
    const calls = command !== 'check' && typeof line === 'string' && readPipeline(line).ok
    return calls
      ? { type: 'prose', document: text === undefined ? line : `${String(map[text])}: ${line}` }
      : { type: 'check', document: { check: line, ...words } }
  }
  if (command === undefined && Object.hasOwn(map, 'expect'))
    return { type: 'expect', document: { expect: map.expect as Json, ...words } }
  if (keys.length === 1 && typeof map.prose === 'string') return { type: 'prose', document: map.prose }
  const alone = text === undefined ? undefined : map[text]
  return keys.length === 1 && typeof alone === 'string' ? readSentence(alone, known) : { type: 'prose', document: map }
}

/** A criterion as another format writes it: its sentence, where reading that gives the same criterion again. */
export function printCriterion(criterion: Criterion, known: Known): Json {
  if (criterion.type === 'check')
    return {
      check: raisedCommand(criterion.command),
      ...(criterion.text === undefined ? {} : { text: criterion.text }),
    }
  if (criterion.type === 'tests') return raiseCriterion(criterion)
  if (criterion.type === 'prose') {
    const { text } = criterion
    return same(readCriterion(text, known).document, text) ? text : { prose: text }
  }
  const { expression: expect, text } = criterion
  const wanted: Json = text === undefined ? { expect } : { expect, text }
  return same(readCriterion(text ?? expect, known).document, wanted) ? (text ?? expect) : wanted
}

const COMMAND_KEYS = ['check', 'command', 'run']
const TEXT_KEYS = ['text', 'description', 'criterion']
function raisedCommand(command: CommandLine): Json {
  return 'argv' in command ? command.argv : command.script
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
