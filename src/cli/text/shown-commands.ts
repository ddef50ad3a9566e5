// The commands of a plan that others wrote, as a person reads them before they agree.

import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { NOTIFY, POLICY } from '../../domain/plan-rules/authors.ts'
import { DONE_TASK } from '../../domain/plan-rules/graph-rules.ts'
import { commandsOf } from '../../domain/policy/policy-in-state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { spelled } from '../../domain/views/pages/foreign-text.ts'
import { printYaml } from '../../format/plan/print.ts'

const LINE_MAX = 500
const LINES_MAX = 200

/** What others wrote and would run, as it is written, and what of it is shown whole; the rest stays in the sandbox. */
export function shownCommands(
  definition: PlanDefinition,
  of: (name: TaskName) => boolean = () => true,
): { readonly lines: readonly string[]; readonly tasks: readonly TaskName[] } {
  const lines: string[] = []
  const shown: TaskName[] = []
  const show = (name: TaskName, part: Partial<PlanDefinition>): void => {
    const [, , ...text] = spelled(printYaml({ name: definition.name, tasks: [], ...part }).trimEnd()).split('\n')
    const said = text.filter(line => line !== '' && line !== 'tasks: []' && line !== 'tasks:')
    const whole = said.map(line => line.length).reduce((sum, length) => sum + length, 0)
    const printed = said.slice(0, Math.max(0, LINES_MAX - lines.length)).map(line => line.slice(0, LINE_MAX))
    const cut = whole - printed.reduce((sum, line) => sum + line.length, 0)
    lines.push(...printed)
    if (cut > 0 || printed.length < said.length)
      lines.push(`${name}: ${cut} of ${whole} characters are not shown; it runs in the sandbox`)
    else shown.push(name)
  }
  const runs = (task: TaskDefinition): boolean =>
    allTasks({ ...definition, done: [], tasks: [{ ...task, needs: [] }] }).some(
      one => one.action.type === 'agent' || commandsOf(one).length > 0 || one.preconditions !== undefined,
    )
  for (const task of definition.tasks.filter(({ id }) => of(id))) {
    if (runs(task)) show(task.id, { tasks: [task] })
    else shown.push(task.id)
  }
  const { done, notify, policy } = definition
  for (const [name, part] of [
    [DONE_TASK, { done }],
    [NOTIFY, { notify }],
    [POLICY, { policy }],
  ] as const)
    if (of(name)) show(name, part)
  return { lines, tasks: shown }
}
