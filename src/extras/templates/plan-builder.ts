// The plan of a template with its values in it: conditions are evaluated, loops are unrolled, values land as data. The result is a
// document of its own. Its work is bounded, whatever the loops say.

import type { ASTNode } from '@marcbachmann/cel-js'
import type { Hint } from '../../domain/hint.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import { suggest } from '../../domain/phrases.ts'
import { ACTION_KEYS } from '../../format/actions/actions.ts'
import { type Compilation, compile, evaluate, VARIABLES } from '../../format/expression/expression.ts'
import { MACROS } from '../../format/expression/functions.ts'
import { Meter } from '../../format/expression/meter.ts'
import { asLiteral, asText, type Part, parseTemplate } from '../../format/expression/template.ts'
import type { DocumentFault, Path } from '../../format/text/diagnostic.ts'
import { Trace } from '../../format/text/source-map.ts'
import type { Values } from './parameters.ts'
import { kindOfItems, kindUnder, type TextKind } from './text-kind.ts'

/** Nothing stands here: a parameter that was not given. */
const ABSENT = Symbol('absent')
type Made = Json | typeof ABSENT

const NODES_MAX = 200_000
const FAULTS_MAX = 100
const LOOP_NAME = /^[a-z_][a-z0-9_]{0,49}$/i
const CONTROLS = ['if', 'each', 'as']

/** Where something was written, and where it goes. */
interface Spot {
  readonly from: Path
  readonly to: Path
  readonly kind: TextKind
  readonly scope: Scope
}

interface Occurrence {
  readonly value: Json
  readonly from: Path
  readonly scope: Scope
}

/**
 * Walks the plan of a template and makes a fresh document of it: every map and list is new. Without values it only checks: each
 * condition counts as true, each loop goes round once. The work is bounded, whatever the loops say.
 */
export class PlanBuilder {
  readonly faults: DocumentFault[] = []
  readonly expressions: ParameterExpressions
  readonly trace = new Trace()
  readonly #values: Values | undefined
  #nodes = 0
  #characters = 0
  #halted = false

  constructor(known: readonly string[], values?: Values) {
    this.#values = values
    this.expressions = new ParameterExpressions(known)
  }

  /** The document; null when there are faults. */
  plan(plan: JsonObject): JsonObject | null {
    const made = this.#map(plan, { from: ['plan'], to: [], kind: 'plan', scope: { [PARAMS]: this.#values } })
    return this.faults.length > 0 ? null : made
  }

  #make(value: Json, spot: Spot): Made {
    if (!this.#spend(1, typeof value === 'string' ? value.length : 0, spot)) return ABSENT
    this.trace.mark(spot.to, { path: spot.from })
    if (typeof value === 'string') return this.#string(value, spot)
    if (Array.isArray(value)) return this.#list(value, spot)
    return isMap(value) ? this.#map(value, spot) : value
  }

