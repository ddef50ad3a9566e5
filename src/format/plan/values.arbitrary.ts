// Arbitrary values that definitions are made of: texts, names, commands, criteria, retries. See definition.arbitrary.ts.

import fc from 'fast-check'
import { isPlanName, isTaskName, type PlanName, type TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Budget, CommandLine, Criterion, Network, Retry } from '../../domain/plan.ts'

const RESERVED = new Set(['__proto__', 'constructor', 'prototype', '<<'])

/** Text as plans hold it: whole characters, no NUL, and no accidental template. */
export const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc
      .array(
        fc.constantFrom(
          'a',
          ' ',
          '\n',
          '\r\n',
          '\t',
          '# x',
          '- y',
          ': ',
          '"',
          "'",
          '|',
          '---',
          '\u2028',
          '\u0085',
          '\u001b',
          '\uFEFF',
          '${',
          '🙂',
        ),
        { maxLength: 8 },
      )
      .map(parts => parts.join('')),
    fc.constantFrom(
      'no',
      'yes',
      'true',
      'null',
      '~',
      '1e3',
      '0o7',
      '0x1F',
      '.inf',
      '<<',
      '=',
      '*a',
      '&a',
      '!x',
      '@',
      '%',
      '2026-01-01',
      ' lead',
      'trail ',
      '-',
      '?',
      '',
      '...',
    ),
  )
  .filter(text => !text.includes('\0') && !text.includes('${{') && !/\p{Surrogate}/u.test(text))
export const line = anyText.filter(text => text.length > 0)
export const lines = fc.array(line, { maxLength: 3 })
const addresses = fc.array(
  fc.constantFrom(
    'example.org',
    'https://a.example',
    '*.b.example:8443',
    'tcp://127.0.0.1:5432',
    'GET http://c.example/d*',
    '*',
  ),
  { maxLength: 3 },
)
export const network: fc.Arbitrary<Network> = fc.oneof(
  addresses,
  fc.record({ allow: addresses, unknown: fc.constantFrom('ask' as const, 'deny' as const) }),
)
export const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
export const milliseconds = fc.oneof(
  fc.integer({ min: 1, max: 30 * 86_400_000 }),
  fc.integer({ min: 1, max: 700 }).map(hours => hours * 3_600_000),
)

const key = anyText.filter(text => !RESERVED.has(text) && text.length < 40)
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }))
  .map(value => (value === 0 ? 0 : value))
export const { json } = fc.letrec<{ json: Json }>(tie => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    number,
    anyText,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
export const said = json.filter(value => value !== null)
export const jsonObject = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

export const taskName = fc
  .stringMatching(/^[a-zA-Z0-9](?:[a-zA-Z0-9._/-]{0,10}[a-zA-Z0-9])?$/)
  .filter((name): name is TaskName & string => isTaskName(name)) as unknown as fc.Arbitrary<TaskName>
export const planName = fc
  .stringMatching(/^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,10}[a-zA-Z0-9])?$/)
  .filter(isPlanName) as unknown as fc.Arbitrary<PlanName>

export const expression = fc.constantFrom(
  'exit == 0',
  "stdout.contains('ok')",
  'outputs.n >= 12 && visit < 3',
  'true',
  '"yes"',
)
export const templated = fc.oneof(
  anyText,
  fc.constantFrom('a ${{ exit }} b', '${{ inputs.x }}', '$${{ literal', "${{ {'a': {'b': 1}} }}"),
)
export const command: fc.Arbitrary<CommandLine> = fc.oneof(
  fc.record({ argv: fc.array(templated, { minLength: 1, maxLength: 4 }) }),
  fc.record({ script: templated.filter(text => text.length > 0) }),
)
export const criterion: fc.Arbitrary<Criterion> = fc.oneof(
  sparse({ text: line }, { type: fc.constant('check' as const), command }),
  sparse({ text: line }, { type: fc.constant('expect' as const), expression }),
  sparse(
    { text: line, new: line, red: fc.constant(true as const), fewer: fc.constant('allowed' as const) },
    { type: fc.constant('tests' as const), command },
  ),
  fc.record({ type: fc.constant('prose' as const), text: line }),
)
export const retry: fc.Arbitrary<Retry> = fc.record({
  attempts: fc.integer({ min: 1, max: 100 }),
  backoffMs: fc.tuple(milliseconds, milliseconds).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) })),
})
const cost = fc.record({
  amount: fc.integer({ min: 1, max: 1e12 }).map(micros => micros / 1e6),
  currency: fc.stringMatching(/^[A-Z]{3}$/),
})
export const budget: fc.Arbitrary<Budget> = sparse({
  timeMs: milliseconds,
  cost,
  tokens: fc.integer({ min: 1, max: 1e12 }),
  calls: fc.integer({ min: 1, max: 1_000_000 }),
  attempts: fc.integer({ min: 1, max: 1_000_000 }),
  outputBytes: fc.integer({ min: 1, max: 2 ** 40 }),
  exceeded: fc.constantFrom('ask' as const, 'fail' as const),
  large: cost.map(({ amount }) => ({ amount, currency: 'USD' })),
})
/** A record whose first keys may be absent, but are never undefined. */
export function sparse<T extends object, U extends object = object>(
  optional: { [K in keyof T]: fc.Arbitrary<T[K]> },
  required: { [K in keyof U]: fc.Arbitrary<U[K]> } = {} as never,
): fc.Arbitrary<Partial<T> & U> {
  const model = { ...required, ...optional } as unknown as Record<string, fc.Arbitrary<unknown>>
  return fc.record(model, { requiredKeys: Object.keys(required), noNullPrototype: true }) as unknown as fc.Arbitrary<
    Partial<T> & U
  >
}
