// Schema parts used in several places: commands, criteria, retries, enumerations.

import { z } from 'zod'
import { ATTEMPTS_MAX, BACKOFF_DEFAULT_MS } from '../../domain/limits.ts'
import type { CommandLine, Criterion, Retry, Tries } from '../../domain/plan.ts'
import { ROUNDS_MAX, TRIES_MAX, TRIES_MIN } from '../../domain/tries/tries.ts'
import { agent } from '../actions/agent-action.ts'
import { codec, flag, optional, record, variants } from './codec.ts'
import * as value from './schema-values.ts'

export const command = codec(
  z.union([z.string().min(1), z.array(z.string()).min(1)]),
  (written): CommandLine => (typeof written === 'string' ? { script: written } : { argv: written }),
  line => ('argv' in line ? line.argv : line.script),
).meta({ description: 'A list is argv; a string is a script for sh -eu.', examples: [['npm', 'test']] })

type CriterionOf<T extends Criterion['type']> = Extract<Criterion, { readonly type: T }>

export const prose = (text: z.ZodType<string>): z.ZodType<CriterionOf<'prose'>> =>
  codec(
    text,
    written => ({ type: 'prose', text: written }),
    ({ text: phrase }) => phrase,
  )
export const expectation = (expression: z.ZodType<string>): z.ZodType<CriterionOf<'expect'>> =>
  record<CriterionOf<'expect'>>()(
    { expression: 'expect' },
    { expect: expression, text: value.line.optional() },
    { always: { type: 'expect' } },
  )

export const criterion = variants<Criterion, 'type'>('type', {
  prose: prose(value.line.describe('Prose: judged by a person or a critic.')),
  check: record<CriterionOf<'check'>>()(
    { command: 'check' },
    { check: command.describe('A command that must exit with 0.'), text: value.line.optional() },
    { always: { type: 'check' } },
  ),
  tests: record<CriterionOf<'tests'>>()(
    { command: 'tests' },
    {
      tests: command.describe(
        'A command that runs tests: none may fail that did not fail before, and none may be gone.',
      ),
      new: optional(value.line, 'A path or pattern of test files, or part of a name: a new test there must pass.'),
      baseline: optional(
        value.taskName,
        "The task that recorded how the tests were; the plan's first run when absent.",
      ),
      red: optional(flag, 'The new test must fail, and nothing else may change.'),
      fewer: optional(z.literal('allowed'), 'Tests may be removed or skipped.'),
      text: value.line.optional(),
    },
    { always: { type: 'tests' } },
  ),
  expect: expectation(value.line.describe('An expression that must be true.')),
}).meta({ examples: [{ check: 'npm test' }] })

export const criteria = z.array(criterion).meta({ examples: [[{ check: 'npm test' }]] })

export const retry = codec(
  z.union([
    value.count(ATTEMPTS_MAX),
    z.strictObject({ attempts: value.count(ATTEMPTS_MAX), backoff: value.durationRange.optional() }),
  ]),
  (written): Retry => {
    const { attempts, backoff = BACKOFF_DEFAULT_MS } = typeof written === 'number' ? { attempts: written } : written
    return { attempts, backoffMs: backoff }
  },
  ({ attempts, backoffMs }) => ({ attempts, backoff: backoffMs }),
).meta({ examples: [3] })

export const outputName = z.string().regex(/^[A-Za-z_][\w.-]{0,99}$/)
export const outcomeName = z.string().regex(/^[A-Za-z][\w-]{0,99}$/)

/** An enumeration that may be part of a union: an unknown word is reported with the closest known one. */
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

/** A list of such words, or a single one. */
export const words = <const T extends string>(known: readonly T[]) =>
  z.union([word(known).transform(one => [one]), z.array(word(known)).min(1)])

const judge = z.strictObject({
  by: agent.describe('model, PROVIDER/NAME, or an agent.'),
  instruction: optional(value.text, 'What is better, in words.'),
})

const howMany = z.int().min(TRIES_MIN).max(TRIES_MAX)

export const tries = codec(
  z.union([
    howMany.describe('So many tries by the agent or the command of the task.'),
    z.strictObject({
      with: z.union([howMany, z.array(agent).min(TRIES_MIN).max(TRIES_MAX)]).describe('How many, or by which agents.'),
      first: optional(flag, 'The first try that passes ends the others.'),
      judge: optional(judge, 'Decides between tries that pass; the smaller difference when absent.'),
      prepare: optional(command, 'Runs first in the folder of each try: npm ci.'),
      rounds: optional(value.count(ROUNDS_MAX), 'Begin again from the best one, with what is said against it.'),
    }),
  ]),
  (written): Tries => (typeof written === 'number' ? { with: written } : (written as Tries)),
  tries => (typeof tries.with === 'number' && Object.keys(tries).length === 1 ? tries.with : tries),
).meta({ examples: [3, { with: ['claude', 'codex'], first: true }] })
