// Matches words on the command line with paths of a plan: relative to the current folder, relative to the workspace, or as they were
// shown. And prints a path as a word that can be typed again.

import { relative, resolve } from 'node:path'
import { covers, inScope } from '../../safety/scope.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import { usage } from '../exit.ts'

export interface Stand {
  readonly root: string
  readonly cwd: string
}

export function resolvePaths(stand: Stand, word: string, known: readonly string[]): readonly string[] {
  const pattern = resolvePattern(stand, word, known)
  return pattern === null ? [] : known.filter(path => matches(pattern, path))
}

export function resolvePattern(stand: Stand, word: string, known: readonly string[]): string | null {
  const asShown = known.find(path => escapeForTerminal(path) === word)
  const patterns = [pathInside(stand.root, stand.cwd, word), pathInside(stand.root, stand.root, word)]
  if (patterns.every(pattern => pattern === null) && asShown === undefined)
    throw usage(`'${word}' is outside the workspace`, `name a path inside ${stand.root}`)
  return patterns.find(pattern => pattern !== null && known.some(path => matches(pattern, path))) ?? asShown ?? null
}

export function pathInside(root: string, from: string, word: string): string | null {
  const path = relative(root, resolve(from, word))
  if (path === '..' || path.startsWith('../')) return null
  if (path === '') return '**'
  return word.endsWith('/') ? `${path}/` : path
}

const matches = (pattern: string, path: string): boolean =>
  pattern === path || inScope([pattern], path) || covers([pattern], path) || path.startsWith(`${pattern}/`)

export function shownPath(path: string): string {
  const shown = escapeForTerminal(path)
  return /^\s|\s$/.test(shown) ? `'${shown}'` : shown
}
