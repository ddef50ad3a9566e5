// Templates: found by name and turned into checked plans; and plans saved as the user's own templates, never over another one unless
// requested. `folder` holds the user's own. Faces and operations get everything about templates here.

import type { Hint } from '../domain/hint.ts'
import type { PlanId } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { writtenTasks } from '../domain/plan-rules/structure.ts'
import type { PlanStatus } from '../domain/status.ts'
import {
  type Given,
  type Instantiated,
  instantiate,
  readTemplateFile,
  type Shelved,
  type ShelvedRead,
  saveTemplate,
  shelfWith,
  type Template,
  writeTemplate,
} from '../extras/templates/templates.ts'
import { checkPlan } from './check-plan.ts'
import type { CallerEngine } from './run-plan.ts'

export {
  describeType,
  exampleOf,
  type Parameter,
  type Problem,
  readTemplate,
  readTemplateFile,
  type Shelved,
  type ShelvedRead,
  shelfWith,
  type Template,
} from '../extras/templates/templates.ts'

export type TemplateLookup =
  | { readonly status: 'found'; readonly shelved: Shelved; readonly template: Template }
  | { readonly status: 'unknown'; readonly near: string | null; readonly names: readonly string[] }
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
    return { status: 'unknown', near: suggest(name.slice(0, 60), names), names }
  }
  const read = await readTemplateFile(shelved)
  return read.ok ? { status: 'found', shelved, template: read.template } : { status: 'unusable', shelved, why: read }
}

export const planFromTemplate = (
  template: Template,
  values: JsonObject,
  options: { readonly name?: string | undefined } = {},
): Instantiated => instantiate(template, values, { check: checkPlan, name: options.name })

/** The plan to save, and its status: only a completed one is known to work. Null if there is none. */
export async function planToSave(
  engine: Pick<CallerEngine, 'ask'>,
  plan: PlanId,
): Promise<{ readonly definition: PlanDefinition; readonly status: PlanStatus } | null> {
  const current = await engine.ask({ type: 'definition', plan })
  const summary = await engine.ask({ type: 'summary', plan })
  return current === null || summary === null ? null : { definition: current.definition, status: summary.status }
}

export interface TemplateAsk {
  readonly name: string
  readonly parameters: Given
  readonly tasksMax?: number
}

export interface PrintedTemplate {
  readonly name: string
  readonly text: string
  /** What differs from the plan. */
  readonly notes: readonly string[]
}

export type TemplatePrinting =
  | { readonly status: 'printed'; readonly template: PrintedTemplate }
  | { readonly status: 'too-large' }
  | { readonly status: 'unfit'; readonly message: string; readonly hint: Hint }

export function printAsTemplate(
  definition: PlanDefinition,
  { name, parameters, tasksMax = Number.POSITIVE_INFINITY }: TemplateAsk,
): TemplatePrinting {
  if (hasMoreTasks(definition, tasksMax)) return { status: 'too-large' }
  const saved = saveTemplate(definition, name, parameters)
  if (!saved.ok) return { status: 'unfit', message: saved.message, hint: saved.hint }
  return { status: 'printed', template: { name, text: saved.text, notes: saved.notes } }
}

function hasMoreTasks(definition: PlanDefinition, max: number): boolean {
  let count = 0
  for (const _ of writtenTasks(definition)) if (++count > max) return true
  return false
}

export type TemplateKeeping =
  | { readonly status: 'kept'; readonly path: string }
  /** The name is taken; `isSame` if the content is identical. */
  | { readonly status: 'taken'; readonly isSame: boolean; readonly message: string; readonly hint: Hint }

/** Overwrites only with `replace`. */
export async function keepTemplate(
  folder: string,
  { name, text }: Pick<PrintedTemplate, 'name' | 'text'>,
  { replace = false }: { readonly replace?: boolean | undefined } = {},
): Promise<TemplateKeeping> {
  const kept = await writeTemplate(folder, name, text, { replace })
  if (kept.ok) return { status: 'kept', path: kept.path }
  const found = await findTemplate(folder, name)
  const isSame = found.status === 'found' && found.shelved.origin === 'own' && found.template.text === text
  return { status: 'taken', isSame, message: kept.message, hint: kept.hint }
}