  #map(map: JsonObject, spot: Spot): JsonObject {
    const entries: [string, Json][] = []
    for (const [key, value] of Object.entries(map)) {
      const from = [...spot.from, key]
      if (key.includes('${{') && spot.kind !== 'text')
        this.#fault(from, `the key '${key}' holds an expression`, 'a parameter is a value, never a key', true)
      const made = this.#make(value, { ...spot, from, to: [...spot.to, key], kind: kindUnder(spot.kind, key) })
      if (made !== ABSENT) entries.push([key, made])
      // Without its action a task would be another kind of task: one that waits for an agent.
      else if (spot.kind === 'parts' && ACTION_KEYS.includes(key) && this.#values && this.faults.length === 0)
        this.#fault(
          from,
          `'${key}' has no value, and the task would wait for an agent`,
          "put the task under 'if: params.x != null', or make the parameter required",
        )
    }
    return Object.fromEntries(entries)
  }

  #list(list: readonly Json[], spot: Spot): Json {
    const made: Json[] = []
    const kindOf = kindOfItems(spot.kind, list)
    for (const [index, item] of list.entries()) {
      const at = { ...spot, from: [...spot.from, index], kind: kindOf(index) }
      for (const { value, from, scope } of this.#occurrences(item, at)) {
        if (this.#halted) return made
        const one = this.#make(value, { ...at, from, scope, to: [...spot.to, made.length] })
        // A list in the place of one of several texts stands for its items.
        if (Array.isArray(one) && typeof value === 'string' && spot.kind !== 'live') made.push(...(one as Json[]))
        else if (one !== ABSENT) made.push(one)
      }
    }
    return made
  }

  /** A list item as often as its loop says, if its condition holds. */
  *#occurrences(item: Json, spot: Spot): Generator<Occurrence> {
    const { from, scope } = spot
    if (!isMap(item) || !CONTROLS.some(key => Object.hasOwn(item, key))) {
      yield { value: item, from, scope }
      return
    }
    const { if: condition, each, as, ...rest } = item as { readonly [key: string]: Json }
    if (each === undefined && as !== undefined)
      this.#fault([...from, 'as'], "'as' only makes sense beside 'each'", "add 'each:', or remove 'as:'", true)
    const isWrapped = Array.isArray(rest.items) && Object.keys(rest).length === 1
    for (const round of each === undefined ? [scope] : this.#rounds(each, as, spot)) {
      if (!this.#holds(condition, from, round)) continue
      if (!isWrapped) yield { value: rest, from, scope: round }
      else
        for (const [index, one] of (rest.items as readonly Json[]).entries())
          yield* this.#occurrences(one, { ...spot, from: [...from, 'items', index], scope: round })
    }
  }

  /** The names of each round of a loop. */
  *#rounds(each: Json, name: Json | undefined, spot: Spot): Generator<Scope> {
    const { from, scope } = spot
    const items = this.#control(each, [...from, 'each'], scope)
    const taken = [...VARIABLES, ...Object.keys(scope)] as readonly string[]
    if (typeof name !== 'string' || !LOOP_NAME.test(name) || !this.expressions.fold(name, { [name]: null }).ok) {
      this.#fault(
        [...from, 'as'],
        "'each' needs a name for its items",
        'write one word beside it, for instance as: file',
      )
    } else if (taken.includes(name) || taken.includes(`${name}_number`))
      this.#fault([...from, 'as'], `'${name}' already means something here`, 'choose another word')
    else if (this.#values === undefined) yield { ...scope, [name]: undefined, [`${name}_number`]: undefined }
    else if (!Array.isArray(items)) {
      if (items !== ABSENT)
        this.#fault([...from, 'each'], `'${String(each)}' is not a list`, 'loop over a parameter of type list')
    } else
      for (const [index, one] of (items as readonly Json[]).entries()) {
        if (!this.#spend(1, 0, spot)) return
        yield { ...scope, [name]: one, [`${name}_number`]: index + 1 }
      }
  }

  /** A condition is true or false; anything else is a fault, never a guess. */
  #holds(condition: Json | undefined, from: Path, scope: Scope): boolean {
    if (condition === undefined || typeof condition === 'boolean') return condition ?? true
    const value = this.#control(condition, [...from, 'if'], scope)
    if (value !== ABSENT && typeof value !== 'boolean')
      this.#fault(
        [...from, 'if'],
        `the condition '${String(condition)}' is ${JSON.stringify(value)?.slice(0, 60)}, not true or false`,
        'compare it with something, for instance params.x != null or size(params.x) > 0',
      )
    return this.#values === undefined || value === true
  }

  /** The value of an `if` or an `each`: an expression over parameters and nothing else. */
  #control(source: Json, path: Path, scope: Scope): Made {
    const key = String(path.at(-1))
    const example = `${key}: params.${key === 'if' ? 'with_tests' : 'files'}`
    if (typeof source === 'string') return this.#value(source, { from: path, scope }, `for instance ${example}`)
    this.#fault(path, `'${key}' wants an expression`, `write it as text, for instance ${example}`)
    return ABSENT
  }

  /** The value of an expression that must not use anything but parameters. */
  #value(source: string, { from, scope }: Pick<Spot, 'from' | 'scope'>, hint: string): Made {
    const folded = this.#fold(source, from, scope)
    if (folded === null) return ABSENT
    if (folded.constant) return folded.value ?? (this.#values === undefined ? ABSENT : null)
    this.#fault(from, `'${source}' is not made of parameters, and nothing else has a value yet`, hint)
    return ABSENT
  }

  #string(text: string, spot: Spot): Made {
    const { kind } = spot
    if (kind === 'expression') {
      const folded = this.#fold(text, spot.from, spot.scope)
      if (folded === null) return ABSENT
      return folded.constant ? asExpression(folded.value ?? null) : folded.source
    }
    if (!text.includes('${{')) return text
    const parsed = parseTemplate(text)
    if (!parsed.ok) {
      this.#fault(spot.from, parsed.message, parsed.hint)
      return ABSENT
    }
    const values: Json[] = []
    let changed = kind === 'text' || kind === 'parts'
    const parts: Part[] = []
    for (const part of parsed.parts) {
      if (part.type === 'text') {
        parts.push(part)
        continue
      }
      const folded = this.#fold(part.source, spot.from, spot.scope)
      if (folded === null) return ABSENT
      if (!folded.constant) {
        if (kind === 'text' || kind === 'parts') return this.#unresolved(part.source, spot)
        changed ||= folded.source !== part.source
        parts.push({ ...part, source: folded.source })
      } else {
        if (kind === 'code') return this.#spliced(part.source, spot)
        const value = folded.value ?? null
        if (!this.#spend(0, typeof value === 'string' ? value.length : JSON.stringify(value).length, spot))
          return ABSENT
        values.push(value)
        // A script keeps its text: a value is a literal in it, and reaches it in a variable of its environment.
        if (kind === 'command') parts.push({ ...part, source: asExpression(value) })
        else parts.push({ type: 'text', text: asText(value) })
      }
    }
    if (values.length === 1 && parsed.parts.length === 1) return this.#whole(values[0]!, spot)
    return changed || values.length > 0 ? joined(parts, kind) : text
  }

  /** A text that is one expression: the value keeps its type where it may, and leaves out what it is the value of when it is null. */
  #whole(value: Json, { kind, from, to }: Spot): Made {
    if (value === null) return ABSENT
    if (kind === 'live') return asLiteral(value)
    if (kind === 'argument')
      return Array.isArray(value) && typeof to.at(-1) === 'number' ? value.map(argument) : argument(value)
    if (kind !== 'command') return value
    if (Array.isArray(value) && value.length > 0) return value.map(argument)
    this.#fault(from, 'this is not a command', 'a command is a list of words, the program first: ["npm", "test"]')
    return ABSENT
  }

  /** Nobody resolves this text later, so what is not computed now never is. */
  #unresolved(source: string, { from }: Spot): Made {
    const hint = 'write $${{ for the characters themselves'
    this.#fault(from, `'${source}' has no value here: only parameters and names of loops have one`, hint)
    return ABSENT
  }

  #spliced(source: string, { from }: Spot): Made {
    const hint = 'hand it over beside the code: env: { VALUE: ${{ params.x }} }, and read that variable'
    this.#fault(from, `'${source}' would become part of the code`, hint)
    return ABSENT
  }

  #fold(source: string, path: Path, scope: Scope) {
    const folded = this.expressions.fold(source, scope)
    if (folded.ok) return folded
    const { message, hint, position } = folded
    this.#complain({ path, message, hint, within: { text: source, offset: position } })
    if (this.expressions.exhausted) this.#halted = true
    return null
  }

  #spend(nodes: number, characters: number, { from }: Spot): boolean {
    if (this.#halted) return false
    this.#nodes += nodes
    this.#characters += characters
    if (this.#nodes <= NODES_MAX && this.#characters <= DOCUMENT_MAX_BYTES) return true
    this.#fault(from, 'the plan grows too large here', 'give shorter lists, or make several plans')
    this.#halted = true
    return false
  }

  #fault(path: Path, message: string, hint: Hint, atKey = false): void {
    this.#complain({ path, message, hint, ...(atKey ? { atKey } : {}) })
  }

  #complain(fault: DocumentFault): void {
    this.faults.push(fault)
    if (this.faults.length >= FAULTS_MAX) this.#halted = true
  }
}

