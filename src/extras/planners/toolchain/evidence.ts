// What the files of one folder say about how it is tested, linted and built: what the finders of commands read, and what they find.

import { languageOf, roleOf } from '../ranking/file-role.ts'
import type { CommandPurpose as Purpose } from './command-purpose.ts'

export interface Evidence {
  /** As `packages/ui/`; empty for the top of the repository. Every path below is told from here. */
  readonly folder: string
  readonly paths: ReadonlySet<string>
  readonly files: readonly string[]
  /** Of the files named in `READ`, where they are. */
  text(path: string): string | null
  /** The folders around it, nearest first, the top last. */
  readonly above: readonly Evidence[]
  /** The files that the goal is about, if one package is meant and not all of it. */
  readonly about: readonly string[]
}

export interface Candidate {
  readonly purpose: Purpose
  readonly run: readonly string[]
  readonly from: string
  /** The folder it is run in, when that is not the folder it was found in. */
  readonly in?: string
  /** The program that must be there when it is not the first word. */
  readonly program?: string
  /** What the repository itself lacks for it. */
  readonly missing?: string
  /** The usual way of the language, which the repository does not say itself. */
  readonly isGuess?: true
  /** Other ways to the same, best first, for where this one cannot start. */
  readonly or?: readonly (readonly string[])[]
}

/** Whatever a repository holds may be broken; then it says nothing. */
export function objectIn(text: string | null): { readonly [key: string]: unknown } {
  try {
    const read: unknown = JSON.parse(text ?? '{}')
    return typeof read === 'object' && read !== null ? (read as { readonly [key: string]: unknown }) : {}
  } catch {
    return {}
  }
}

const TARGET_FILES = [
  ['make', ['Makefile', 'makefile', 'GNUmakefile']],
  ['just', ['justfile', 'Justfile']],
] as const

/** The targets of `make` and `just`, with the file that has them. */
export function targetsOf({ text }: Evidence): readonly {
  readonly program: string
  readonly from: string
  readonly targets: ReadonlySet<string>
}[] {
  return TARGET_FILES.flatMap(([program, names]) => {
    const from = names.find(name => text(name) !== null)
    if (from === undefined) return []
    const targets = [...text(from)!.matchAll(/^([\w-]+)(?:\s[^:=\n]*)?:(?!=)/gm)].map(match => match[1]!)
    return [{ program, from, targets: new Set(targets) }]
  })
}

/** By the number of source files, most first. */
export function languagesOf(files: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const path of files) {
    const role = roleOf(path)
    const language = role === 'source' || role === 'test' ? languageOf(path) : null
    if (language !== null) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([language]) => language)
}
