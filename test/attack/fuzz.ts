// Throws damaged documents of every dialect at the parser. Whatever comes, it must answer with a value, soon, and with faults
// that have a place; nothing may reach Object.prototype; what it accepts must print and read back as the same definition.
// A seed makes the same inputs again.
// Needs the extras: dialects

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { checkGraph } from '../../src/domain/plan-rules/graph-rules.ts'
import { parsePlan } from '../../src/extras/dialects/dialects.fixture.ts'
import { definitionHash } from '../../src/format/plan/hash.ts'
import { printJson } from '../../src/format/plan/print.ts'

export interface Fuzzed {
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  /** By dialect; `canonical` for our own. */
  readonly dialects: ReadonlyMap<string, number>
  readonly slowestMs: number
  readonly faults: readonly { readonly at: number; readonly what: string; readonly text: string }[]
}

export interface FuzzOptions {
  readonly seed: number
  readonly inputs: number
  /** An input may take this long; a hang is anything beyond. */
  readonly limitMs: number
  readonly now: () => number
}

const FAULTS_MAX = 10
const INPUT_MAX = 20_000
const ROOT = resolve(import.meta.dirname, '../..')
const PLACES = ['examples', 'test/fixtures', 'templates', 'docs/formats']
const KINDS = new Set(['.yaml', '.yml', '.json', '.jsonl', '.md', '.txt', '.plan', '.dsl'])

/** Every document we have, as a start. */
export function corpus(): readonly string[] {
  const seeds = process.env.PLANFOLD_SEEDS
  const folders = [...PLACES.map(place => join(ROOT, place)), ...(seeds === undefined ? [] : [seeds])]
  const texts = folders
    .flatMap(folder => [...filesIn(folder)])
    .map(path => readFileSync(path, 'utf8').slice(0, INPUT_MAX))
  // The blocks of a document about formats are documents themselves.
  const blocks = texts.flatMap(text => [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(match => match[1]!))
  return [...new Set([...texts, ...blocks])].filter(text => text.length > 0)
}

function* filesIn(folder: string): Generator<string> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && KINDS.has(extname(entry.name)) && statSync(path).size < 500_000) yield path
  }
}

export function fuzz(options: FuzzOptions): Fuzzed {
  const { seed, inputs, limitMs, now } = options
  const random = mulberry(seed)
  const documents = corpus()
  const dialects = new Map<string, number>()
  const faults: { at: number; what: string; text: string }[] = []
  let accepted = 0
  let slowestMs = 0
  let at = 0
  for (; at < inputs && faults.length < FAULTS_MAX; at++) {
    const text = damaged(documents, random)
    const began = now()
    const what = tried(text, dialect => {
      accepted++
      dialects.set(dialect, (dialects.get(dialect) ?? 0) + 1)
    })
    const took = now() - began
    slowestMs = Math.max(slowestMs, took)
    if (what !== null) faults.push({ at, what, text })
    else if (took > limitMs) faults.push({ at, what: `took ${Math.round(took)} ms`, text })
  }
  return { inputs: at, accepted, refused: at - accepted, dialects, slowestMs, faults }
}

/** What is wrong with the answer; null when nothing is. */
function tried(text: string, accepted: (dialect: string) => void): string | null {
  try {
    const parsed = parsePlan(text, { fallbackName: 'x', check: checkGraph })
    if (Object.keys(Object.prototype).length > 0) return 'Object.prototype was polluted'
    for (const { line, column, message } of parsed.ok ? parsed.warnings : parsed.diagnostics) {
      if (!(line >= 1) || !(column >= 1)) return `no place: ${message}`
      if (message === '') return 'a fault without words'
    }
    if (!parsed.ok) return parsed.diagnostics.length === 0 ? 'refused without a reason' : null
    accepted(parsed.dialect ?? 'canonical')
    // Prose of other formats may hold what only looks like an expression.
    const lenient = parsed.dialect === null ? {} : ({ lenient: true } as const)
    const again = parsePlan(printJson(parsed.definition), { check: checkGraph, ...lenient })
    if (!again.ok) return `what it printed is refused: ${again.diagnostics[0]?.message}`
    return definitionHash(again.definition) === definitionHash(parsed.definition)
      ? null
      : 'what it printed says something else'
  } catch (error) {
    return `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
  }
}

// ── damage ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const HOSTILE = [
  '__proto__',
  'constructor',
  '${{',
  '}}',
  '\u0000',
  '\u202e',
  '\ud800',
  '🙂',
  '\t',
  '\r\n',
  '---',
  '```',
  '<<',
  '&a',
  '*a',
  '!!js/function',
  '- [x] ',
  '## Phase 1: ',
  'task a "b" kind:c using:d',
  '[[[[',
  '{{{{',
  '|',
  '>-',
  '"',
  "'",
  '\\',
  '1e999',
  '-0',
  '99999999999999999999',
  'null',
  '[]',
  '{}',
  'a|b|c',
  '<id>',
  'depends_on: [a, a, a]',
  '../../etc/passwd',
]

type Random = () => number
const pick = <T>(from: readonly T[], random: Random): T => from[Math.floor(random() * from.length)]!

function damaged(documents: readonly string[], random: Random): string {
  if (random() < 0.03) return noise(random)
  let text = pick(documents, random)
  const wounds = 1 + Math.floor(random() * 4)
  for (let wound = 0; wound < wounds; wound++) text = wounded(text, documents, random)
  return text.slice(0, INPUT_MAX)
}

function wounded(text: string, documents: readonly string[], random: Random): string {
  const at = Math.floor(random() * (text.length + 1))
  const length = Math.floor(random() ** 3 * 200)
  switch (Math.floor(random() * 9)) {
    case 0:
      return text.slice(0, at) + text.slice(at + length)
    case 1:
      return text.slice(0, at) + pick(HOSTILE, random) + text.slice(at)
    case 2:
      return text.slice(0, at) + String.fromCharCode(Math.floor(random() * 0x180)) + text.slice(at + 1)
    case 3:
      return text.slice(0, at)
    case 4: {
      const other = pick(documents, random)
      return text.slice(0, at) + other.slice(Math.floor(random() * other.length))
    }
    case 5: {
      const lines = text.split('\n')
      const line = Math.floor(random() * lines.length)
      lines.splice(line, 0, pick(lines, random))
      return lines.join('\n')
    }
    case 6: {
      const lines = text.split('\n')
      lines.splice(Math.floor(random() * lines.length), 1)
      return lines.join('\n')
    }
    case 7: {
      const lines = text.split('\n')
      const line = Math.floor(random() * lines.length)
      lines[line] = `${' '.repeat(Math.floor(random() * 6))}${lines[line]!.trimStart()}`
      return lines.join('\n')
    }
    default: {
      // A value for another: words of the document change places.
      const words = text.match(/[\w.-]+/g) ?? ['']
      return text.replace(pick(words, random), pick(words, random))
    }
  }
}

function noise(random: Random): string {
  const bytes = Uint8Array.from({ length: Math.floor(random() * 400) }, () => Math.floor(random() * 256))
  return new TextDecoder().decode(bytes)
}

function mulberry(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