const argument = (value: Json): string => asLiteral(asText(value)) as string

/** Parts as one text that reads back as exactly these parts; plain text is not read again. */
function joined(parts: readonly Part[], kind: TextKind): string {
  if (kind === 'text' || kind === 'parts') return parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  const merged = parts.reduce<Part[]>((all, part) => {
    const last = all.at(-1)
    if (part.type === 'text' && last?.type === 'text')
      all[all.length - 1] = { type: 'text', text: last.text + part.text }
    else all.push(part)
    return all
  }, [])
  return merged
    .map((part, index) => {
      if (part.type === 'expression') return `\${{ ${part.source} }}`
      const text = argument(part.text)
      // A dollar right before an expression would turn it into text.
      return merged[index + 1] === undefined ? text : text.replace(/\$+$/, dollars => `\${{ '${dollars}' }}`)
    })
    .join('')
}

/** What can be wrong with the plan of a template before any value is known, and the parameters that it uses. */
export function checkTemplatePlan(
  plan: JsonObject,
  known: readonly string[],
): { readonly faults: readonly DocumentFault[]; readonly used: ReadonlySet<string> } {
  const builder = new PlanBuilder(known)
  builder.plan(plan)
  return { faults: builder.faults, used: builder.expressions.used }
}

// Expressions of a template: the language of plans, which here also knows `params` and the names of loops. What uses only those is
// computed when a plan is made of the template, also inside a larger expression, where its value becomes a literal. The rest is left for
// the running plan. All of one instantiation share one bound of work.

const PARAMS = 'params'

/** `params` and the names of loops; a value is undefined while a template is only checked. */
type Scope = { readonly [name: string]: Json | undefined }

type Folded =
  /** Nothing but parameters: `value` is undefined while a template is only checked. */
  | { readonly ok: true; readonly constant: true; readonly value: Json | undefined }
  | { readonly ok: true; readonly constant: false; readonly source: string }
  | Extract<Compilation, { readonly ok: false }>

