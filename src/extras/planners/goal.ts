// Parses a goal without a model: quoted text, files, symbols, errors, stack frames, and search terms.

import { isProtected, type Limit, limitsIn, withoutLimits } from './goal-limits.ts'
import type { GoalMentions } from './planner.ts'

export interface GoalWords extends GoalMentions {
  readonly text: string
  /** The first line, without a stack trace. */
  readonly headline: string
  readonly limits: readonly Limit[]
  /** The goal without limits and stack traces. */
  readonly wanted: string
  /** Distinct word stems to search for. */
  readonly terms: readonly GoalTerm[]
}

export interface GoalTerm {
  /** Lower case; a prefix unless `whole`. */
  readonly stem: string
  readonly word: string
  /** Match the whole word only. */
  readonly whole: boolean
  /** From an identifier (`fooBar`, `foo_bar`, in backticks) instead of prose. */
  readonly named: boolean
}

const GOAL_MAX = 20_000

export function readGoal(goal: string): GoalWords {
  const text = goal.slice(0, GOAL_MAX).trim()
  const frames = framesIn(text)
  const prose = text
    .split('\n')
    .filter(line => !FRAME_LINE.test(line))
    .map(line => line.replace(REFERENCE, ''))
    .join('\n')
  const limits = limitsIn(prose)
  const wanted = withoutLimits(prose, limits).replace(
    /^(?:completely|entirely|fully|correctly|silently|simply)\s+/i,
    '',
  )
  const protecting = limits.filter(({ protects }) => protects)
  const isSpared = (file: string): boolean =>
    !wanted.includes(file) && protecting.some(limit => isProtected(limit.text, file))
  const quoted = unique([
    ...matches(prose, /`([^`\n]{1,200})`/g),
    ...matches(prose, /"([^"\n]{2,200})"/g),
    ...matches(prose, /(?<![\w])'([^'\n]{2,200})'(?![\w])/g),
    ...matches(prose, /“([^”\n]{2,200})”|«([^»\n]{2,200})»|„([^“”\n]{2,200})[“”]/g),
  ])
  const named = matches(prose, FILE_NAME)
  const files = unique([...named.filter(file => !isSpared(file)), ...frames.map(({ file }) => file)])
  const symbols = unique([...quoted.filter(isSymbol), ...matches(prose, SYMBOL)].map(bareSymbol)).filter(
    symbol => symbol.length > 1 && !files.includes(symbol) && !named.includes(symbol),
  )
  const errors = unique(matches(text, ERROR_LINE).map(line => line.trim()))
  return {
    text,
    headline: (prose.split('\n').find(line => line.trim() !== '') ?? text.split('\n')[0] ?? '').trim(),
    limits,
    wanted,
    quoted,
    files,
    symbols,
    errors,
    frames,
    terms: termsOf(withoutLimits(prose, protecting).replace(EXAMPLE_HOST, ' '), quoted),
  }
}

/** `(#12)` and `(fixes #12)` do not describe work. */
const REFERENCE = /\s*\((?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|gh)[\s-]*)?#\d+\)/gi
/** `src/a.ts`, `README.md`, `lib/x/y.py`; not `e.g.` and not `node.js` at the end of a sentence. */
const FILE_NAME =
  /(?<![\w@/.-])((?:[\w.@-]+\/)*[\w@-][\w.@-]*\.(?:[cm]?[jt]sx?|py|pyi|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|swift|sh|bash|md|rst|txt|ya?ml|json|toml|cfg|ini|lock|sql|html|css|scss|vue|svelte|gradle|xml|ex|exs|erl|hs|lua|pl|scala|clj|zig|dart|mod))(?![\w/])/g
/** `fooBar`, `FooBar`, `foo_bar`, `Foo.bar`, `foo()`, `--flag`. */
const SYMBOL =
  /(?<![\w./-])((?:[A-Za-z_$][\w$]*(?:\.|::|#))+[A-Za-z_$][\w$]*|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Za-z]\w*_\w+|_\w+|[A-Za-z_]\w*(?=\(\))|--[a-z][\w-]+)(?![\w])/g
const isSymbol = (text: string): boolean => /^[@#.$_A-Za-z-][\w$.:#@()-]*$/.test(text) && /[A-Za-z]/.test(text)
const bareSymbol = (symbol: string): string => symbol.replace(/^[@.#]+|\(\)?$|[.:,]+$/g, '').replace(/\(.*$/, '')
const ERROR_LINE = /^\s*((?:\w+\.)*\w*(?:Error|Exception|panic|Panic|Failure)\b:?[^\n]{0,200})/gm

// Stack frames of JavaScript, Python, Go, Ruby, Rust and Java.
const FRAME_LINE =
  /^\s*(?:at .+:\d+(?::\d+)?\)?|File ".+", line \d+.*|\S+\.go:\d+.*|.+:\d+:in .+|at \S+\(.+\.java:\d+\))\s*$/
const FRAMES = [
  /at (?:.+? \()?(?:file:\/\/)?([^\s():]+):(\d+)(?::\d+)?\)?/g,
  /File "([^"\n]+)", line (\d+)/g,
  /(?<![\w/.-])([\w./-]+\.(?:go|rs|rb|py|sh|[cm]?[jt]sx?)):(\d+)/g,
  /(?<![\w/.-])([\w./-]+\.sh): line (\d+)/g,
  /\(([\w$]+\.java):(\d+)\)/g,
]

function framesIn(text: string): GoalMentions['frames'] {
  const found = FRAMES.flatMap(pattern =>
    [...text.matchAll(pattern)].map(match => ({ at: match.index, file: match[1]!, line: Number(match[2]) })),
  )
  const seen = new Set<string>()
  return found
    .sort((a, b) => a.at - b.at)
    .filter(({ file, line }) => {
      const key = `${file}:${line}`
      return !seen.has(key) && /[.\\/]/.test(file) && seen.add(key)
    })
    .map(({ file, line }) => ({ file: file.replace(/^\.\//, ''), line }))
}

function termsOf(prose: string, quoted: readonly string[]): readonly GoalTerm[] {
  const inQuotes = new Set(quoted.flatMap(text => text.match(WORD) ?? []))
  const terms = new Map<string, GoalTerm>()
  for (const word of prose.match(WORD) ?? []) {
    const parts = wordParts(word)
    const named = inQuotes.has(word) || parts.length > 1
    for (const part of parts) {
      const lower = part.toLowerCase()
      if (lower.length < 2 || (STOP_WORDS.has(lower) && !inQuotes.has(word))) continue
      const stem = stemOf(lower)
      const before = terms.get(stem)
      if (before?.named === true) continue
      terms.set(stem, { stem, word: lower, whole: stem.length < 4, named })
    }
  }
  return [...terms.values()].slice(0, TERMS_MAX)
}

/** `user@example.com` is not about examples. */
const EXAMPLE_HOST = /\bexample\.(?:com|org|net)\b/gi
const TERMS_MAX = 60
const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu

/** `fooBarHTTPServer2` is foo, Bar, HTTP, Server2. */
export const wordParts = (word: string): readonly string[] =>
  word.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u).filter(part => part !== '')

/** The common prefix of inflected forms: `resuming`, `resumed`, `resumes` give `resum`. At least four letters. */
export function stemOf(word: string): string {
  for (const ending of ENDINGS) {
    if (!word.endsWith(ending) || word.length - ending.length < 4) continue
    const stem = word.slice(0, -ending.length)
    // `planning` gives `plan`, not `plann`; but `calling` stays `call`.
    return /([bdgmnprt])\1$/.test(stem) && stem.length > 4 ? stem.slice(0, -1) : stem
  }
  return word
}

const ENDINGS = ['ations', 'ation', 'ings', 'ing', 'ies', 'ied', 'ers', 'ed', 'es', 'er', 'ly', 's', 'e', 'y']

const STOP_WORDS = new Set(
  `a about after all allow also always an and any are as at be because been before being but by can cannot change could correct correctly
  do does doing don done dont each ensure ensures etc every fix fixed fixes fixing for from further get gets give given gives go good had handle
  handled handles handling has have having how i if implement implemented improve in instead into is isn isnt issue it its itself just keep
  let like made make makes making may me might more most must my need needed needs never new no not now of off on once one only or other our
  out over own please problem properly provide re right same set should shouldn show so some such support supported supporting supports than
  that the their them then there these they thing things this those through to too try under until up use used uses using very want was way we
  well were what when where whether which while who why will with within without won work working works would wrong you your add added adding
  adds update updates updated updating remove removed removes bug feature code file files via per`.split(/\s+/),
)

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(match => match.slice(1).find(group => group !== undefined) ?? '')
}

const unique = <T>(all: readonly T[]): readonly T[] => [...new Set(all)]
