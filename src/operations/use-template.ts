// Templates on the shelf: found by name, and made into plans that are checked as every plan is. The folder is where one's own are kept.

import type { JsonObject } from '../domain/json.ts'
import { suggest } from '../domain/phrases.ts'
import type { Template } from '../format/templates/document.ts'
import { type Instantiated, instantiate } from '../format/templates/instantiate.ts'
import { readTemplateFile, type Shelved, type ShelvedRead, shelfWith } from '../format/templates/shelf.ts'
import { checkPlan } from './check-plan.ts'

export type TemplateLookup =
  | { readonly status: 'found'; readonly shelved: Shelved; readonly template: Template }
  | { readonly status: 'unknown'; readonly near: string | null }
  /** It is there, and is no template. */
  | {
      readonly status: 'unusable'
      readonly shelved: Shelved
      readonly why: Extract<ShelvedRead, { readonly ok: false }>
    }

export async function findTemplate(folder: string, name: string): Promise<TemplateLookup> {
  const all = await shelfWith(folder)
  const shelved = all.find(one => one.name === name)
  if (shelved === undefined) {
    const names = all.map(one => one.name)
    return { status: 'unknown', near: suggest(name.slice(0, 60), names) }
  }
  const read = await readTemplateFile(shelved)
  return read.ok ? { status: 'found', shelved, template: read.template } : { status: 'unusable', shelved, why: read }
}

/** The plan that a template becomes with these values. */
export const planFromTemplate = (
  template: Template,
  values: JsonObject,
  options: { readonly name?: string | undefined } = {},
): Instantiated =>
  instantiate(template, values, { check: checkPlan, ...(options.name === undefined ? {} : { name: options.name }) })
