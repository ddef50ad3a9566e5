// All errors of a plan before it runs. Every face uses this, so that `validate`, `run`, a dry run, the service, an import and a revision
// refuse the same plans with the same words: those that `analyze` reports as errors.

import { gitOf } from '../domain/actions/git-action.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { allTasks } from '../domain/state/task-index.ts'
import type { DefinitionFault } from '../format/plan/parse.ts'
import type { Git } from '../workspace/git/git.ts'
import { errorsOf } from './analyze-plan.ts'

/** Each with its task, so that a document can show the place. */
export function checkPlan(definition: PlanDefinition): readonly DefinitionFault[] {
  return errorsOf(definition).map(({ severity: _, ...fault }) => fault)
}

// Checks what a plan says about its repository before it is created: does the start commit exist, and may commits be written? So a misspelt
// name is reported at its place in the file, and not by the first failing commit.

type Asked = Pick<Git, 'diffstat' | 'mayWrite'>

export const usesGit = (definition: PlanDefinition): boolean =>
  definition.git !== undefined || allTasks(definition).some(({ action }) => gitOf(action) !== null)

export async function gitFaults(git: Asked, definition: PlanDefinition): Promise<readonly DefinitionFault[]> {
  if (!usesGit(definition)) return []
  const faults = [await baseFault(git, definition), await writeFault(git, definition)]
  return faults.filter(fault => fault !== null)
}

async function baseFault(git: Asked, { git: use }: PlanDefinition): Promise<DefinitionFault | null> {
  if (use?.base === undefined) return null
  const found = await git.diffstat({ from: use.base, to: use.base })
  if (found.ok) return null
  const { message, hint } = found.failure
  const text = `the plan cannot begin at '${use.base}': ${message}`
  return { message: text, key: 'git', at: ['base'], hint }
}

/** A `.git` file that git does not confirm. A missing repository or git is reported where it is needed. */
async function writeFault(git: Asked, definition: PlanDefinition): Promise<DefinitionFault | null> {
  const may = await git.mayWrite()
  if (may.ok || may.failure.class !== 'policy') return null
  const { message, hint } = may.failure
  const task =
    definition.git === undefined ? allTasks(definition).find(({ action }) => gitOf(action) !== null) : undefined
  return {
    message: `the plan could commit nothing: ${message}`,
    key: 'git',
    task: task?.id,
    hint,
  }
}
