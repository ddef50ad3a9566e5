// Features of a file for ranking, each from 0 to 1: words in contents and path, definitions, history, tests. `rank-files.ts`
// weighs them.

import type { GoalTerm, GoalWords } from '../goal.ts'
import type { PastChange } from '../planner.ts'
import { type TermCounter, termCounter } from './count-terms.ts'
import { isAside } from './file-role.ts'

export interface ReadFile {
  readonly path: string
  readonly bytes: number
  /** Null if it was not read. */
  readonly text: string | null
}

export interface FileFeatures {
  /** BM25 over contents, paths and definitions. */
  readonly words: number
  /** BM25 over the path. */
  readonly path: number
  /** The best stretch of the file. */
  readonly passage: number
  /** The goal begins with `part: …`, and the file belongs to that part. */
  readonly scope: number
  readonly defines: number
  /** Contains a name of the goal verbatim. */
  readonly mentions: number
  /** Change frequency, weighted to recent changes. */
  readonly lively: number
  /** Changed in commits with similar messages. */
  readonly history: number
  readonly named: number
  /** Size relative to files of its role. */
  readonly size: number
  /** Beside the product: examples, scripts. */
  readonly aside: number
}

export interface FeatureInput {
  readonly goal: GoalWords
  readonly sources: readonly ReadFile[]
  readonly tests: readonly ReadFile[]
  readonly history: readonly PastChange[]
}

export function featuresOf({ goal, sources, tests, history }: FeatureInput): readonly FileFeatures[] {
  const terms = goal.terms
  const counter = termCounter(terms)
  const documents = sources.map(file => documentOf(file, counter))
  const idf = idfOf(terms, documents)
  const names = exactNames(goal)
  const known = new Map(sources.map((file, index) => [file.path, index]))
  const words = normal(bm25(documents, idf))
  const paths = normal(documents.map(({ inPath }) => weigh(idf, inPath)))
  const defines = normal(documents.map(({ defined }) => weigh(idf, defined)))
  const passages = normal(documents.map(({ stretches }) => passageOf(stretches, idf)))
  const lively = normal(livelinessOf(sources.length, known, history))
  const past = normal(pastOf(sources.length, known, history, terms, counter))
  const sizes = normal(sources.map(({ bytes }) => Math.log(1 + bytes)))
  const mentions = normal(sources.map(({ text }) => exactIn(text, names)))
  const tested = sourcesOfNamedTests(goal, tests)
  const parts = partsOf(goal)
  return sources.map(({ path }, index) => ({
    words: words[index]!,
    path: paths[index]!,
    passage: passages[index]!,
    scope: parts.some(part => isOfPart(path.toLowerCase(), part)) ? 1 : 0,
    defines: defines[index]!,
    mentions: mentions[index]!,
    lively: lively[index]!,
    history: past[index]!,
    named: Math.max(namedIn(goal, path), tested.size > 0 && tested.has(nameStem(path)) ? NAMED_BY_TEST : 0),
    size: sizes[index]!,
    aside: isAside(path) && paths[index]! < 0.5 ? 1 : 0,
  }))
}

interface CountedDocument {
  readonly frequency: Float64Array
  readonly defined: Float64Array
  readonly inPath: Float64Array
  readonly stretches: ReadonlyMap<number, Float64Array>
  readonly length: number
}

/** A defined name, or a part of the path, counts as this many uses. */
const DEFINED_WEIGHT = 4
const PATH_WEIGHT = 6

function documentOf({ path, text, bytes }: ReadFile, counter: TermCounter): CountedDocument {
  const inPath = counter.countPlain(path)
  if (text === null) {
    const frequency = inPath.map(count => count * PATH_WEIGHT)
    return { frequency, defined: new Float64Array(inPath.length), inPath, stretches: new Map(), length: bytes / 8 }
  }
  const { all, defined, stretches } = counter.count(text)
  if (stretches.size === 0 && inPath.every(count => count === 0))
    return { frequency: inPath, defined, inPath, stretches, length: text.length / 8 }
  const frequency = all.map(
    (count, term) => count + defined[term]! * (DEFINED_WEIGHT - 1) + inPath[term]! * PATH_WEIGHT,
  )
  return { frequency, defined, inPath, stretches, length: text.length / 8 }
}

/** Two adjacent stretches, so that no passage is cut. */
function passageOf(stretches: ReadonlyMap<number, Float64Array>, idf: Float64Array): number {
  let best = 0
  for (const [place, here] of stretches) {
    const next = stretches.get(place + 1)
    let score = 0
    for (let term = 0; term < idf.length; term++) {
      const count = here[term]! + (next?.[term] ?? 0)
      if (count > 0) score += idf[term]! * Math.sqrt(Math.min(count, 4))
    }
    best = Math.max(best, score)
  }
  return best
}

/** `parser: accept tabs`, `fix(parser): accept tabs` and `[parser] accept tabs` name the folder or file `parser`. */
export function partsOf({ headline }: GoalWords): readonly string[] {
  const scope = /^(?:\w+\(([\w/., -]+)\)!?:|\[([\w/., -]+)\]:?|([\w/.,-]+(?:, ?[\w/.-]+)*)!?:)\s/.exec(headline)
  const named = (scope?.[1] ?? scope?.[2] ?? scope?.[3] ?? '').toLowerCase().split(/, ?/)
  return named.filter(part => part !== '')
}

const isOfPart = (path: string, part: string): boolean =>
  `/${path}`.includes(`/${part}/`) ||
  path.endsWith(`/${part}`) ||
  path
    .replace(/\.[a-z0-9]+$/, '')
    .split('/')
    .includes(part)

