// May this folder's plans write into the repository that its `.git` names? A `.git` folder is the repository itself. A `.git` *file*
// (or link) names a repository somewhere else, and anybody who hands us a folder can put any name into it. Git's own tools leave a
// reference back: a linked worktree in `gitdir`, a submodule in `core.worktree`. Where it is missing or names another folder,
// nothing is written until a person names the repository in PLANFOLD_GIT_DIR. `git clone --separate-git-dir` leaves no reference, so
// such a clone has to be named, too.

import { lstat, readFile, realpath } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import type { Variables } from '../../safety/environment.ts'
import { ignoring, refuse } from '../../safety/refused.ts'
import type { Repository } from './repository.ts'
import { line } from './run-git.ts'

/** The repository that may be written although nothing in it names this folder. */
export const GIT_DIR_VARIABLE = 'PLANFOLD_GIT_DIR'

export async function demandBackReference(repository: Repository, environment: Variables): Promise<void> {
  const { top, gitDir } = repository
  const dotGit = join(top, '.git')
  if ((await lstat(dotGit)).isDirectory()) return
  if ((await worktreeNames(gitDir, dotGit)) || (await configNames(repository))) return
  const named = environment[GIT_DIR_VARIABLE]
  if (named !== undefined && (await real(resolve(top, named))) === (await real(gitDir))) return
  refuse(
    'policy',
    `The file ${JSON.stringify(dotGit)} names the repository ${JSON.stringify(gitDir)}, and nothing in that repository names this folder. Nothing was written there.`,
    `If it is yours (git clone --separate-git-dir leaves no reference), say so: ${GIT_DIR_VARIABLE}=${quoted(gitDir)} planfold …. For a worktree that was moved: git worktree repair.`,
  )
}

/** A linked worktree: the repository keeps the path of its `.git` file. */
async function worktreeNames(gitDir: string, dotGit: string): Promise<boolean> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(join(gitDir, 'gitdir'), 'utf8'))
  if (text === null) return false
  const named = text.replace(/\n$/, '')
  return (await real(isAbsolute(named) ? named : resolve(gitDir, named))) === (await real(dotGit))
}

/** A submodule: the configuration of the repository says where its working tree is. */
async function configNames(repository: Repository): Promise<boolean> {
  const { gitDir, top } = repository
  const args = ['config', '--file', join(gitDir, 'config'), '--get', 'core.worktree']
  const output = await repository.git(args, { codes: [0, 1] })
  if (output.code !== 0) return false
  return (await real(resolve(gitDir, line(output)))) === top
}

const real = (path: string): Promise<string | null> => ignoring(['ENOENT', 'ENOTDIR'], () => realpath(path))

const quoted = (path: string): string => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)
