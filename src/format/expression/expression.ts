// The expression language of plans: CEL, read by cel-js and evaluated here under a work bound. `when`, `expect`, `decide`
// and every `${{ … }}` go through this door. Importing it costs cel-js, so it stays apart from the schema and YAML.

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

/** What the names of an expression stand for. A name that is absent has no value here. */
export type Context = { readonly [name in Variable]?: Json }

const limits = { maxAstNodes: 2_000, maxDepth: 64, maxListElements: 1_000, maxMapEntries: 1_000, maxCallArguments: 8 }
const environment = new Environment({ limits })

/** Reads an expression and says everything that can be known without values. `also` are names of the caller's own. Never throws. */
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

/** Computes the value. Never throws; the same expression on the same context always answers the same. */
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

/** The tasks an expression looks at, or null when it cannot be read. */
export function references(source: string): References | null {
  const compilation = compile(source)
  return compilation.ok ? compilation.compiled.references : null
}

/** The outcomes a decision can have, when all of them stand in its expression as words; null when they are computed. */
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

/** Operators that give true or false and nothing else. */
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
