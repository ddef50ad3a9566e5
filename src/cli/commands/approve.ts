// `planfold approve PLAN TASK`: yes to what a task asks. To a gate: go on; to criteria: they hold; to a task whose outcome
// nobody knows: it happened. With --edit: yes to the plan as it is written there, which becomes its next revision.

import type { Context } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { answerGate, type GateOptions } from '../gate-answer.ts'

export interface ApproveOptions extends GateOptions {
  /** The whole document, as it is approved. */
  readonly edit?: string
}

export async function approve(
  context: Context,
  first: string,
  second: string | undefined,
  options: ApproveOptions,
): Promise<number> {
  return await answerGate(context, first, second, options, async (waiting, { engine }, { plan }) => {
    const verdict = waiting?.asks.type === 'unknown-outcome' ? 'done' : 'approved'
    if (options.edit === undefined) return { verdict }
    const current = await engine.ask({ type: 'definition', plan })
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    const { readRevision } = await import('./revise-text.ts')
    const { definition, source } = await readRevision(context, options.edit, current.definition, 'replace')
    if (definition.name !== current.definition.name)
      throw new Complaint(
        EXIT.refused,
        'invalid',
        `${options.edit} is the plan '${definition.name}', not '${current.definition.name}'`,
        'print the plan with `planfold export`, change it, and hand that over',
      )
    return { verdict, edits: { definition, source } }
  })
}
