// Words about a person's edits that a retry would set back, and about files that were set back: the same in every view.

import type { EditedPaths } from '../../domain/event.ts'
import type { Summary } from '../../domain/views/summary.ts'
import { shellWord as quoted } from '../../safety/text/terminal.ts'
import { brief } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'

const PATHS_MAX = 10
const TIMES_MAX = 3

/** Each edited path on a line of its own; the caller makes the text safe for its terminal. */
export function editedLines({ paths, more = 0, unmerged = [] }: EditedPaths): readonly string[] {
  const rest = Math.max(0, paths.length - PATHS_MAX) + more
  return [
    ...paths.slice(0, PATHS_MAX).map(path => `edited: ${path}`),
    ...(rest === 0 ? [] : [`… and ${rest} more`]),
    ...unmerged.slice(0, PATHS_MAX).map(path => `cannot be merged: ${path}; keep it or take it`),
  ]
}

/** What was set back before tasks were tried again, with the command that brings it back. */
export function setBackLines(
  { name, restored = [] }: Pick<Summary, 'name' | 'restored'>,
  paint: Paint,
): readonly string[] {
  const shown = restored.slice(-TIMES_MAX)
  const lines = shown.flatMap(({ task, paths, more }) => {
    const first = paths.slice(0, 3).map(path => brief(path))
    const rest = paths.length - first.length + more
    const all = `${first.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`
    return [
      `  ${paint.yellow('set back')} ${all}: as before ${brief(task)}, which was tried again`,
      `           planfold restore ${quoted(name)} ${paths[0] === undefined ? '' : quoted(paths[0])}`.trimEnd(),
    ]
  })
  const earlier = restored.length - shown.length
  return earlier === 0
    ? lines
    : [...lines, paint.dim(`           … and ${earlier} more times: planfold restore ${quoted(name)}`)]
}
