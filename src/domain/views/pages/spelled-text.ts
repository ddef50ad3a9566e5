// Text that others wrote and that will run: long runs of blanks, which push what follows out of sight, are replaced by their count.
// Characters that cannot be seen are written out by each face (safety/text/terminal.ts, web/data/shown.ts).

import type { TaskDefinition } from '../../plan.ts'
import { criterionText } from '../../plan-rules/criterion-text.ts'
import { commandsOf } from '../../policy/policy-in-state.ts'

const SPACES_MAX = 40
const BLANK_LINES_MAX = 4

const SPACES = new RegExp(`[^\\S\\n]{${SPACES_MAX},}`, 'gu')
const BLANK_LINES = new RegExp(`\\n(?:[^\\S\\n]*\\n){${BLANK_LINES_MAX + 1},}`, 'gu')

export const spelled = (text: string): string =>
  text
    .replace(BLANK_LINES, run => `\n⟨${run.split('\n').length - 2} blank lines⟩\n`)
    .replace(SPACES, run => ` ⟨${run.length} spaces⟩ `)

/** Every command of these tasks, also those that judge or undo them, each with the name of its task. */
export const commandLines = (tasks: readonly TaskDefinition[]): readonly string[] =>
  tasks.flatMap(task =>
    commandsOf(task).map(command => `${task.id}: ${spelled(criterionText({ type: 'check', command }))}`),
  )
