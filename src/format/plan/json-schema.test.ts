import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { EXAMPLE } from './example.fixture.ts'
import { planJsonSchema } from './json-schema.ts'
import { parsePlan } from './parse.ts'
import { plan } from './schema.ts'

const schema = planJsonSchema()
const validator = z.fromJSONSchema(schema as never)

test('the example is valid by the schema and by the parser', () => {
  expect(validator.safeParse(parse(EXAMPLE)).error).toBeUndefined()
  expect(parsePlan(EXAMPLE).ok).toBe(true)
})

test.each([
  ['an unknown key', { planfold: 1, titel: 'x', tasks: [{ id: 'a' }] }],
  ['an unknown key of a task', { planfold: 1, tasks: [{ id: 'a', neds: [] }] }],
  ['no tasks', { planfold: 1, tasks: [] }],
  ['no version', { tasks: [{ id: 'a' }] }],
  ['a number in argv', { planfold: 1, tasks: [{ id: 'a', run: ['sleep', 5] }] }],
  ['a label of a worker with a blank', { planfold: 1, place: 'a b', tasks: [{ id: 'a' }] }],
  ['too many labels', { planfold: 1, place: Array.from({ length: 33 }, (_, at) => `l${at}`), tasks: [{ id: 'a' }] }],
  ['a place of a task', { planfold: 1, tasks: [{ id: 'a', place: ['gpu'] }] }],
  ['a duration without a unit', { planfold: 1, tasks: [{ id: 'a', timeout: '5' }] }],
])('%s is refused by both', (_, document) => {
  expect(validator.safeParse(document).success).toBe(false)
  expect(parsePlan(JSON.stringify(document), { fallbackName: 'x' }).ok).toBe(false)
})

test('the schema is of draft 2020-12, closed, and described', () => {
  expect(schema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    additionalProperties: false,
    required: ['planfold', 'tasks'],
    title: 'Planfold plan',
  })
})

test('the schema says the form of labels, and that none is there twice', () => {
  const label = { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9._/-]+$' }
  expect(schema.properties).toMatchObject({
    place: { anyOf: [label, { type: 'array', items: label, maxItems: 32, uniqueItems: true }] },
  })
})

test('the examples that hints show are right', () => {
  const looked = new Set<unknown>()
  const shown: string[] = []
  const walk = (part: unknown): void => {
    if (part === null || typeof part !== 'object' || looked.has(part)) return
    looked.add(part)
    if (!(part instanceof z.ZodType)) return Object.values(part).forEach(walk)
    for (const example of (part.meta()?.examples as readonly unknown[] | undefined) ?? []) {
      shown.push(JSON.stringify(example))
      expect([example, part.safeParse(example).error]).toEqual([example, undefined])
    }
    walk(part._zod.def)
  }
  walk(plan)
  expect(shown).toContain('{"run":"rm out.txt"}')
})
