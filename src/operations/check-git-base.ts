// Is there the commit that a plan says its branch begins at? Asked of the repository before the plan is made, so that a misspelt name
// is told at its place in the file and leaves nothing behind.

import type { PlanDefinition } from '../domain/plan.ts'
import type { DefinitionFault } from '../format/parse.ts'
import type { Git } from '../workspace/git/git.ts'

export async function gitBaseFault(
  git: Pick<Git, 'diffstat'>,
  { git: use }: Pick<PlanDefinition, 'git'>,
): Promise<DefinitionFault | null> {
  if (use?.base === undefined) return null
  const found = await git.diffstat({ from: use.base, to: use.base })
  if (found.ok) return null
  const { message, hint } = found.failure
  const said = `the plan cannot begin at '${use.base}': ${message}`
  return { message: said, key: 'git', at: ['base'], ...(hint === undefined ? {} : { hint }) }
}
