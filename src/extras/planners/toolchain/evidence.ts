// The input and output of the command finders: the files of one folder, and candidate commands.

import { languageOf, roleOf } from '../ranking/file-role.ts'
import type { CommandPurpose as Purpose } from './command-purpose.ts'

export interface Evidence {
  /** For example `packages/ui/`; empty for the top of the repository. Paths below are relative to it. */
  readonly folder: string
  readonly paths: ReadonlySet<string>
  readonly files: readonly string[]
  /** For the files listed in `READ`. */
  text(path: string): string | null
  /** The surrounding folders, nearest first. */
  readonly above: readonly Evidence[]
  /** The files the goal is about, if it concerns one package. */
  readonly about: readonly string[]
}

export interface Candidate {
  readonly purpose: Purpose
  readonly run: readonly string[]
  readonly from: string
  /** The folder to run it in, if not this one. */
  readonly in?: string
  /** The required program, if not the first word. */
  readonly program?: string
  /** What the repository itself lacks for it. */
  readonly missing?: string
  /** A convention of the language, not stated in the repository. */
  readonly isGuess?: true
  /** Alternatives, best first, if this one cannot start. */
  readonly or?: readonly (readonly string[])[]
}

/** Invalid JSON is treated as empty. */
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

/** Targets of `make` and `just`, with their file. */
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

/** Most source files first. */
export function languagesOf(files: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const path of files) {
    const role = roleOf(path)
    const language = role === 'source' || role === 'test' ? languageOf(path) : null
    if (language !== null) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([language]) => language)
}