function idfOf(terms: readonly GoalTerm[], documents: readonly CountedDocument[]): Float64Array {
  return Float64Array.from(terms, ({ named }, term) => {
    const holding = documents.reduce((sum, { frequency }) => sum + (frequency[term]! > 0 ? 1 : 0), 0)
    return Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5)) * (named ? 1.5 : 1)
  })
}

const K1 = 1.2
const B = 0.5

function bm25(documents: readonly CountedDocument[], idf: Float64Array): readonly number[] {
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length)
  return documents.map(({ frequency, length }) => {
    const norm = K1 * (1 - B + (B * length) / Math.max(1, mean))
    let score = 0
    for (let term = 0; term < idf.length; term++) {
      const f = frequency[term]!
      if (f > 0) score += (idf[term]! * f * (K1 + 1)) / (f + norm)
    }
    return score
  })
}

const weigh = (idf: Float64Array, found: Float64Array): number =>
  found.reduce((sum, count, term) => sum + (count > 0 ? idf[term]! * Math.sqrt(Math.min(count, 4)) : 0), 0)

const exactNames = (goal: GoalWords): readonly string[] =>
  [...new Set([...goal.symbols, ...goal.symbols.map(lastPart), ...goal.quoted])].filter(
    name => name.length > 2 && name.length < 100,
  )

const lastPart = (symbol: string): string => symbol.split(/[.:#]+/).at(-1) ?? symbol

function exactIn(text: string | null, names: readonly string[]): number {
  let uses = 0
  for (const name of text === null ? [] : names) {
    let count = 0
    for (let at = text!.indexOf(name); at >= 0 && count < 50; at = text!.indexOf(name, at + name.length)) count++
    if (count > 0) uses += 1 + Math.log(count)
  }
  return uses
}

/** Commits after which the weight is halved. */
const HALF_LIFE = 150
/** A change of many files says little about each. */
const WIDE_CHANGE = 30

function livelinessOf(
  size: number,
  known: ReadonlyMap<string, number>,
  history: readonly PastChange[],
): readonly number[] {
  const scores = new Array<number>(size).fill(0)
  history.forEach(({ files }, age) => {
    if (files.length > WIDE_CHANGE) return
    for (const file of files) {
      const index = known.get(file)
      if (index !== undefined) scores[index]! += 0.5 ** (age / HALF_LIFE) / Math.sqrt(files.length)
    }
  })
  return scores.map(score => Math.log(1 + score))
}

/** Compares the messages of a file's commits with the goal. */
function pastOf(
  size: number,
  known: ReadonlyMap<string, number>,
  history: readonly PastChange[],
  terms: readonly GoalTerm[],
  counter: TermCounter,
): readonly number[] {
  const counted = history.map(({ message }) => counter.countPlain(message))
  const idf = Float64Array.from(terms, (_, term) => {
    const holding = counted.reduce((sum, found) => sum + (found[term]! > 0 ? 1 : 0), 0)
    return holding === 0 ? 0 : Math.log(1 + (history.length - holding + 0.5) / (holding + 0.5))
  })
  const scores = new Array<number>(size).fill(0)
  history.forEach(({ files }, age) => {
    if (files.length > WIDE_CHANGE) return
    const alike = counted[age]!.reduce((sum, count, term) => sum + (count > 0 ? idf[term]! : 0), 0)
    if (alike === 0) return
    const inside = files.map(file => known.get(file)).filter(index => index !== undefined)
    for (const index of inside)
      scores[index]! += (alike ** 2 / Math.sqrt(inside.length)) * (0.5 + 0.5 * 0.5 ** (age / (4 * HALF_LIFE)))
  })
  return scores.map(score => Math.sqrt(score))
}

/** `test_foo.py`, `foo.test.ts`, `foo_spec.rb` and `src/foo.go` give `foo`. */
export const nameStem = (path: string): string =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/\.[a-z0-9]+$/, '')
    .replace(/^(.+)[_.-](?:test|tests|spec|specs)$|^(?:test|spec)[_.-](.+)$/, '$1$2')
    .replace(/[_.-]/g, '')

/** A test named in the goal, by file or title, is evidence for the source with the same name. */
function sourcesOfNamedTests({ quoted, files, frames }: GoalWords, tests: readonly ReadFile[]): ReadonlySet<string> {
  const titles = quoted.filter(text => text.split(/\s+/).length >= TITLE_WORDS_MIN)
  const named = [...files, ...frames.map(({ file }) => file)]
  const isNamed = ({ path, text }: ReadFile): boolean =>
    named.some(file => path === file || path.endsWith(`/${file}`)) ||
    titles.some(title => text?.includes(title) === true)
  return new Set(tests.filter(isNamed).map(({ path }) => nameStem(path)))
}

const NAMED_BY_TEST = 0.75
const TITLE_WORDS_MIN = 3

/** 1 for the exact path, less if only its end is named. */
function namedIn({ files, frames }: GoalWords, path: string): number {
  let best = 0
  const fits = (named: string): boolean => {
    const bare = named.replace(/^(\.\/|\/)+/, '')
    return bare === path || path.endsWith(`/${bare}`) || bare.endsWith(`/${path}`)
  }
  for (const file of files) if (fits(file)) best = Math.max(best, file.includes('/') ? 1 : 0.9)
  // The frame closest to the error is first, or last in Python.
  frames.forEach(({ file }, index) => {
    if (fits(file)) best = Math.max(best, 1 - (0.3 * index) / frames.length)
  })
  return best
}

function normal(scores: readonly number[]): readonly number[] {
  const most = scores.reduce((max, score) => Math.max(max, score), 0)
  return most === 0 ? scores : scores.map(score => score / most)
}
