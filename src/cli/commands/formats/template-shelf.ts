// The shelf of templates as the command line sees it: one's own are in `.planfold/templates`, and what is wrong is a complaint.

import { join } from 'node:path'
import type { Diagnostic } from '../../../format/text/diagnostic.ts'
import type { Shelved, ShelvedRead, Template } from '../../../operations/templates.ts'
import { CliError, type Context, EXIT, notFound, usage } from '../../command.ts'
import { locator } from '../../plan-file.ts'

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

export async function readShelved(shelved: Shelved): Promise<Template> {
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

export async function ownFolder(context: Context): Promise<string> {
  const { locate } = await import('../../../compose.ts')
  const { dir } = context.settings
  const { stateDir } = locate({
    cwd: context.cwd,
    environment: context.environment,
    dir,
  })
  return join(stateDir, 'templates')
}
