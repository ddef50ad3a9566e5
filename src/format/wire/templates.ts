// Templates on the wire: listed, shown with their parameters, saved from a plan, made into one.

import { z } from 'zod'
import * as part from './field-schemas.ts'
import { planMade, reference } from './plans.ts'
import { wire } from './wire.ts'

const parameter = z.strictObject({
  name: z.string(),
  type: z.string(),
  about: z.string(),
  required: z.boolean(),
  default: part.json,
  values: z.array(part.json).optional(),
  of: z.string().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  example: part.json.optional(),
})

const own = {
  name: z.string(),
  origin: z.enum(['stock', 'own']),
  hides: z.boolean().meta({ description: 'It stands before a stock template of the same name.' }),
  title: z.string().nullable(),
  about: z.string().nullable(),
  template_version: z.string().nullable(),
  hash: z.string().nullable(),
}

const item = z.strictObject({
  ...own,
  parameters: z.array(z.string()),
  fault: z.string().nullable().meta({ description: 'Why it cannot be used.' }),
})
export const templates = wire(part.page(item), 'TemplatePage')
export type TemplateItem = z.input<typeof item>

const one = z.strictObject({ ...own, parameters: z.array(parameter), document: z.string() })
export const template = wire(one, 'Template')
export type TemplateBody = z.input<typeof one>

export const newTemplate = wire(
  z.strictObject({
    plan_id: reference.meta({ description: 'The plan it is saved from, by id or name.' }),
    name: z.string().min(1).max(50),
    parameters: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Name to the value that stands for it in the plan.' }),
    replace: z.boolean().optional(),
  }),
)
export const templateSaved = wire(z.strictObject({ ...one.shape, notes: z.array(z.string()) }))

export const fromTemplate = wire(
  z.strictObject({
    values: part.map.optional(),
    name: reference.optional().meta({ description: 'Of the plan.' }),
    goal_id: reference.nullish(),
    agent_id: reference.nullish(),
    session_id: reference.nullish(),
    start: z.boolean().optional(),
  }),
)

export { planMade }
