// A plan made of a template: a pure function of the template and the values. Conditions are evaluated, loops are unrolled,
// substitutions land as data; what comes out is a canonical document, read by the same reader as any other, with its faults
// told at their places in the template.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Complaint, Diagnostic } from '../diagnostic.ts'
import { tidy } from '../diagnostic.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { Trace } from '../dialects/trace.ts'
import { type ParseOptions, parsePlan } from '../parse.ts'
import { Builder } from './build.ts'
import type { Template } from './document.ts'
import { bindParameters, type Problem, type Values } from './parameters.ts'

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
      /** What was left out and why, and what the plan's own reader warns of. */
      readonly warnings: readonly Diagnostic[]
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly diagnostics: readonly Diagnostic[] }

export function instantiate(template: Template, given: JsonObject, options: InstantiateOptions = {}): Instantiated {
  const bound = bindParameters(template.parameters, given)
  if (!bound.ok) return { ok: false, problems: bound.problems, diagnostics: [] }
  const { values } = bound
  const trace = new Trace()
  const builder = new Builder(values, trace)
  const built = builder.plan(template.plan)
  if (built === null) {
    const diagnostics = tidy(builder.faults.map(template.document.place))
    return { ok: false, problems: [], diagnostics }
  }
  const plan = withProvenance(template, values, {
    planfold: 1,
    ...built,
    ...(options.name === undefined ? {} : { name: options.name }),
  })
  const parsed = parsePlan(template.text, {
    dialect: alreadyRead(plan, trace, builder.notes),
    fallbackName: template.name,
    ...(options.check === undefined ? {} : { check: options.check }),
  })
  if (!parsed.ok) return { ok: false, problems: [], diagnostics: parsed.diagnostics }
  return { ok: true, definition: parsed.definition, values, warnings: parsed.warnings }
}

/** Where the plan comes from, for whoever asks later. */
function withProvenance(template: Template, values: Values, plan: JsonObject): JsonObject {
  const { name, version, hash } = template
  const extra = plan.extra
  const before = extra !== null && typeof extra === 'object' && !Array.isArray(extra) ? extra : {}
  const origin = { name, ...(version === null ? {} : { version }), hash, parameters: structuredClone(values) as Json }
  return { ...plan, extra: { ...before, template: origin } }
}

/** The door through which documents derived from another text are read. */
function alreadyRead(plan: JsonObject, trace: Trace, warnings: readonly Complaint[]): Dialect {
  return {
    name: 'template',
    about: 'a plan made of a template',
    recognises: () => false,
    read: () => ({ ok: true, plan, trace, warnings, sketch: [], ended: new Map(), underWay: new Set() }),
  }
}
