// Faults in a model's draft, as sentences to send back. Only the rules specific to fresh drafts; the general rules for plans are
// checked elsewhere.

import { isTaskName } from '../../../domain/id.ts'
import { FRAME_NAMES } from '../draft/plan-frame.ts'
import type { Check, Draft, DraftTask, Intake } from './answer-schemas.ts'
import { commandFault, type Ground, writesIn } from './irreversible.ts'
import { researched, TASKS_MAX } from './planning-words.ts'

/** These change files and must name them. */
export const CHANGING: ReadonlySet<DraftTask['kind']> = new Set(['implement', 'test', 'document'])
const OUTPUT = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

const DRAFT_MAX = 200_000

export function draftFaults(draft: Draft, intake: Intake, ground: Ground): readonly string[] {
  const { tasks, done } = draft
  if (tasks.length === 0) return ['there are no tasks']
  if (tasks.length > TASKS_MAX) return [`${tasks.length} tasks are too many; at most ${TASKS_MAX}`]
  if (JSON.stringify(draft).length > DRAFT_MAX) return [`the draft is longer than ${DRAFT_MAX} characters`]
  const faults: string[] = []
  const names = new Set<string>()
  for (const task of tasks) {
    if (names.has(task.id)) faults.push(`two tasks have the id '${task.id}'`)
    names.add(task.id)
    faults.push(...taskFaults(task, ground))
  }
  for (const { id, needs = [] } of tasks)
    for (const need of needs) if (!names.has(need)) faults.push(`'${id}' needs '${need}', which is not a task`)
  for (const check of done) faults.push(...checkFaults('done', check, ground))
  if (done.length === 0) faults.push('`done` is empty: say how one sees that the plan is done')
  if (researched(intake).length > 0 && !tasks.some(({ kind }) => kind === 'research'))
    faults.push('no task of the kind research finds out what is not known')
  return faults
}

function* taskFaults(task: DraftTask, ground: Ground): Iterable<string> {
  const { id, kind, how, command = [], write = [], accept = [], reports = [], undo } = task
  if (!isTaskName(id) || id.includes('/')) yield `'${id.slice(0, 80)}' cannot be the id of a task`
  if (ground.kept?.has(id) === true) yield `'${id}' is a task that stays as it is: give the new one another id`
  if (FRAME_NAMES.includes(id)) yield `'${id}' is put in by Planfold: leave such a task out, or give it another id`
  if (how === 'command' && command.length === 0) yield `'${id}' has no command`
  if (how === 'work' && (task.instruction ?? '').trim() === '') yield `'${id}' has no instruction`
  if (how === 'work' && CHANGING.has(kind) && write.length === 0)
    yield `'${id}' does not say in \`write\` which files it may write`
  if (how === 'work' && accept.length === 0) yield `'${id}' does not say in \`accept\` how one sees that it is done`
  for (const name of reports)
    if (!OUTPUT.test(name)) yield `'${id}': '${name.slice(0, 80)}' cannot be the name of a report`
  for (const check of accept) yield* checkFaults(id, check, ground)
  if (undo !== undefined) yield* commandFaults(`${id}, undo`, undo, ground)
}

/** Checks run without approval, so they may only read. */
function* checkFaults(where: string, check: Check, ground: Ground): Iterable<string> {
  const { command = [] } = check
  yield* commandFaults(where, check, ground)
  if (writesIn({ argv: command }))
    yield `${where}: '${command.join(' ').slice(0, 100)}' writes, and a check only looks; let a task write, and check the result`
}

function* commandFaults(where: string, { text, command = [] }: Check, ground: Ground): Iterable<string> {
  if (text.trim() === '') yield `${where}: a check has no text`
  if (command.length === 0) return
  const fault = commandFault({ argv: command }, ground)
  if (fault !== null)
    yield `${where}: '${command.join(' ').slice(0, 100)}' ${fault}; use a command of the repository that only looks, or no command`
}

/** Programs the draft starts that are not installed. */
export async function missingPrograms(
  draft: Draft,
  findProgram: (name: string) => Promise<string | null>,
): Promise<readonly string[]> {
  const used = new Map<string, string>()
  const note = (where: string, command: readonly string[] | undefined) => {
    const [program] = command ?? []
    if (program !== undefined && !program.includes('/') && !used.has(program)) used.set(program, where)
  }
  for (const { id, how, command, accept = [], undo } of draft.tasks) {
    if (how === 'command') note(id, command)
    for (const check of accept) note(id, check.command)
    note(id, undo?.command)
  }
  for (const check of draft.done) note('done', check.command)
  const missing: string[] = []
  for (const [program, where] of used)
    if ((await findProgram(program)) === null) missing.push(`${where}: the program '${program}' is not installed`)
  return missing
}
