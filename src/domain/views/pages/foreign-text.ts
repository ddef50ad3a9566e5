// Foreign text that will run: long runs of blanks, which could push the rest out of view, are replaced by their count. Each face escapes
// invisible characters (safety/text/terminal.ts, web/data/shown.ts).

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

/** All commands of these tasks, including checks and compensations, with the task's name. */
export const commandLines = (tasks: readonly TaskDefinition[]): readonly string[] =>
  tasks.flatMap(task =>
    commandsOf(task).map(command => `${task.id}: ${spelled(criterionText({ type: 'check', command }))}`),
  )
