// `model`: a question to a language model. Stored as written; `domain/actions/model-action.ts` reads it.

import { z } from 'zod'
import { answerFault } from '../../domain/actions/model-action.ts'
import { isMap, type Json } from '../../domain/json.ts'
import type { Action } from '../../domain/plan.ts'
import { asWritten, optional } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, isComputed, keyed, needsPrompt } from './action-format.ts'

type Model = Extract<Action, { readonly type: 'model' }>

const model = z
  .union([
    value.line,
    z.strictObject({
      use: value.line.optional(),
      system: value.text.optional(),
      answer: optional(value.json, 'The shape of the answer; its values are the outputs.'),
      output_tokens: value.count(1_000_000).optional(),
      caps: z
        .strictObject({
          calls: value.count(10_000).optional(),
          tokens: value.count(1_000_000_000).optional(),
          cost: z
            .string()
            .regex(/^\d{1,10}(\.\d{1,6})? ?USD$/, 'write an amount in US dollars: 0.50 USD')
            .optional(),
        })
        .optional(),
    }),
  ])
  .meta({
    description: 'Asks a language model; the prompt is the instruction.',
    examples: [{ use: 'anthropic/NAME', answer: { severity: 'low | high' } }],
  })

export const MODEL: ActionFormat<Model> = {
  ...keyed<Model>('model', { spec: ['model', asWritten(model)] }),
  *rules(task, path) {
    yield* needsPrompt(task, path, "a 'model' task", 'write what the model is asked under `instruction:`')
    const use = isMap(task.model) ? task.model.use : task.model
    if (typeof use === 'string' && !use.includes('/') && !isComputed(use))
      yield {
        path: isMap(task.model) ? [...path, 'model', 'use'] : [...path, 'model'],
        message: `'${use.slice(0, 60)}' is not the name of a model`,
        hint: 'write PROVIDER/NAME, for instance local/llama3',
      }
    const answer = isMap(task.model) ? task.model.answer : undefined
    const fault = answer === undefined ? null : answerFault(answer as Json)
    if (fault !== null)
      yield {
        path: [...path, 'model', 'answer'],
        message: `'answer' is not valid: ${fault}`,
        hint: 'write answer: { severity: low | high, files: [string] }',
      }
  },
}
