// How the tasks of a plan file run, and which of them can write outside the workspace.

import type { TaskName } from '../../domain/id.ts'
import type { RunMode, Writer } from '../../domain/plan.ts'
import { programBehind } from '../../safety/environment.ts'
import type { Context } from '../context.ts'
import type { PlanFile } from '../plan-file.ts'

const NAMED_MAX = 8

/** Only a plan file in our format, run by a person, counts as written by that person. */
export const writerOfFile = (
  { told }: Pick<PlanFile, 'told'>,
  { environment }: Pick<Context, 'environment'>,
): Writer | undefined => (told.dialect === null && programBehind(environment) === null ? 'person' : undefined)

export function asYouLine(tasks: readonly { readonly name: TaskName; readonly runs: RunMode | null }[]): string | null {
  const names = tasks.filter(({ runs }) => runs === 'as you').map(({ name }) => name)
  if (names.length === 0) return null
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `run with your permissions, not in the sandbox: ${names.slice(0, NAMED_MAX).join(', ')}${more}`
}

/** Null if the sandbox works, or no task would run in it. */
export async function noSandboxLine(
  tasks: readonly { readonly runs: RunMode | null }[],
  check: () => Promise<{ readonly ok: boolean }>,
): Promise<string | null> {
  if (!tasks.some(({ runs }) => runs === 'held') || (await check()).ok) return null
  return 'no sandbox here: your own tasks that would be held run with your permissions; those of others do not run'
}
