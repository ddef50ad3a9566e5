// A checkpoint in words: why it is there, what stands in it, and what does not. Names come from plans and files of others, so
// whoever prints these lines escapes them.

import { numberOf } from '../domain/number-of.ts'
import type { Checkpoint, Standing } from '../domain/views/checkpoints.ts'

export function whyWords({ why, task }: Pick<Checkpoint, 'why' | 'task'>): string {
  switch (why) {
    case 'after':
      return `after ${task ?? 'a task'}`
    case 'asked':
      return 'by hand'
    case 'task':
      return `by the task ${task ?? ''}`.trimEnd()
    case 'every':
      return `before ${task ?? 'a task'}, by policy`
    case 'risky':
      return `before ${task ?? 'a task'}, which is risky`
    case 'ended':
      return 'when the fork ended'
    default:
      return why satisfies never
  }
}

/** Field and text, for all that is known of the world there. */
export function standingWords(standing: Standing): readonly (readonly [string, string])[] {
  const { snapshot, files, left = 0, lacks, git, about } = standing
  const lines: (readonly [string, string])[] = []
  if (snapshot !== undefined)
    lines.push(['files', `${files === undefined ? 'all' : numberOf(files, 'file')} stored, snapshot ${snapshot}`])
  if (lacks !== undefined) lines.push(['not there', `files are not stored: ${lacks}`])
  if (left > 0)
    lines.push(['not there', `${numberOf(left, 'path')} could not be looked into, so nobody can set them back`])
  if (git !== undefined) {
    const on = git.branch === null ? 'detached' : git.branch
    lines.push([
      'git',
      `${on}${git.head === null ? ', which has no commits yet' : ` at ${git.head.slice(0, 12)}`}, ${numberOf(git.dirty, 'path')} not committed`,
    ])
    if (git.index === null) lines.push(['git', 'the index held conflicts'])
  }
  if (about !== undefined) lines.push(['made by', about])
  return lines
}

/** In a few words, for a row of a table. */
export function standingShort({ snapshot, files, left = 0, lacks, git }: Standing): string {
  return [
    snapshot === undefined ? '' : files === undefined ? 'all files' : numberOf(files, 'file'),
    git === undefined
      ? ''
      : git.head === null
        ? 'no commits yet'
        : `${git.branch ?? 'detached'}@${git.head.slice(0, 7)}`,
    left > 0 ? `${left} not captured` : '',
    lacks === undefined ? '' : `no files: ${lacks}`,
  ]
    .filter(text => text !== '')
    .join(', ')
}
