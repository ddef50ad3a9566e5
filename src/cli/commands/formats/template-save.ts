// `planfold template save PLAN --name NAME`: a plan that did its work, kept for the next time.

import { dirname } from 'node:path'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { answer, CliError, type Context, EXIT, printNote, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { isFile, readPlanFile } from '../../plan-file.ts'
import { hintText } from '../../text/hint-text.ts'
import { halves } from './template-new.ts'
import { ownFolder } from './template-shelf.ts'

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
  const { keepTemplate, printAsTemplate } = await import('../../../operations/templates.ts')
  const printed = printAsTemplate(definition, { name, parameters })
  if (printed.status === 'too-large') throw new Error('bug: a template has no limit here')
  if (printed.status === 'unfit') throw usage(printed.message, printed.hint)
  const { template } = printed
  const folder = await ownFolder(context)
  const { replace } = options
  const kept = await withState(context, { create: true, dir: dirname(folder) }, () =>
    keepTemplate(folder, template, { replace }),
  )
  if (kept.status === 'taken')
    throw new CliError(EXIT.refused, 'exists', kept.message, `${hintText(kept.hint)}, or say --replace`)
  const { path } = kept
  const notes = [...remarks, ...template.notes]
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
    const { planToSave } = await import('../../../operations/templates.ts')
    const found = await planToSave(engine, plan)
    if (found === null) throw new Error(`the plan ${plan} has gone`)
    const { definition, status } = found
    return { definition, remarks: status === 'completed' ? [] : [`the plan '${name}' is ${status}, not completed`] }
  })
}
