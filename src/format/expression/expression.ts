// The expression language of plans: CEL, parsed by cel-js and evaluated here with a bound on work. Used for `when`, `expect`,
// `decide` and every `${{ … }}`. Separate from schema and YAML, because importing cel-js takes time.

import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import type { Hint } from '../../domain/hint.ts'
import type { Json } from '../../domain/json.ts'
import { run } from './evaluator.ts'
import { Meter } from './meter.ts'
import { type Fault, hyphen, type References, review, type Variable } from './static-check.ts'
import { ExpressionError, fromJson, toJson } from './value.ts'

export { VARIABLES } from './static-check.ts'
export type { References, Variable }

export const SOURCE_MAX = 10_000

export interface Compiled {
  readonly source: string
  readonly ast: ASTNode
  readonly references: References
}

export type Compilation =
  | { readonly ok: true; readonly compiled: Compiled }
  | { readonly ok: false; readonly message: string; readonly position: number; readonly hint?: string }

export type Evaluation =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string; readonly hint?: Hint }

/** The values of the variables. A variable that is absent cannot be used. */
export type Context = { readonly [name in Variable]?: Json }

const limits = { maxAstNodes: 2_000, maxDepth: 64, maxListElements: 1_000, maxMapEntries: 1_000, maxCallArguments: 8 }
const environment = new Environment({ limits })

/** Parses an expression and checks everything that can be checked without values. `also`: additional variables. Never throws. */
export function compile(source: string, also: readonly string[] = []): Compilation {
  if (source.trim() === '') return fault({ message: 'the expression is empty', position: 0, hint: EXAMPLE })
  if (source.length > SOURCE_MAX) {
    return fault({
      message: `the expression is longer than ${SOURCE_MAX} characters`,
      position: 0,
      hint: 'split it up',
    })
  }
  try {
    const { ast } = environment.parse(source)
    const seen = review(ast, source, also)
    if ('fault' in seen) return fault(seen.fault)
    return { ok: true, compiled: { source, ast, references: seen.references } }
  } catch (error) {
    return fault(unreadable(error, source))
  }
}

/** Never throws. Deterministic: equal contexts give equal results. */
export function evaluate(
  compiled: Compiled,
  context: Context | { readonly [name: string]: Json },
  meter: Meter = new Meter(),
): Evaluation {
  const scope = (name: string) =>
    Object.hasOwn(context, name) ? fromJson((context as { readonly [name: string]: Json })[name]) : undefined
  try {
    return { ok: true, value: toJson(run(compiled.ast, scope, meter)) }
  } catch (error) {
    if (error instanceof ExpressionError) {
      return { ok: false, message: error.message, ...(error.hint === null ? {} : { hint: error.hint }) }
    }
    if (error instanceof RangeError)
      return { ok: false, message: 'the expression is nested too deeply', hint: 'split it up' }
    throw error
  }
}

/** The tasks an expression refers to; null if it has an error. */
export function references(source: string): References | null {
  const compilation = compile(source)
  return compilation.ok ? compilation.compiled.references : null
}

/** The possible outcomes of a `decide` expression if all are literals; null if any is computed. */
export function decidedOutcomes(source: string): readonly string[] | null {
  const compilation = compile(source)
  if (!compilation.ok) return null
  const outcomes = new Set<string>()
  const open: ASTNode[] = [compilation.compiled.ast]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.op === '?:') open.push(node.args[1], node.args[2])
    else if (node.op === 'value' && typeof node.args === 'string') outcomes.add(node.args)
    else if (TRUTHS.has(node.op) || (node.op === 'value' && typeof node.args === 'boolean'))
      for (const truth of ['true', 'false']) outcomes.add(truth)
    else return null
  }
  return [...outcomes]
}

/** Operators with boolean results. */
const TRUTHS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', '&&', '||', '!_', 'in'])

function fault(found: Fault): Compilation {
  return { ok: false, ...found }
}

const EXAMPLE = 'write a condition, for instance exit == 0 && outputs.total > 3'

function unreadable(error: unknown, source: string): Fault {
  if (error instanceof RangeError)
    return { message: 'the expression is nested too deeply', position: 0, hint: 'split it up' }
  const { summary: whole, range } = error as { summary?: string; range?: { start: number } }
  if (typeof whole !== 'string') throw error
  const summary = whole.slice(0, 200)
  const position = Math.min(range?.start ?? 0, source.length)
  for (const { index } of source.matchAll(/\btasks\./g)) {
    const hyphenated = hyphen(index, source)
    if (hyphenated !== null) return hyphenated
  }
  const single = /(^|[^=!<>])=(?!=)/.test(source.slice(Math.max(0, position - 1), position + 2))
  return {
    message: `the expression cannot be read: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`,
    position,
    hint: single ? 'write == to compare' : EXAMPLE,
  }
}
