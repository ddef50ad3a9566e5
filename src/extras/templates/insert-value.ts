// How a parameter's value lands in a string of the plan. It is data wherever it lands: in text with `${{ }}` it cannot open an
// expression, in an expression it is a literal, and in a script it may not stand at all.

import type { Hint } from '../../domain/hint.ts'
import type { Json } from '../../domain/json.ts'
import { compile } from '../../format/expression/expression.ts'
import { asText, type Part, parseTemplate } from '../../format/expression/template.ts'
import type { Piece } from './substitution.ts'
import { identifiersOf } from './template-expressions.ts'

/** Pieces of a string whose values are known. */
export type Filled = Extract<Piece, { type: 'text' }> | { readonly type: 'value'; readonly value: Json }

export type Landed =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly hint: Hint }

/** Plain text: the value as it is written. */
export function insertInText(pieces: readonly Filled[]): string {
  return pieces.map(piece => (piece.type === 'text' ? piece.text : asText(piece.value))).join('')
}

/** Text with `${{ }}`: beside the expressions as text, inside them as a literal. */
export function insertInLive(pieces: readonly Filled[]): Landed {
  const { text, marks } = marked(pieces)
  const parsed = parseTemplate(text)
  if (!parsed.ok) return parsed
  const parts: Part[] = []
  for (const part of parsed.parts) {
    if (part.type === 'text') {
      parts.push({ type: 'text', text: marks.replace(part.text, asText) })
      continue
    }
    const landed = marks.isIn(part.source) ? asExpression(part.source, marks) : { ok: true as const, text: part.source }
    if (!landed.ok) return landed
    parts.push({ ...part, source: landed.text })
  }
  return { ok: true, text: written(parts) }
}

/** An expression: every value is a literal, and stands where a name could. */
export function insertInExpression(pieces: readonly Filled[]): Landed {
  const { text, marks } = marked(pieces)
  // Some expressions may be written as `${{ … }}`, too.
  return text.includes('${{') ? insertInLive(pieces) : asExpression(text, marks)
}

/** A value of any kind where `${{ }}` is resolved: its strings mean themselves. */
export function escapeExpressions(value: Json): Json {
  if (typeof value === 'string') return written([{ type: 'text', text: value }])
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(escapeExpressions)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeExpressions(item as Json)]))
}

function asExpression(source: string, marks: Marks): Landed {
  const compilation = compile(source, marks.names)
  const hint =
    'write it where a value could stand, without quotes around it: tasks[<< params.x >>], or exit == << params.n >>'
  if (!compilation.ok)
    return { ok: false, message: marks.replace(compilation.message, asText), hint: compilation.hint ?? hint }
  const read = identifiersOf(compilation.compiled.ast)
  const stray = marks.names.some(name => marks.isIn(source, name) && read.filter(one => one === name).length !== 1)
  if (stray)
    return {
      ok: false,
      message: 'a substitution inside quotes or as a field would become part of the expression',
      hint,
    }
  return { ok: true, text: marks.replace(source, asLiteral) }
}

/** As the expression language writes it. */
function asLiteral(value: Json): string {
  if (typeof value === 'number' && value < 0) return `(${value})`
  // JSON's escapes are the language's escapes; its braces and quotes end where they began.
  return JSON.stringify(value)
}

/** Template parts as one text that reads back as exactly these parts. */
function written(parts: readonly Part[]): string {
  return parts
    .map((part, index) => {
      if (part.type === 'expression') return `\${{ ${part.source} }}`
      const escaped = part.text.replaceAll('${{', () => '$${{')
      // A dollar right before an expression would turn it into text.
      if (parts[index + 1] === undefined) return escaped
      return escaped.replace(/\$+$/, dollars => `\${{ '${dollars}' }}`)
    })
    .join('')
}

interface Marks {
  readonly names: readonly string[]
  isIn(text: string, name?: string): boolean
  replace(text: string, write: (value: Json) => string): string
}

/** The text with a name in place of each value: it can be read before any value is in it. */
function marked(pieces: readonly Filled[]): { readonly text: string; readonly marks: Marks } {
  const literal = pieces.map(piece => (piece.type === 'text' ? piece.text : '')).join('\n')
  let stem = 'value'
  while (literal.includes(stem)) stem += '_'
  const values: Json[] = []
  const text = pieces
    .map(piece => (piece.type === 'text' ? piece.text : `${stem}${values.push(piece.value)}x`))
    .join('')
  const pattern = new RegExp(`${stem}(\\d+)x`, 'g')
  return {
    text,
    marks: {
      names: values.map((_, index) => `${stem}${index + 1}x`),
      isIn: (text, name) => (name === undefined ? text.search(pattern) !== -1 : text.includes(name)),
      replace: (text, write) => text.replace(pattern, (_, number: string) => write(values[Number(number) - 1]!)),
    },
  }
}
