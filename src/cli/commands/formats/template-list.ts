// `planfold template list`: the stock templates and one's own.

import { dirname, join } from 'node:path'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Diagnostic } from '../../../format/text/diagnostic.ts'
import { describeType, type Shelved, type ShelvedRead, type Template } from '../../../operations/templates.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, notFound, printNote, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { isFile, locator, readPlanFile } from '../../plan-file.ts'
import { table } from '../../terminal/table.ts'
import { hintText } from '../../text/hint-text.ts'
import { exampleCommand, halves } from './template-new.ts'

export interface ShowOptions {
  readonly parameters?: boolean
}

export async function templateShow(context: Context, name: string, options: ShowOptions): Promise<number> {
  const { shelved, template } = await findTemplate(context, name)
  const { title, about, version, parameters, hash, text } = template
  const example = exampleCommand(name, parameters)
  const { origin, hides, path } = shelved
  const data = { name, title, about, version, hash, origin, hides, path, parameters, example }
  answer(context, options.parameters === true ? data : { ...data, text }, () => {
    const { paint, terminal } = context
    const rows = parameters.map(parameter => [
      parameter.name,
      describeType(parameter),
      parameter.required
        ? { text: 'required', tint: paint.yellow }
        : parameter.default === null
          ? '-'
          : JSON.stringify(parameter.default),
      parameter.about,
    ])
    const head = [
      `${paint.bold(name)}${title === null ? '' : `: ${escapeForTerminal(title)}`}`,
      ...(about === null ? [] : [escapeForTerminal(about.trim())]),
      ...(hides ? [paint.yellow('your own; used instead of the built-in template of this name')] : []),
      '',
      ...(rows.length === 0
        ? ['It has no parameters.']
        : table(paint, ['parameter', 'type', 'default', 'about'], rows, terminal?.columns() ?? null)),
      '',
      escapeForTerminal(example),
    ]
    return options.parameters === true ? head : [...head, '', escapeForTerminal(text.trimEnd(), { keepLines: true })]
  })
  return EXIT.done
}

export async function templateList(context: Context): Promise<number> {
  const items = await Promise.all((await shelf(context)).map(described))
  answer(context, { items }, () => {
    const { paint, terminal } = context
    const rows = items.map(item => [
      item.name,
      item.hides
        ? { text: 'own, replaces the built-in one', tint: paint.yellow }
        : item.origin === 'stock'
          ? 'built-in'
          : item.origin,
      item.fault !== null
        ? { text: `cannot be used: ${item.fault}`, tint: paint.red }
        : (item.title ?? item.about ?? '').split('\n')[0]!,
    ])
    return [
      ...table(paint, ['template', 'from', 'what it is for'], rows, terminal?.columns() ?? null),
      '',
      paint.dim(`${escapeForTerminal('planfold template show NAME')} shows its parameters`),
    ]
  })
  return EXIT.done
}

/** A template that cannot be read is listed too, with what is wrong. */
async function described(shelved: Shelved) {
  const { name, origin, hides, path } = shelved
  const about = { name, origin, hides, path }
  try {
    const { title, about: text, version, parameters, hash } = await readShelved(shelved)
    return { ...about, title, about: text, version, parameters: parameters.map(one => one.name), hash, fault: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { ...about, title: null, about: null, version: null, parameters: [], hash: null, fault: error.message }
  }
}

// `planfold template save PLAN --name NAME`: a plan that did its work, kept for the next time.

interface SaveOptions {
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

// The shelf of templates as the command line sees it: one's own are in `.planfold/templates`, and what is wrong is a complaint.

export type { Shelved } from '../../../operations/templates.ts'

export async function shelf(context: Context): Promise<readonly Shelved[]> {
  const { shelfWith } = await import('../../../operations/templates.ts')
  return await shelfWith(await ownFolder(context))
}

export async function findTemplate(
  context: Context,
  name: string,
): Promise<{ readonly shelved: Shelved; readonly template: Template }> {
  const { findTemplate: find } = await import('../../../operations/templates.ts')
  const found = await find(await ownFolder(context), name)
  if (found.status === 'found') return found
  if (found.status === 'unusable') throw unusable(found.shelved, found.why)
  const hint = found.near === null ? '`planfold template list` shows all' : `did you mean '${found.near}'?`
  throw notFound(`there is no template '${name}'`, hint)
}

async function readShelved(shelved: Shelved): Promise<Template> {
  const { readTemplateFile } = await import('../../../operations/templates.ts')
  const read = await readTemplateFile(shelved)
  if (read.ok) return read.template
  throw unusable(shelved, read)
}

const unusable = (
  { path }: Shelved,
  { text, diagnostics, message, hint }: Extract<ShelvedRead, { readonly ok: false }>,
): CliError => (text === '' ? usage(message, hint) : faulty(path, text, diagnostics))

export function faulty(path: string, text: string, diagnostics: readonly Diagnostic[]): CliError {
  const placed = diagnostics.map(locator(text, line => ({ file: path, line })))
  const [first] = placed
  const message =
    first === undefined ? `${path} is not a template` : `${path}:${first.line}:${first.column}: ${first.message}`
  return new CliError(EXIT.usage, 'invalid-template', message, first?.hint, placed)
}

async function ownFolder(context: Context): Promise<string> {
  const { locate } = await import('../../../compose.ts')
  const { dir } = context.settings
  const { stateDir } = locate({
    cwd: context.cwd,
    environment: context.environment,
    dir,
  })
  return join(stateDir, 'templates')
}