/** Ten evaluations that need all they may, or tens of thousands of small ones: about half a second at the very most. */
const STEPS_MAX = 3_000_000

class ParameterExpressions {
  readonly used = new Set<string>()
  readonly #meter = new Meter(STEPS_MAX)
  readonly #compiled = new Map<string, Compilation>()
  readonly #known: readonly string[]

  constructor(known: readonly string[]) {
    this.#known = known
  }

  /** All the work there was to do has been done; nothing more will be evaluated. */
  get exhausted(): boolean {
    try {
      this.#meter.spend(0)
      return false
    } catch {
      return true
    }
  }

  fold(source: string, scope: Scope): Folded {
    const compilation = this.#compile(source, Object.keys(scope))
    if (!compilation.ok) return compilation
    const { ast } = compilation.compiled
    const constants = constantsIn(ast, scope)
    const values: (Json | undefined)[] = []
    for (const { range } of constants) {
      const part = this.#compile(source.slice(range.start, range.end), Object.keys(scope))
      if (!part.ok) return part
      if (scope[PARAMS] === undefined) values.push(undefined)
      else {
        const evaluated = evaluate(part.compiled, scope as { readonly [name: string]: Json }, this.#meter)
        if (!evaluated.ok) return { ...evaluated, position: range.start } as Folded
        values.push(evaluated.value)
      }
    }
    if (constants[0] === ast) return { ok: true, constant: true, value: values[0] }
    const folded = constants.reduceRight(
      (rest, { range }, at) => rest.slice(0, range.start) + asExpression(values[at] ?? null) + rest.slice(range.end),
      source,
    )
    return { ok: true, constant: false, source: folded }
  }

  #compile(source: string, names: readonly string[]): Compilation {
    const key = `${names.join(' ')}\n${source}`
    const compilation = this.#compiled.get(key) ?? this.#checked(compile(source, names))
    this.#compiled.set(key, compilation)
    return compilation
  }

  #checked(compilation: Compilation): Compilation {
    if (!compilation.ok) return compilation
    for (const { name, position } of parametersOf(compilation.compiled.ast)) {
      this.used.add(name)
      if (this.#known.includes(name)) continue
      const near = suggest(name, this.#known)
      const hint = near === null ? `declare it under 'parameters:'` : `did you mean '${PARAMS}.${near}'?`
      return { ok: false, message: `there is no parameter '${name.slice(0, 100)}'`, position, hint }
    }
    return compilation
  }
}

/** A value as the expression language writes it: JSON's escapes are its escapes. */
const asExpression = (value: Json): string =>
  typeof value === 'number' && value < 0 ? `(${value})` : JSON.stringify(value)

/** The largest parts that use names of the scope and no other, in the order of the text. */
function constantsIn(ast: ASTNode, scope: Scope): readonly ASTNode[] {
  const names = namesIn(ast)
  if (names.length > 0 && names.every(name => Object.hasOwn(scope, name))) return [ast]
  const found = childrenOf(ast).flatMap(child => constantsIn(child, scope))
  const bound = boundBy(ast)
  // Inside `list.map(x, …)` an x is not the x of the template.
  return bound === null ? found : found.filter(node => !namesIn(node).includes(bound))
}

/** The names an expression reads, but for those that it binds itself. */
function namesIn(node: ASTNode): readonly string[] {
  if (node.op === 'id') return [node.args]
  const names = childrenOf(node).flatMap(namesIn)
  const bound = boundBy(node)
  if (bound === null) return names
  const [receiver, ...rest] = childrenOf(node)
  return [...namesIn(receiver!), ...rest.flatMap(namesIn).filter(name => name !== bound)]
}

/** The name that `list.map(name, …)` and its kind bind. */
function boundBy(node: ASTNode): string | null {
  if (node.op !== 'rcall') return null
  const [name, , [first, ...others]] = node.args
  return first?.op === 'id' && MACROS.get(name)?.includes(others.length + 1) ? first.args : null
}

const childrenOf = (node: ASTNode): readonly ASTNode[] => nodesIn(node.args)

function nodesIn(part: unknown): readonly ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(nodesIn)
  return part !== null && typeof part === 'object' && 'op' in part ? [part as ASTNode] : []
}

/** The parameters an expression names, as `params.x` or `params['x']`. */
function parametersOf(node: ASTNode): readonly { readonly name: string; readonly position: number }[] {
  if ((node.op === '.' || node.op === '[]') && node.args[0].op === 'id' && node.args[0].args === PARAMS) {
    const key = node.args[1]
    const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : null
    if (typeof name === 'string') return [{ name, position: node.start }]
  }
  return childrenOf(node).flatMap(parametersOf)
}
