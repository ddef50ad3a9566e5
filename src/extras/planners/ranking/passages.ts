// The most relevant passages, as `file:line` with their lines: stack frames first, then definitions of names in the goal, then
// the lines of the best files with most of its words.

import type { GoalTerm, GoalWords } from '../goal.ts'

export interface Passage {
  readonly path: string
  /** The first line, from 1. */
  readonly line: number
  /** The line that matters, from 1. */
  readonly at: number
  readonly lines: readonly string[]
}

const PASSAGES_MAX = 5
const BEFORE = 2
const AFTER = 6
const LINE_MAX = 160
const FILES_LOOKED_AT = 6
const SAME_NAME_MAX = 2
/** Beyond the best files, a definition named by a plain word usually means something else. */
const PLAIN_FILES_MAX = 2
/** Never sent to a model. */
export const PRIVATE =
  /(^|\/)(\.env[^/]*|\.npmrc|\.netrc|id_[a-z0-9]+)$|\.(pem|key|p12|pfx|keystore)$|secret|credential|passw/i

/** `files`: best first. */
export function passagesFor(
  goal: GoalWords,
  files: readonly string[],
  texts: ReadonlyMap<string, string>,
): readonly Passage[] {
  const likely = files.filter(path => texts.has(path) && !PRIVATE.test(path))
  const read = likely.slice(0, FILES_LOOKED_AT).map(path => ({ path, lines: linesOf(texts.get(path)!) }))
  const found: Passage[] = []
  const add = (path: string, lines: readonly string[], at: number, from: number): void => {
    const isIncluded = found.some(one => one.path === path && at >= one.line - 1 && at < one.line + one.lines.length)
    if (isIncluded || found.length >= PASSAGES_MAX) return
    found.push({ path, line: from + 1, at: at + 1, lines: trimmed(lines.slice(from, at + AFTER)) })
  }
  for (const { file, line } of goal.frames) {
    const path = likely.find(one => `/${file}`.endsWith(`/${one}`) || `/${one}`.endsWith(`/${file}`))
    if (path !== undefined && line !== null)
      add(path, linesOf(texts.get(path)!), line - 1, Math.max(0, line - 1 - BEFORE))
  }
  const definitions = read.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => {
      const name = definedIn(line)?.toLowerCase()
      return name === undefined ? [] : [{ name, path, lines, at }]
    }),
  )
  for (const { name, isNamed } of definable(goal))
    for (const { path, lines, at } of definitions.filter(one => one.name === name).slice(0, SAME_NAME_MAX))
      if (isNamed || read.slice(0, PLAIN_FILES_MAX).some(one => one.path === path))
        add(path, lines, at, withComment(lines, at))
  const best = read
    .flatMap(({ path, lines }, rank) => bestLine(lines, goal.terms, rank).map(one => ({ ...one, path, lines })))
    .sort((a, b) => b.score - a.score)
  for (const { path, lines, at } of best.filter(({ score }) => score >= best[0]!.score * GOOD))
    add(path, lines, at, Math.max(0, at - BEFORE))
  return found
}

/** Where the words of the goal that are rarest in the file stand close together: two at least, or one if the goal has only one. */
function bestLine(
  lines: readonly string[],
  terms: readonly GoalTerm[],
  rank: number,
): readonly { readonly at: number; readonly score: number }[] {
  const patterns = terms.map(
    ({ stem, whole }) => new RegExp(`(?<![a-z])${escaped(stem)}${whole ? '(?![a-z])' : ''}`, 'i'),
  )
  const matches = lines.map(line => patterns.map(pattern => line.length < LONG && pattern.test(line)))
  const weights = patterns.map((_, term) => {
    const count = matches.filter(one => one[term]).length
    return count === 0 ? 0 : (terms[term]!.named ? 2 : 1) / Math.log2(1 + count)
  })
  let best = { at: -1, score: 0, words: 0 }
  for (let at = 0; at < lines.length; at++) {
    const window = weights.map((weight, term) => {
      const near = matches.slice(at, at + NEAR).findIndex(one => one[term])
      return near < 0 ? 0 : weight * (near === 0 ? 1 : 0.6)
    })
    const score = window.reduce((sum, one) => sum + one, 0)
    if (matches[at]!.includes(true) && score > best.score)
      best = { at, score, words: window.filter(one => one > 0).length }
  }
  return best.words < Math.min(2, terms.length) ? [] : [{ at: best.at, score: best.score / (1 + rank / 4) }]
}

/** Relative to the best score. */
const GOOD = 0.6
const NEAR = 4
/** Such lines are data or generated. */
const LONG = 500

/** Identifiers verbatim; then plain words that a definition in the best files may be named by. */
function definable({
  symbols,
  quoted,
  terms,
}: GoalWords): readonly { readonly name: string; readonly isNamed: boolean }[] {
  const named = [...symbols, ...quoted].map(name =>
    name
      .split(/\.|::|#/)
      .at(-1)!
      .replace(/\(.*$/, ''),
  )
  const plain = terms.filter(({ word }) => word.length > 2).map(({ word }) => word)
  return [...new Set([...named, ...plain])].map(name => ({ name: name.toLowerCase(), isNamed: named.includes(name) }))
}

const DEFINITION =
  /^\s*(?:(?:export|default|public|private|protected|static|async|abstract|final|override|pub(?:\(\w+\))?|unsafe|inline|local|declare)\s+)*(?:function\*?|class|interface|type|enum|struct|trait|impl|def|fn|func(?:\s+\([^)]*\))?|module|val|macro_rules!|sub|defp?|defmodule)\s+(?:self\.)?([A-Za-z_$][\w$]*[?!]?)/
const CONSTANT = /^(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)/
const SHELL_FUNCTION = /^([A-Za-z_]\w*)\s*\(\)\s*\{?/
const METHOD =
  /^\s+(?:(?:public|private|protected|static|async|get|set|override|\*)\s*)*([A-Za-z_$#][\w$]*)\s*\([^;]*\)\s*(?::[^{;]+)?\{\s*$/

function definedIn(line: string): string | null {
  if (line.length >= LONG) return null
  const name = (DEFINITION.exec(line) ?? CONSTANT.exec(line) ?? SHELL_FUNCTION.exec(line) ?? METHOD.exec(line))?.[1]
  return name === undefined || /^(if|for|while|switch|catch|return|function)$/.test(name) ? null : name
}

/** Extends a definition to the comment or annotation above it. */
function withComment(lines: readonly string[], at: number): number {
  let from = at
  while (from > 0 && at - from < 3 && /^\s*(\/\/|\/\*|\*|#|@|--|""")/.test(lines[from - 1]!)) from--
  return from
}

const linesOf = (text: string): readonly string[] => text.replaceAll('\t', '  ').split(/\r?\n/)

/** Removes trailing empty lines and cuts long lines. */
function trimmed(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex(line => line.trim() !== '')
  return lines.slice(0, last + 1).map(line => (line.length > LINE_MAX ? `${line.slice(0, LINE_MAX - 1)}…` : line))
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
