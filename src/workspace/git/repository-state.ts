// A repository as a checkpoint remembers it: where HEAD stands, what the index holds, what is not committed. Looking changes
// nothing: the index is read in a copy, no lock is taken, no filter is asked.

import { createHash } from 'node:crypto'
import { access, copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '../../safety/safety-refusal.ts'
import { pathText } from '../files/path-text.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import type { DirtySummary, GitDescription, Oid } from './git.ts'
import { rows } from './refs.ts'
import type { Repository } from './repository.ts'
import { fields, type GitOutput } from './run-git.ts'
import { filteredPaths } from './tree-content.ts'

export async function describe(repository: Repository): Promise<GitDescription> {
  const [branch, commit] = [await headBranch(repository), await repository.commitOf('HEAD')]
  const { top, gitDir, commonDir, objectFormat, shallow } = repository
  return {
    top,
    head: { commit, branch },
    index: await indexOf(repository),
    dirty: await dirtySummary(repository),
    upstream: branch === null ? null : await upstreamOf(repository, branch),
    pushed: commit === null ? null : await isPushed(repository, commit),
    underWay: await underWay(gitDir),
    objectFormat,
    shallow,
    linkedWorktree: gitDir !== commonDir,
    gitVersion: (await repository.line(['version'])).replace(/^git version /, ''),
  }
}

async function headBranch(repository: Repository): Promise<string | null> {
  const output = await repository.git(['symbolic-ref', '--quiet', 'HEAD'], { codes: [0, 1] })
  if (output.code !== 0) return null
  return output.stdout
    .toString('utf8')
    .trim()
    .replace(/^refs\/heads\//, '')
}

async function indexOf(repository: Repository): Promise<GitDescription['index']> {
  const file = join(repository.gitDir, 'index')
  const bytes = await ignoring(['ENOENT'], () => readFile(file))
  if (bytes === null) return { tree: null, sha256: null }
  return await repository.inScratch(async folder => {
    const copy = join(folder, 'index')
    await copyFile(file, copy)
    // 128: it holds conflicts, so it stands for no tree.
    const output = await repository.git(['write-tree'], { env: { GIT_INDEX_FILE: copy }, codes: [0, 128] })
    const tree = output.code === 0 ? output.stdout.toString('utf8').trim() : null
    return { tree, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
}

export interface StatusLine {
  /** Two letters as `git status --porcelain` has them: index, then working tree. */
  readonly code: string
  readonly path: BytePath
}

export function statusLines(output: GitOutput): readonly StatusLine[] {
  const all = fields(output).map(entry => ({ code: entry.slice(0, 2), path: entry.slice(3) }))
  return output.cutOff ? all.slice(0, -1) : all
}

async function dirtySummary(repository: Repository): Promise<DirtySummary> {
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
  const isConflict = (code: string) => /U|AA|DD/.test(code)
  const count = (holds: (line: StatusLine) => boolean) => found.filter(holds).length
  return {
    staged: count(({ code }) => !isConflict(code) && !' ?!'.includes(code[0]!)),
    unstaged: count(({ code, path }) => !isConflict(code) && !' ?!'.includes(code[1]!) && !filtered.has(path)),
    untracked: count(({ code }) => code === '??'),
    conflicted: count(({ code }) => isConflict(code)),
    unsure: filtered.size,
    paths: found.slice(0, 100).map(({ path }) => pathText(path)),
  }
}

async function upstreamOf(repository: Repository, branch: string): Promise<GitDescription['upstream']> {
  const output = await repository.git([
    'for-each-ref',
    '--format=%(refname)%00%(upstream)%00',
    '--',
    `refs/heads/${branch}`,
  ])
  const ref = rows(output, 2).find(([name]) => name === `refs/heads/${branch}`)?.[1]
  if (ref === undefined || ref === '' || (await repository.commitOf(ref)) === null) return null
  const counted = await repository.line(['rev-list', '--left-right', '--count', `refs/heads/${branch}...${ref}`, '--'])
  const [ahead, behind] = counted.split('\t').map(Number)
  return { ref, ahead: ahead ?? 0, behind: behind ?? 0 }
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

/** What a person is in the middle of in one working tree. */
export async function underWay(gitDir: string): Promise<readonly string[]> {
  const found = await Promise.all(
    UNDER_WAY.map(async ([file, word]) => {
      const there = await ignoring(['ENOENT'], () => access(join(gitDir, file)).then(() => true))
      return there === true ? [word] : []
    }),
  )
  return [...new Set(found.flat())]
}
