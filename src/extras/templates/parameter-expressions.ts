// Expressions of a template: the language of plans, which here also knows `params` and the names of loops. What uses only those is
// computed when a plan is made of the template, also inside a larger expression, where its value becomes a literal. The rest is left for
// the running plan. All of one instantiation share one bound of work.

import type { ASTNode } from '@marcbachmann/cel-js'
import type { Json } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { type Compilation, compile, evaluate } from '../../format/expression/expression.ts'
import { MACROS } from '../../format/expression/functions.ts'
import { Meter } from '../../format/expression/meter.ts'

export const PARAMS = 'params'

/** `params` and the names of loops; a value is undefined while a template is only checked. */
export type Scope = { readonly [name: string]: Json | undefined }

export type Folded =
  /** Nothing but parameters: `value` is undefined while a template is only checked. */
  | { readonly ok: true; readonly constant: true; readonly value: Json | undefined }
  | { readonly ok: true; readonly constant: false; readonly source: string }
  | Extract<Compilation, { readonly ok: false }>

/** Ten evaluations that need all they may, or tens of thousands of small ones: about half a second at the very most. */
const STEPS_MAX = 3_000_000

export class ParameterExpressions {
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
export const asExpression = (value: Json): string =>
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
