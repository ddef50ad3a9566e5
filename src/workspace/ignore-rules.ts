// Which files git would ignore: the patterns of `.gitignore` and `.planfoldignore` files, as git reads them. The last rule
// that matches decides; rules of deeper folders come later; what lies in an ignored folder stays ignored. Works on bytes
// (one character each), as git does. Pure.

import { matchesGlob, readGlob } from './glob.ts'

export interface IgnoreRules {
  /** The folder the file stands in, '' for the workspace, with a slash at its end otherwise. */
  readonly base: string
  /** What the file said. */
  readonly text: string
  readonly rules: readonly Rule[]
}

interface Rule {
  readonly negated: boolean
  readonly directoryOnly: boolean
  /** Matches against the path below `base`; otherwise against the last name alone. */
  readonly anchored: boolean
  readonly matches: (text: string) => boolean
}

const RULES_MAX = 20_000

export function readRules(base: string, text: string): IgnoreRules {
  const rules: Rule[] = []
  const body = text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text
  for (const line of body.split('\n')) {
    const rule = ruleOf(line.endsWith('\r') ? line.slice(0, -1) : line)
    if (rule !== null && rules.length < RULES_MAX) rules.push(rule)
  }
  return { base, text, rules }
}

/** Is this path ignored, when no folder above it is? `stack` holds the rules from the workspace downwards. */
export function isIgnored(stack: readonly IgnoreRules[], path: string, isDirectory: boolean): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (let file = stack.length - 1; file >= 0; file--) {
    const { base, rules } = stack[file]!
    for (let at = rules.length - 1; at >= 0; at--) {
      const rule = rules[at]!
      if (rule.directoryOnly && !isDirectory) continue
      if (rule.matches(rule.anchored ? path.slice(base.length) : name)) return !rule.negated
    }
  }
  return false
}

function ruleOf(line: string): Rule | null {
  if (line === '' || line.startsWith('#')) return null
  let pattern = withoutTrailingSpaces(line)
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const directoryOnly = pattern.endsWith('/')
  if (directoryOnly) pattern = pattern.slice(0, -1)
  const anchored = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  if (pattern === '') return null
  const matches = matcherOf(pattern)
  return matches === null ? null : { negated, directoryOnly, anchored, matches }
}

/** Spaces at the end do not count, unless a backslash stands before them. */
function withoutTrailingSpaces(line: string): string {
  let end = 0
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '\\') at++
    else if (line[at] === ' ') continue
    end = at + 1
  }
  return line.slice(0, Math.min(end, line.length))
}

/** Null when the pattern can never match. What stands before the first wildcard is compared as it is, as in git. */
function matcherOf(pattern: string): Rule['matches'] | null {
  const plain = pattern.search(/[*?[\\]/)
  if (plain < 0) return text => text === pattern
  const prefix = pattern.slice(0, plain)
  const rest = pattern.slice(plain)
  if (/^\*[^*?[\\/]+$/.test(rest) && prefix === '') {
    const ending = rest.slice(1)
    return text => text.endsWith(ending) && !text.slice(0, -ending.length).includes('/')
  }
  const glob = readGlob(rest)
  return glob === null ? null : text => text.startsWith(prefix) && matchesGlob(glob, text.slice(prefix.length))
}
