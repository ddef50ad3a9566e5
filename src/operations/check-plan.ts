// Everything that cannot work in a plan, told before anything runs. Every face asks here, so that `validate`, `run`, a dry run, the
// service, an import and a revision all refuse the same plans with the same words: those that `analyze` reports as errors.

import { gitOf } from '../domain/actions/git-action.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { allTasks } from '../domain/state/task-index.ts'
import type { DefinitionFault } from '../format/plan/parse.ts'
import type { Git } from '../workspace/git/git.ts'
import { errorsOf } from './analyze-plan.ts'

/** The errors of the analysis, each with its task, so that a document can show where it was written. */
export function checkPlan(definition: PlanDefinition): readonly DefinitionFault[] {
  return errorsOf(definition).map(({ severity: _, ...fault }) => fault)
}

// What a plan says about the repository around it, asked of that repository before the plan is made: is the commit there that its
// branch begins at, and may its commits be written? So a misspelt name is told at its place in the file, and nobody finds out at the
// end that nothing was committed.

type Asked = Pick<Git, 'diffstat' | 'mayWrite'>

/** Nothing is asked of the repository for a plan that does not use it. */
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
  const said = `the plan cannot begin at '${use.base}': ${message}`
  return { message: said, key: 'git', at: ['base'], hint }
}

/** A `.git` file that nothing confirms. That there is no repository, or no git, is told by whoever needs it. */
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
