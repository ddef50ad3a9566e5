// The expressions of a template: the language of plans, over `params` and the names of the loops around. Each is compiled
// once; all of one instantiation share one bound of work.

import type { ASTNode } from '@marcbachmann/cel-js'
import type { Json } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { type Compiled, compile, type Evaluation, evaluate } from '../../format/expression/expression.ts'
import { Meter } from '../../format/expression/meter.ts'

export const PARAMS = 'params'

export type Compilation =
  | { readonly ok: true; readonly compiled: Compiled }
  | { readonly ok: false; readonly message: string; readonly position: number; readonly hint?: string }

/** Ten evaluations that need all they may, or tens of thousands of small ones: about half a second at the very most. */
const STEPS_MAX = 3_000_000

/** Compiles an expression that may use `params` and these names; `known` are the declared parameters. */
export function compileWords(source: string, names: readonly string[], known: readonly string[]): Compilation {
  const also = [PARAMS, ...names]
  const compilation = compile(source, also)
  if (!compilation.ok) {
    const unknown = /^'(.+)' is not known in expressions$/.exec(compilation.message)?.[1]
    if (unknown === undefined) return compilation
    const near = known.includes(unknown) ? `${PARAMS}.${unknown}` : suggest(unknown, also)
    const hint = near === null ? `there is ${also.join(', ')}; text goes in quotes` : `did you mean '${near}'?`
    return { ...compilation, message: `'${unknown}' is not known in a template`, hint }
  }
  const { ast, references } = compilation.compiled
  const [variable] = references.variables
  if (variable !== undefined)
    return {
      ok: false,
      message: `'${variable}' has no value yet when a plan is made of a template`,
      position: Math.max(0, source.search(new RegExp(`\\b${variable}\\b`))),
      hint: "for values of the running plan write ${{ … }}, or the plan's own 'when:'",
    }
  for (const { name, position } of parametersOf(ast)) {
    if (known.includes(name)) continue
    const near = suggest(name, known)
    const hint = near === null ? `declare it under 'parameters:'` : `did you mean '${PARAMS}.${near}'?`
    return { ok: false, message: `there is no parameter '${name.slice(0, 100)}'`, position, hint }
  }
  return compilation
}

export interface ParameterUse {
  readonly name: string
  readonly position: number
}

/** The parameters an expression names, as `params.x` or `params['x']`. */
export function parametersOf(ast: ASTNode): readonly ParameterUse[] {
  const found: ParameterUse[] = []
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit)
    if (!isNode(part)) return
    const { op, args, start } = part
    if ((op === '.' || op === '[]') && isNode(args[0]) && args[0].op === 'id' && args[0].args === PARAMS) {
      const key: unknown = args[1]
      const name = typeof key === 'string' ? key : isNode(key) && key.op === 'value' ? key.args : null
      if (typeof name === 'string') return void found.push({ name, position: start })
    }
    visit(args)
  }
  visit(ast)
  return found
}

/** The names of variables an expression reads, each as often as it does. */
export function identifiersOf(ast: ASTNode): readonly string[] {
  const found: string[] = []
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit)
    if (!isNode(part)) return
    if (part.op === 'id') found.push(part.args as string)
    visit(part.args)
  }
  visit(ast)
  return found
}

/** Evaluates the expressions of one instantiation. */
export class Words {
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

  evaluate(source: string, scope: Scope): Evaluation {
    const names = Object.keys(scope).filter(name => name !== PARAMS)
    const key = `${names.join(' ')}\n${source}`
    const compilation = this.#compiled.get(key) ?? compileWords(source, names, this.#known)
    this.#compiled.set(key, compilation)
    return compilation.ok ? evaluate(compilation.compiled, scope, this.#meter) : compilation
  }
}

/** `params` and the names of loops. */
export type Scope = { readonly [name: string]: Json }

interface Node {
  readonly op: string
  readonly args: readonly unknown[] & string
  readonly start: number
}

function isNode(part: unknown): part is Node {
  return part !== null && typeof part === 'object' && 'op' in part && 'args' in part
}
