// The state of a repository: its branch, uncommitted files, operations in progress. Read-only: takes no lock and runs no filter.

import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '../../safety/safety-refusal.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import type { Oid } from './git.ts'
import type { Repository } from './repository.ts'
import { fields, type GitOutput } from './run-git.ts'
import { filteredPaths } from './tree-content.ts'

export async function headBranch(repository: Repository): Promise<string | null> {
  const output = await repository.git(['symbolic-ref', '--quiet', 'HEAD'], { codes: [0, 1] })
  if (output.code !== 0) return null
  return output.stdout
    .toString('utf8')
    .trim()
    .replace(/^refs\/heads\//, '')
}

export interface StatusLine {
  /** Two letters as in `git status --porcelain`: index, then working tree. */
  readonly code: string
  readonly path: BytePath
}

export function statusLines(output: GitOutput): readonly StatusLine[] {
  const all = fields(output).map(entry => ({ code: entry.slice(0, 2), path: entry.slice(3) }))
  return output.cutOff ? all.slice(0, -1) : all
}

/** Counts staged, unstaged, untracked and conflicting files, except those with a filter, which never runs. */
export async function dirtyCount(repository: Repository): Promise<number> {
  const args = [
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
  ]
  const found = statusLines(await repository.git(args, { cutOff: 'keep' }))
  const looksChanged = found.filter(({ code }) => code[1] === 'M').map(({ path }) => path)
  const filtered = await filteredPaths(repository, looksChanged)
  const count = ({ code, path }: StatusLine): number => {
    if (code === '??' || /U|AA|DD/.test(code)) return 1
    return Number(!' !'.includes(code[0]!)) + Number(!' !'.includes(code[1]!) && !filtered.has(path))
  }
  return found.reduce((sum, line) => sum + count(line), 0)
}

export async function isPushed(repository: Repository, commit: Oid): Promise<boolean> {
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', '--contains', commit, '--', 'refs/remotes']
  return (await repository.line(args)) !== ''
}

const UNDER_WAY = [
  ['MERGE_HEAD', 'merge'],
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_START', 'bisect'],
] as const

export async function underWay(gitDir: string): Promise<readonly string[]> {
  const found = await Promise.all(
    UNDER_WAY.map(async ([file, word]) => {
      const there = await ignoring(['ENOENT'], () => access(join(gitDir, file)).then(() => true))
      return there === true ? [word] : []
    }),
  )
  return [...new Set(found.flat())]
}
