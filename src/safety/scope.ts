// Write scopes: which files the patterns of a task mean. `*` and `?` stay inside one component, `**` is any number of
// components, `dir/` is everything below `dir`; every other character means itself. Pure, imports nothing. Matching keeps
// one place to return to per kind of star, so it never takes longer than pattern times path.

/** Null is the whole workspace; an empty list is nothing. */
export type Patterns = readonly string[] | null

export const PATTERN_MAX = 1024

/** Why a pattern cannot be used, as the end of a sentence; null when it can. */
export function patternError(pattern: string): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.length > PATTERN_MAX) return `is longer than ${PATTERN_MAX} characters`
  if (/\p{Cc}/u.test(pattern)) return 'holds control characters'
  if (pattern.includes('\\')) return 'holds a backslash; write forward slashes'
  if (pattern.startsWith('/') || pattern.startsWith('~') || /^[a-z]:/i.test(pattern)) {
    return 'is not relative to the workspace'
  }
  if (pattern.startsWith('!')) return 'is negated; list what may be written instead'
  if (/[{}]/.test(pattern)) return 'holds braces; write one pattern per alternative'
  const components = componentsOf(pattern)
  if (components.includes('..')) return 'leaves the workspace with ..'
  if (components.includes('')) return 'has an empty component'
  if (components.some(component => component.includes('**') && component !== '**')) {
    return 'has ** inside a component; ** stands alone between slashes'
  }
  return null
}

/** Is the path, given with forward slashes and without `.` or `..`, one that the patterns mean? */
export function inScope(patterns: Patterns, path: string): boolean {
  if (patterns === null) return true
  const components = path.split('/')
  return patterns.some(pattern => matchesPath(componentsOf(pattern), components))
}

/** Could a path below this directory be in scope? Tells a walk where it need not go. The workspace itself is ''. */
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

/** Does every file directly in this directory belong to the scope? Then the directory itself does too. */
export function covers(patterns: Patterns, directory: string): boolean {
  return inScope(patterns, directory === '' ? '\uffff' : `${directory}/\uffff`)
}

/** A `**` at the end means at least one component: `src/**` is what lies below `src`, not `src` itself. */
function componentsOf(pattern: string): readonly string[] {
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern
  const components = whole.split('/').filter(component => component !== '.')
  return components.at(-1) === '**' ? [...components, '*'] : components
}

function matchesPath(pattern: readonly string[], path: readonly string[]): boolean {
  return matches(pattern, path, '**', matchesComponent)
}

function matchesComponent(pattern: string, component: string): boolean {
  return matches([...pattern], [...component], '*', (part, character) => part === '?' || part === character)
}

/** The one matcher, for components in a path and for characters in a component: on a mismatch return to the last star. */
function matches(
  pattern: readonly string[],
  text: readonly string[],
  star: string,
  same: (part: string, item: string) => boolean,
): boolean {
  let at = 0
  let returnTo = -1
  let returnAt = 0
  for (let seen = 0; seen < text.length; ) {
    if (pattern[at] === star) {
      returnTo = ++at
      returnAt = seen
    } else if (at < pattern.length && same(pattern[at]!, text[seen]!)) {
      at++
      seen++
    } else if (returnTo >= 0) {
      at = returnTo
      seen = ++returnAt
    } else return false
  }
  while (pattern[at] === star) at++
  return at === pattern.length
}
