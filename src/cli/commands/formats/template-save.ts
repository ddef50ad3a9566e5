// `planfold template save PLAN --name NAME`: a plan that did its work, kept for the next time.

import { dirname } from 'node:path'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { isFile, readPlanFile } from '../../plan-file.ts'
import { halves } from './template-new.ts'
import { keepTemplate, ownFolder } from './template-shelf.ts'

export interface SaveOptions {
  readonly name?: string
  readonly parameter?: readonly string[]
  readonly replace?: boolean
}

export async function templateSave(context: Context, word: string, options: SaveOptions): Promise<number> {
  const { name } = options
  if (name === undefined) throw usage('the template has no name yet', 'say it with --name NAME')
  const parameters = (options.parameter ?? []).map(each => halves(each, '--parameter'))
  const { definition, remarks } = await definitionOf(context, word)
  const { saveTemplate } = await import('../../../format/templates/save.ts')
  const saved = saveTemplate(definition, name, parameters)
  if (!saved.ok) throw usage(saved.message, saved.hint)
  const folder = await ownFolder(context)
  const path = await withState(context, { create: true, dir: dirname(folder) }, () =>
    keepTemplate(folder, name, saved.text, { replace: options.replace === true }),
  )
  const notes = [...remarks, ...saved.notes]
  for (const note of notes) printNote(context, `note: ${note}`)
  answer(
    context,
    { name, path, parameters: parameters.map(([each]) => each), notes },
    () => `saved as the template '${name}'; use it with: planfold template new ${name}`,
  )
  return EXIT.done
}

async function definitionOf(
  context: Context,
  word: string,
): Promise<{ readonly definition: PlanDefinition; readonly remarks: readonly string[] }> {
  if (await isFile(context, word)) {
    const { definition } = await readPlanFile(context, word)
    return { definition, remarks: ['this plan was saved from a file; nobody knows whether it works'] }
  }
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const [current, summary] = [
      await engine.ask({ type: 'definition', plan }),
      await engine.ask({ type: 'summary', plan }),
    ]
    if (current === null || summary === null) throw new Error(`the plan ${plan} has gone`)
    const remarks = summary.status === 'completed' ? [] : [`the plan '${name}' is ${summary.status}, not completed`]
    return { definition: current.definition, remarks }
  })
}
