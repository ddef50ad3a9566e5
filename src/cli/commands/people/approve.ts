// The commands that agree to a request or a proposal, and that turn one down: approve and reject.

import { CliError, type Context, EXIT } from '../../command.ts'
import { answerGate, type GateOptions } from '../../order.ts'
import { decideProposal } from '../revisions/proposals.ts'

// `planfold approve PLAN TASK`: a gate opens; checks in plain text have passed; a task whose outcome is unknown has succeeded.
// With --edit the plan in that file is approved and becomes the next revision.

export interface ApproveOptions extends GateOptions {
  readonly edit?: string
}

export async function approve(
  context: Context,
  first: string,
  second: string | undefined,
  options: ApproveOptions,
): Promise<number> {
  const accepted = options.edit === undefined ? await decideProposal(context, first, second, 'accepted', options) : null
  if (accepted !== null) return accepted
  return await answerGate(context, first, second, options, async ({ engine }, { plan }) => {
    const verdict = 'approved' as const
    if (options.edit === undefined) return { verdict }
    const current = await engine.ask({ type: 'definition', plan })
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    const { readRevisionFile } = await import('../revisions/revise.ts')
    const { definition, source } = await readRevisionFile(context, options.edit, current.definition, 'replace')
    if (definition.name !== current.definition.name)
      throw new CliError(
        EXIT.refused,
        'invalid',
        `${options.edit} is the plan '${definition.name}', not '${current.definition.name}'`,
        'print the plan with `planfold export`, change it, and give that file',
      )
    return { verdict, edits: { definition, source } }
  })
}

export async function reject(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions,
): Promise<number> {
  const declined = await decideProposal(context, first, second, 'declined', options)
  if (declined !== null) return declined
  return await answerGate(context, first, second, options, () => ({ verdict: 'rejected' }))
}
