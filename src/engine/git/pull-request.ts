// The text of a pull request for a plan, from its journal and the diff of its branch. Reads only; nothing is pushed.

import type { PlanState } from '../../domain/state/state.ts'
import { judgedVerdicts } from '../../domain/views/contract.ts'
import { operationsOf } from '../../domain/views/git-operations.ts'
import { summary } from '../../domain/views/summary.ts'
import type { Entry } from '../../stores/store.ts'
import { type PrFacts, prText } from '../../workspace/git/git.ts'
import type { PullRequest } from '../queries.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { demandGit, guarded, taken } from './task-commits.ts'

export async function pullRequest(rooms: Rooms, state: PlanState): Promise<PullRequest> {
  const { id, definition, goal } = state
  const { status } = summary(state)
  const tasks = state.order.map(task => {
    const { id: name, title } = task.definition
    const criteria = judgedVerdicts(task)
    return {
      name,
      status: task.status,
      title,
      criteria,
    }
  })
  const entries = await entriesAfter(rooms.store, id, 0)
  const branch = `plan/${definition.name}`
  const from = madeAt(entries, `refs/heads/${branch}`)
  const seen = from === null ? null : await difference(rooms, from, `refs/heads/${branch}`)
  const { commits, files } = seen?.ok === true ? seen.value : NOTHING
  const goalText = goal ?? definition.goal
  const { title } = definition
  const facts: PrFacts = {
    plan: {
      name: definition.name,
      status,
      title,
      ...(typeof goalText === 'string' ? { goal: goalText } : {}),
    },
    tasks,
    decisions: decisionsOf(entries),
    commits,
    files,
  }
  const lacks = seen === null ? NO_BRANCH : seen.ok ? null : seen.failure.message
  return { ...prText(facts), branch: from === null ? null : branch, from, commits, files, lacks }
}

const NOTHING = { commits: [], files: [] }
const NO_BRANCH = 'the plan has made no branch; with `git: {commits: task}` it commits what its tasks write'

async function difference(rooms: Rooms, from: string, to: string) {
  return await guarded(rooms, async () => {
    const git = demandGit(rooms)
    const commits = taken(await git.commitsBetween({ good: from, bad: to }))
    return { commits, files: taken(await git.diffstat({ from, to })) }
  })
}

function madeAt(entries: readonly Entry[], ref: string): string | null {
  let found: string | null = null
  for (const { events } of entries) {
    for (const event of events) {
      for (const each of operationsOf(event)) {
        if (!('before' in each) || each.ref !== ref) continue
        if (each.after === null) found = null
        else if (each.before === null) found ??= each.after
      }
    }
  }
  return found
}

function decisionsOf(entries: readonly Entry[]): PrFacts['decisions'] {
  return entries.flatMap(({ actor, events }) =>
    events.flatMap(event =>
      event.type === 'gate.decided'
        ? [{ task: event.task, verdict: event.verdict, by: actor, rationale: event.rationale }]
        : [],
    ),
  )
}
