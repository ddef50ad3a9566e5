// Parts of the schema that stand in more than one place: commands, criteria, retries, and words with a choice.

import { z } from 'zod'
import { ATTEMPTS_MAX } from '../../domain/limits.ts'
import * as value from './schema-values.ts'

export const command = z
  .union([z.string().min(1), z.array(z.string()).min(1)])
  .meta({ description: 'A list is argv; a string is a script for sh -eu.', examples: [['npm', 'test']] })

export const criterion = z
  .union([
    value.line.meta({ description: 'Prose: judged by a person or a critic.' }),
    z.strictObject({
      check: command.meta({ description: 'A command that must exit with 0.' }),
      text: value.line.optional(),
    }),
    z.strictObject({
      tests: command.meta({
        description: 'A command that runs tests: none may fail that did not fail before, and none may be gone.',
      }),
      new: value.line
        .optional()
        .meta({ description: 'A path or pattern of test files, or part of a name: a new test there must pass.' }),
      baseline: value.taskName
        .optional()
        .meta({ description: "The task that recorded how the tests were; the plan's first run when absent." }),
      red: z.boolean().optional().meta({ description: 'The new test must fail, and nothing else may change.' }),
      fewer: z.literal('allowed').optional().meta({ description: 'Tests may be removed or skipped.' }),
      text: value.line.optional(),
    }),
    z.strictObject({
      expect: value.line.meta({ description: 'An expression that must be true.' }),
      text: value.line.optional(),
    }),
  ])
  .meta({ examples: [{ check: 'npm test' }] })

export const criteria = z.array(criterion).meta({ examples: [[{ check: 'npm test' }]] })

export const retry = z
  .union([
    value.count(ATTEMPTS_MAX),
    z.strictObject({ attempts: value.count(ATTEMPTS_MAX), backoff: value.durationRange.optional() }),
  ])
  .meta({ examples: [3] })

export const outputName = z.string().regex(/^[A-Za-z_][\w.-]{0,99}$/)
export const outcomeName = z.string().regex(/^[A-Za-z][\w-]{0,99}$/)

/** One of some words, where other forms are possible as well: a slip is told with the word that was meant. */
export function word<const T extends string>(words: readonly T[]) {
  return z
    .string()
    .transform((given, context): T => {
      const found = words.find(one => one === given)
      if (found === undefined) context.addIssue({ code: 'custom', message: 'unknown value', params: { words } })
      return found ?? z.NEVER
    })
    .meta({ enum: [...words] })
}

/** A list of such words, or one of them alone. */
export const words = <const T extends string>(known: readonly T[]) =>
  z.union([word(known).transform(one => [one]), z.array(word(known)).min(1)])

export type CriterionDocument = z.output<typeof criterion>
export type RetryDocument = z.output<typeof retry>
export type CommandDocument = z.output<typeof command>
