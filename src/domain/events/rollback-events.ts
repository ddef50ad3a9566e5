// The events of checkpoints, the repository, and rollback.

import type { EventOf } from '../event.ts'
import { defined } from '../json.ts'
import { numberOf } from '../phrases.ts'
import { operationFacts } from './event-facts.ts'
import type { RowsOf } from './event-row.ts'
import { names } from './event-words.ts'

export const ROLLBACK_EVENTS: RowsOf<'checkpoint' | 'git' | 'place' | 'fork' | 'rollback'> = {
  'checkpoint.taken': {
    kind: 'checkpoint',
    sentence: ({ name, standing }) =>
      `checkpoint ${name}${standing.lacks === undefined ? '' : ` without files: ${standing.lacks}`}`,
    facts: ({ name, why, standing: { snapshot, files, git } }) =>
      defined({ checkpoint: name, why, snapshot, files, head: git?.head }),
  },
  'git.committed': {
    kind: 'git',
    sentence: ({ task, failure }) =>
      failure === undefined ? `${task} committed` : `${task} could not be committed: ${failure.message}`,
    facts: ({ operations, failure }) =>
      defined({ operations: operations.map(operationFacts), failure: failure?.message }),
    failure: ({ failure }) => failure?.message ?? null,
    setback: true,
    operations: ({ operations }) => operations,
  },
  'place.made': {
    kind: 'git',
    sentence: () => 'worktree created',
    facts: ({ operations }) => ({ operations: operations.map(operationFacts) }),
    operations: ({ operations }) => operations,
  },
  'fork.adopted': {
    kind: 'rollback',
    sentence: ({ name, folder, why }) =>
      `adopted into ${name}; its folder was ${folder}${why === undefined ? '' : `: ${why}`}`,
    facts: ({ into, version, folder, why }) => defined({ into, version: version ?? undefined, folder, why }),
  },
  'rollback.started': {
    kind: 'rollback',
    sentence: startedLine,
    facts: ({ kind, to, checkpoint, resets, adopts }) =>
      defined({ kind, to, checkpoint, tasks: resets.length, fork: adopts?.fork }),
    rows: () => 'plan',
  },
  'rollback.finished': {
    kind: 'rollback',
    sentence: ({ adopted, paths, left = [], kept = [] }) =>
      [
        `${adopted === undefined ? 'rollback finished' : `adopted the work of ${adopted}`}: ${numberOf(paths, 'path')} changed`,
        ...leftWords(left),
        ...kept.map(({ path, sha256 }) => `the edited version of ${path} is backed up as ${sha256}`),
      ].join('; '),
    facts: outcomeFacts,
    rows: () => 'all',
    operations: ({ git }) => git ?? [],
  },
  'rollback.stopped': {
    kind: 'rollback',
    sentence: ({ failure }) => `rollback stopped: ${failure.message}`,
    facts: event => defined({ ...outcomeFacts(event), failure: event.failure.message, conflicts: event.conflicts }),
    failure: ({ failure }) => failure.message,
    setback: true,
    notice: () => 'waiting',
    operations: ({ git }) => git ?? [],
  },
}

function startedLine(event: EventOf<'rollback.started'>): string {
  const { kind, tasks, paths, checkpoint, undoes } = event
  const to = checkpoint ?? `entry ${event.to}`
  if (kind === 'adopt') return `adopting the work of ${event.adopts?.name ?? 'a fork'}`
  if (event.because === 'failure') return 'rolling back all files to before the first task, because the plan failed'
  if (kind === 'rollback' && tasks !== undefined) return `reverting what ${names(tasks)} wrote`
  if (kind === 'rollback' && paths !== undefined) return `reverting ${names(paths)} to ${to}`
  if (undoes !== undefined) return `undoing the adoption of ${undoes}`
  return kind === 'undo' ? 'undoing the last rollback' : `rolling back to ${to}`
}

function outcomeFacts({
  changes,
  paths,
  saved,
  left,
  kept,
  git,
}: Omit<EventOf<'rollback.finished' | 'rollback.stopped'>, 'type'>) {
  const operations = git?.map(operationFacts)
  return defined({ changes, paths, saved, left: left?.length, kept: kept?.length, operations })
}

const LEFT_MAX = 5

function leftWords(left: NonNullable<EventOf<'rollback.finished'>['left']>): readonly string[] {
  const shown = left.slice(0, LEFT_MAX).map(({ path, reason }) => `${path} not changed: ${reason}`)
  return left.length > LEFT_MAX ? [...shown, `${left.length - LEFT_MAX} more not changed`] : shown
}
