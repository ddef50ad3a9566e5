// A plan made of a template: a pure function of the template and the values. What comes out is read by the same reader as any other
// plan, with its faults reported at their places in the template.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Dialect } from '../../format/plan/dialect.ts'
import { type ParseOptions, parsePlan } from '../../format/plan/parse.ts'
import { type Diagnostic, tidy } from '../../format/text/diagnostic.ts'
import type { Trace } from '../../format/text/source-map.ts'
import type { Template } from './document.ts'
import { bindParameters, type Problem, type Values } from './parameters.ts'
import { PlanBuilder } from './plan-builder.ts'

export interface InstantiateOptions {
  /** The plan's name, instead of the one the template says, or its own. */
  readonly name?: string
  readonly check?: NonNullable<ParseOptions['check']>
}

export type Instantiated =
  | {
      readonly ok: true
      readonly definition: PlanDefinition
      readonly values: Values
      /** What the plan's own reader warns of. */
      readonly warnings: readonly Diagnostic[]
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly diagnostics: readonly Diagnostic[] }

export function instantiate(template: Template, given: JsonObject, options: InstantiateOptions = {}): Instantiated {
  const bound = bindParameters(template.parameters, given)
  if (!bound.ok) return { ok: false, problems: bound.problems, diagnostics: [] }
  const { values } = bound
  const builder = new PlanBuilder(Object.keys(values), values)
  const built = builder.plan(template.plan)
  if (built === null) return { ok: false, problems: [], diagnostics: tidy(builder.faults.map(template.document.place)) }
  const plan = withProvenance(template, values, {
    planfold: 1,
    ...built,
    ...(options.name === undefined ? {} : { name: options.name }),
  })
  const parsed = parsePlan(template.text, {
    dialect: alreadyRead(plan, builder.trace),
    fallbackName: template.name,
    check: options.check,
  })
  if (!parsed.ok) return { ok: false, problems: [], diagnostics: parsed.diagnostics }
  return { ok: true, definition: parsed.definition, values, warnings: parsed.warnings }
}

/** Where the plan comes from, for whoever asks later. */
function withProvenance(template: Template, values: Values, plan: JsonObject): JsonObject {
  const { name, version, hash } = template
  const before = isMap(plan.extra) ? plan.extra : {}
  const origin = { name, ...(version === null ? {} : { version }), hash, parameters: structuredClone(values) as Json }
  return { ...plan, extra: { ...before, template: origin } }
}

/** The door through which documents derived from another text are read. */
function alreadyRead(plan: JsonObject, trace: Trace): Dialect {
  return {
    name: 'template',
    about: 'a plan made of a template',
    recognises: () => false,
    read: () => ({ ok: true, plan, trace, warnings: [], sketch: [], ended: new Map(), underWay: new Set() }),
  }
}
