// How the tasks of a plan file run, and which of them can write outside the workspace.

import type { TaskDefinition } from '../../domain/plan.ts'
import type { Writer } from '../../domain/plan-rules/authors.ts'
import { expandTasks } from '../../domain/plan-rules/expand.ts'
import { plannedRunOf } from '../../domain/policy/run-mode.ts'
import { programBehind } from '../../operations/policy/network-rules.ts'
import type { Context } from '../context.ts'
import type { PlanFile } from '../plan-file.ts'

const NAMED_MAX = 8

/** Another format, and a file that an agent runs, are not the person's word. */
export const writerOfFile = (
  { told }: Pick<PlanFile, 'told'>,
  { environment }: Pick<Context, 'environment'>,
): Writer | undefined => (told.dialect === null && programBehind(environment) === null ? 'person' : undefined)

/** Null when there is none. */
export function asYouLine({ definition }: Pick<PlanFile, 'definition'>, writer: Writer | undefined): string | null {
  const isFree = (task: TaskDefinition): boolean => plannedRunOf(definition, task, writer) === 'as you'
  const names = expandTasks(definition)
    .filter(isFree)
    .map(({ id }) => id)
  if (names.length === 0) return null
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `run with your permissions, not in the sandbox: ${names.slice(0, NAMED_MAX).join(', ')}${more}`
}
