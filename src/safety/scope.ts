// Write scopes: the files that the patterns of a task match. `*` and `?` match within one component, `**` any number of components; every
// other character is literal. A pattern that ends in a plain name matches that name and, if it is a folder, everything below: `dist`,
// `dist/` and `dist/**` are equal; `dist/.` matches only the name itself. Paths are compared as text and links are not followed, so a link
// may be in scope while its target is not.

import { matchesPattern } from '../domain/policy/pattern.ts'

/** Null is the whole workspace; an empty list is nothing. */
export type Patterns = readonly string[] | null

export const PATTERN_MAX = 1024

/** Why a pattern is invalid, as the end of a sentence; null when it is valid. */
export function patternError(pattern: string): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.length > PATTERN_MAX) return `is longer than ${PATTERN_MAX} characters`
  if (/\p{Cc}/u.test(pattern)) return 'contains control characters'
  if (pattern.includes('\\')) return 'contains a backslash; write forward slashes'
  if (pattern.startsWith('/') || pattern.startsWith('~') || /^[a-z]:/i.test(pattern)) {
    return 'is not relative to the workspace'
  }
  if (pattern.startsWith('!')) return 'is negated; list what may be written instead'
  if (/[{}]/.test(pattern)) return 'contains braces; write one pattern per alternative'
  const components = componentsOf(pattern)
  if (components.includes('..')) return 'leaves the workspace with ..'
  if (components.includes('')) return 'has an empty component'
  if (components.some(component => component.includes('**') && component !== '**')) {
    return 'has ** inside a component; ** must be alone between slashes'
  }
  return null
}

/** The path has forward slashes and no `.` or `..`. */
export function inScope(patterns: Patterns, path: string): boolean {
  if (patterns === null) return true
  const components = path.split('/')
  return patterns.some(pattern => matchesPath(componentsOf(pattern), components))
}

/** Could a path below this directory be in scope? Lets a walk skip it. The workspace itself is ''. */
export function mayHold(patterns: Patterns, directory: string): boolean {
  if (patterns === null) return true
  const components = directory === '' ? [] : directory.split('/')
  return patterns.some(pattern => {
    const parts = componentsOf(pattern)
    for (const [at, component] of components.entries()) {
      const part = parts[at]
      if (part === '**') return true
      if (part === undefined || !matchesComponent(part, component)) return false
    }
    return parts.length > components.length
  })
}

/** Is every file directly in this directory in scope? Then so is the directory. */
export function covers(patterns: Patterns, directory: string): boolean {
  return inScope(patterns, directory === '' ? '\uffff' : `${directory}/\uffff`)
}

/** `tail` matches everything below a pattern that ends in a plain name; `**` also matches no component, and so the name itself. */
function componentsOf(pattern: string, tail: '**' | typeof MAYBE_FOLDER = '**'): readonly string[] {
  const isFolder = pattern.endsWith('/')
  const components = (isFolder ? pattern.slice(0, -1) : pattern).split('/').filter(component => component !== '.')
  const last = components.at(-1)
  if (isFolder && last !== '**') return [...components, '**']
  if (pattern.endsWith('/.') && components.length > 0) return components
  return last === undefined || !/[*?]/.test(last) ? [...components, tail] : components
}

/** The tail of a pattern that may be a file or a folder. No valid component contains three stars. */
const MAYBE_FOLDER = '***'

function matchesPath(pattern: readonly string[], path: readonly string[]): boolean {
  return matchesPattern(pattern, path, '**', matchesComponent)
}

function matchesComponent(pattern: string, component: string): boolean {
  return matchesPattern([...pattern], [...component], '*', (part, character) => part === '?' || part === character)
}

/** The most patterns of an intersection; the rest is dropped, which allows less. */
const COMMON_MAX = 500

/** Patterns for the paths that both lists match. Where two components with stars differ, their intersection is dropped. */
export function intersectScopes(a: Patterns, b: Patterns): Patterns {
  if (a === null || b === null) return a ?? b
  const found = new Set<string>()
  for (const one of a)
    for (const other of b)
      for (const common of commonOf(componentsOf(one, MAYBE_FOLDER), componentsOf(other, MAYBE_FOLDER))) {
        if (found.size >= COMMON_MAX) return [...found]
        found.add(common)
      }
  return [...found]
}

function commonOf(a: readonly string[], b: readonly string[]): readonly string[] {
  let left = 2_000
  const walk = (i: number, j: number): readonly (readonly string[])[] => {
    if (left-- <= 0) return []
    const [one, other] = [a[i], b[j]]
    if (one === undefined && other === undefined) return [[]]
    if (isAny(one) && isAny(other)) {
      const both = one === other ? one! : MAYBE_FOLDER
      return [...walk(i + 1, j), ...walk(i, j + 1)].map(rest => [both, ...rest])
    }
    if (isAny(one)) return [...walk(i + 1, j), ...taking(other, () => walk(i, j + 1))]
    if (isAny(other)) return [...walk(i, j + 1), ...taking(one, () => walk(i + 1, j))]
    if (one === undefined || other === undefined) return []
    const both = one === other ? one : narrowerComponent(one, other)
    return both === null ? [] : taking(both, () => walk(i + 1, j + 1))
  }
  const taking = (component: string | undefined, rest: () => readonly (readonly string[])[]) =>
    component === undefined ? [] : rest().map(more => [component, ...more])
  const patterns = walk(0, 0).map(components => {
    const plain = components.filter((component, at) => !isAny(component) || !isAny(components[at - 1]))
    const last = plain.at(-1) ?? ''
    const written = plain.map(component => (component === MAYBE_FOLDER ? '**' : component))
    if (last === MAYBE_FOLDER) return written.slice(0, -1).join('/')
    // One of the two ends in a star and is no folder: `*.md` and `README.md`.
    return [...written, ...(/[*?]/.test(last) ? [] : ['.'])].join('/')
  })
  return [...new Set(patterns)].map(pattern => (pattern === '' ? '.' : pattern))
}

const isAny = (component: string | undefined): boolean => component === '**' || component === MAYBE_FOLDER

function narrowerComponent(one: string, other: string): string | null {
  if (one === '*') return other
  if (other === '*') return one
  const isWild = (component: string): boolean => /[*?]/.test(component)
  if (!isWild(one)) return matchesComponent(other, one) ? one : null
  return !isWild(other) && matchesComponent(one, other) ? other : null
}
