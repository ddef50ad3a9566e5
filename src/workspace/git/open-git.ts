// Git as the door shows it, on the real git program. Every call opens the repository anew and answers with a value.

import { failureOf } from '../../safety/refused.ts'
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
  const answered = async <T>(work: () => Promise<T>): Promise<GitAnswer<T>> => {
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      const failure = failureOf('git', error)
      if (failure === null) throw error
      return error instanceof InTheWay ? { ok: false, failure, list: error.list } : { ok: false, failure }
    }
  }
  const standing = openStanding(options)
  return {
    describe: () => ask(describe),
    standing: () => answered(standing),
    ensureBranch: request => ask(repository => ensureBranch(repository, request)),
    commitPaths: request => ask(repository => commitPaths(repository, request)),
    createTag: request => ask(repository => createTag(repository, request)),
    addWorktree: request => ask(repository => addWorktree(repository, request)),
    listWorktrees: plan => ask(repository => listWorktrees(repository, plan)),
    removeWorktree: request => ask(repository => removeWorktree(repository, request)),
    checkOutScratch: request => ask(repository => checkOutScratch(repository, request)),
    removeScratch: request => ask(repository => removeScratch(repository, request)),
    mergeBack: request => ask(repository => mergeBack(repository, request)),
    beginTask: request => ask(repository => beginTask(repository, request)),
    landTask: request => ask(repository => landTask(repository, request)),
    previewRollback: request => ask(repository => planRollback(repository, request)),
    rollback: async (request): Promise<RolledBack> => {
      const answer = await ask(repository => rollback(repository, request))
      return answer.ok ? answer.value : { ok: false, failure: answer.failure, done: [], steps: [] }
    },
    commitsBetween: request => ask(repository => commitsBetween(repository, request)),
    diffstat: request => ask(repository => diffstat(repository, request)),
  }
}
