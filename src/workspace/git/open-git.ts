// Git as the door shows it, on the real git program. Every call opens the repository anew and answers with a value.

import { failureOf } from '../../safety/refused.ts'
import { demandBackReference } from './back-reference.ts'
import { createTag, ensureBranch } from './branch.ts'
import { commitPaths } from './commit.ts'
import { describe } from './describe.ts'
import type { Git, GitAnswer, RolledBack } from './git.ts'
import { commitsBetween, diffstat } from './history.ts'
import { mergeBack } from './merge.ts'
import { InTheWay, removeWorktree } from './removal.ts'
import { Repository, type RepositoryOptions } from './repository.ts'
import { rollback } from './rollback.ts'
import { planRollback } from './rollback-plan.ts'
import { checkOutScratch, removeScratch } from './scratch.ts'
import { openStanding } from './standing.ts'
import { beginTask, landTask } from './task-worktree.ts'
import { addWorktree, listWorktrees } from './worktree.ts'

export function openGit(options: RepositoryOptions): Git {
  const ask = <T>(work: (repository: Repository) => Promise<T>) =>
    answered(async () => await work(await Repository.open(options)))
  /** Whatever writes into the repository asks first whether it is that of this folder. */
  const write = <T>(work: (repository: Repository) => Promise<T>) =>
    ask(async repository => {
      await demandBackReference(repository, options.environment)
      return await work(repository)
    })
  const answered = async <T>(work: () => Promise<T>): Promise<GitAnswer<T>> => {
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      const failure = failureOf('git', error)
      if (failure === null) throw error
      if (!(error instanceof InTheWay)) return { ok: false, failure }
      return { ok: false, failure, list: [...error.files.keys()], files: error.files }
    }
  }
  const standing = openStanding(options)
  return {
    describe: () => ask(describe),
    standing: () => answered(standing),
    mayWrite: () => write(async () => null),
    ensureBranch: request => write(repository => ensureBranch(repository, request)),
    commitPaths: request => write(repository => commitPaths(repository, request)),
    createTag: request => write(repository => createTag(repository, request)),
    addWorktree: request => write(repository => addWorktree(repository, request)),
    listWorktrees: plan => ask(repository => listWorktrees(repository, plan)),
    removeWorktree: request => write(repository => removeWorktree(repository, request)),
    checkOutScratch: request => write(repository => checkOutScratch(repository, request)),
    removeScratch: request => write(repository => removeScratch(repository, request)),
    mergeBack: request => write(repository => mergeBack(repository, request)),
    beginTask: request => write(repository => beginTask(repository, request)),
    landTask: request => write(repository => landTask(repository, request)),
    previewRollback: request => ask(repository => planRollback(repository, request)),
    rollback: async (request): Promise<RolledBack> => {
      const answer = await write(repository => rollback(repository, request))
      return answer.ok ? answer.value : { ok: false, failure: answer.failure, done: [], steps: [] }
    },
    commitsBetween: request => ask(repository => commitsBetween(repository, request)),
    diffstat: request => ask(repository => diffstat(repository, request)),
  }
}
