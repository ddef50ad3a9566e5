// Runs a `git` task on the branches of its plan: a commit, a tag, a merge. The attempt provides access to the repository; nothing here
// pushes, and the user's HEAD, index and files stay as they are.

import type { GitAction } from '../../domain/plan.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { GitDone, GitHand, Runner } from '../runner.ts'

export function gitRunner(): Runner {
  return {
    action: 'git',
    about: {
      does: "commits, tags or merges on the plan's own branch",
      effects: ['idempotent'],
      risks: ['a commit is made; nothing is pushed'],
      dryRun: 'what it would do',
      uses: ['git'],
    },
    needs: ['git'],
    async preview({ action }) {
      return { text: action.type === 'git' ? shownAction(action.git) : '' }
    },
    async attempt({ action }, tools, stop) {
      if (action.type !== 'git') throw new TypeError(`not a git action: ${action.type}`)
      if (stop.aborted) return { type: 'interrupted' }
      if (tools.git === undefined) {
        const hint = 'take the task out of the plan, or open the engine with git'
        return { type: 'failed', failure: failure('logic', 'git is not used here', hint) }
      }
      tools.log('engine', Buffer.from(`git: ${shownAction(action.git)}\n`))
      const done = await carryOut(tools.git, action.git)
      const git = done.operations.length === 0 ? {} : { git: done.operations }
      return done.ok
        ? { type: 'done', outputs: done.outputs, ...git }
        : { type: 'failed', failure: done.failure, ...git }
    },
  }
}

async function carryOut(git: GitHand, action: GitAction): Promise<GitDone> {
  switch (action.do) {
    case 'commit':
      return await git.commit(action)
    case 'tag':
      return await git.tag(action)
    case 'merge':
      return await git.merge(action)
    default:
      return action satisfies never
  }
}

function shownAction(action: GitAction): string {
  switch (action.do) {
    case 'commit': {
      const what = action.paths === undefined ? 'all that the plan wrote' : action.paths.join(', ')
      return `commit ${what} on the branch of the plan: ${action.message.split('\n')[0] ?? ''}`
    }
    case 'tag':
      return `tag the last commit of the plan as ${action.name}`
    case 'merge':
      return `merge the branch of ${action.task} into that of the plan`
    default:
      return action satisfies never
  }
}
