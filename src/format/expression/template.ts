// Text with `${{ expression }}`. A value becomes one argument, one environment variable or one piece of text; it is never spliced
// into a script, so it cannot become code. `$${{` is a literal `${{`.

import type { Hint } from '../../domain/hint.ts'
import type { Json } from '../../domain/json.ts'
import type { Evaluation } from './expression.ts'

export type Part =
  | { readonly type: 'text'; readonly text: string }
  /** `position`: offset of the expression in the template. */
  | { readonly type: 'expression'; readonly source: string; readonly position: number }

export type Template =
  | { readonly ok: true; readonly parts: readonly Part[] }
  | { readonly ok: false; readonly message: string; readonly position: number; readonly hint: string }

/** Evaluates one expression in the caller's context. */
export type Evaluate = (source: string) => Evaluation

export type Resolved<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string; readonly hint?: Hint }

export function parseTemplate(template: string): Template {
  const parts: Part[] = []
  let text = ''
  let at = 0
  while (true) {
    const open = template.indexOf('${{', at)
    if (open === -1) break
    if (open > at && template[open - 1] === '$') {
      text += `${template.slice(at, open - 1)}\${{`
      at = open + 3
      continue
    }
    const close = endOfExpression(template, open + 3)
    if (close === -1) {
      return {
        ok: false,
        message: "'${{' is never closed",
        position: open,
        hint: "close it with '}}', or write '$${{' for the characters themselves",
      }
    }
    text += template.slice(at, open)
    if (text !== '') parts.push({ type: 'text', text })
    text = ''
    const inner = template.slice(open + 3, close)
    parts.push({
      type: 'expression',
      source: inner.trim(),
      position: open + 3 + (inner.length - inner.trimStart().length),
    })
    at = close + 2
  }
  text += template.slice(at)
  if (text !== '' || parts.length === 0) parts.push({ type: 'text', text })
  return { ok: true, parts }
}

/** The expressions in a template, in order; none if it cannot be parsed. */
export function templateExpressions(template: string): readonly (Part & { type: 'expression' })[] {
  const parsed = parseTemplate(template)
  return parsed.ok ? parsed.parts.filter(part => part.type === 'expression') : []
}

/** Escapes untrusted data, so that resolving it gives the same data. */
export const asLiteral = (value: Json): Json => mapTexts(value, text => text.replaceAll('${{', '$$${{'))

/** The reverse of `asLiteral`. Expressions stay as written. */
export const fromLiteral = (value: Json): Json => mapTexts(value, text => text.replaceAll('$${{', '$${{'))

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return value.includes('${{') ? change(value) : value
  if (Array.isArray(value)) return (value as readonly Json[]).map(item => mapTexts(item, change))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

/** Resolves every string inside a JSON value; with `resolveText`, always to text. */
export function resolve(value: Json, evaluate: Evaluate, one: typeof resolveValue = resolveValue): Resolved<Json> {
  if (typeof value === 'string') return one(value, evaluate)
  if (value === null || typeof value !== 'object') return { ok: true, value }
  const entries: [string, Json][] = []
  for (const [key, item] of Object.entries(value)) {
    const resolved = resolve(item as Json, evaluate, one)
    if (!resolved.ok) return resolved
    entries.push([key, resolved.value])
  }
  return { ok: true, value: Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries) }
}

/** A string that is exactly one expression keeps the type of its value. */
function resolveValue(template: string, evaluate: Evaluate): Resolved<Json> {
  const parsed = parseTemplate(template)
  if (!parsed.ok) return parsed
  const [only, ...others] = parsed.parts
  if (only?.type === 'expression' && others.length === 0) return evaluate(only.source)
  return resolveText(template, evaluate)
}

/** Resolves to text: numbers and booleans as written, lists and maps as JSON, null as empty. */
export function resolveText(template: string, evaluate: Evaluate): Resolved<string> {
  const parsed = parseTemplate(template)
  if (!parsed.ok) return parsed
  let text = ''
  for (const part of parsed.parts) {
    if (part.type === 'text') {
      text += part.text
      continue
    }
    const evaluated = evaluate(part.source)
    if (!evaluated.ok) return evaluated
    text += asText(evaluated.value)
  }
  return { ok: true, value: text }
}

/** Each element stays exactly one argument, regardless of its value. */
export function resolveArgv(argv: readonly string[], evaluate: Evaluate): Resolved<readonly string[]> {
  const resolved: string[] = []
  for (const [index, element] of argv.entries()) {
    const one = resolveText(element, evaluate)
    if (!one.ok) return one
    if (one.value.includes('\0')) return { ok: false, message: `argument ${index} would contain a NUL character` }
    resolved.push(one.value)
  }
  return { ok: true, value: resolved }
}

/** The script refers to each value by an environment variable, which carries it. */
export function resolveScript(
  script: string,
  evaluate: Evaluate,
): Resolved<{ readonly script: string; readonly env: { readonly [name: string]: string } }> {
  const parsed = parseTemplate(script)
  if (!parsed.ok) return parsed
  const env: { [name: string]: string } = {}
  let text = ''
  let count = 0
  for (const part of parsed.parts) {
    if (part.type === 'text') {
      text += part.text
      continue
    }
    const evaluated = evaluate(part.source)
    if (!evaluated.ok) return evaluated
    const name = `PLANFOLD_VALUE_${++count}`
    env[name] = asText(evaluated.value)
    if (env[name].includes('\0'))
      return { ok: false, message: `the value of '${part.source}' contains a NUL character` }
    text += `\${${name}}`
  }
  return { ok: true, value: { script: text, env } }
}

export function asText(value: Json): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The offset of the closing `}}`, aware of quotes and braces; -1 if missing. */
function endOfExpression(template: string, from: number): number {
  let depth = 0
  let quote: string | null = null
  for (let at = from; at < template.length; at++) {
    const sign = template[at] as string
    if (quote !== null) {
      if (sign === '\\') at++
      else if (sign === quote) quote = null
    } else if (sign === "'" || sign === '"') quote = sign
    else if (sign === '{') depth++
    else if (sign === '}') {
      if (depth > 0) depth--
      else if (template[at + 1] === '}') return at
    }
  }
  return -1
}
