import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { planDefinition } from './definition.arbitrary.ts'
import { canonicalJson, definitionHash, revisionHash } from './hash.ts'
import { parsePlan } from './parse.ts'
import { printJson, printYaml } from './print.ts'

/** Every value that differs from the given one in exactly one place. */
function* mutations(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield value.toSpliced(index, 1)
      for (const changed of mutations(item)) yield value.with(index, changed)
    }
    yield [...value, 'more']
  } else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))
      for (const changed of mutations(item as Json)) yield { ...value, [key]: changed }
    }
  } else {
    yield `${String(value)}x`
    if (value !== null) yield null
  }
}

/** More when somebody looks for what is rare: every one is hashed as often as it has places. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 8)

test('regression 32: a change of anything changes the hash', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const hash = definitionHash(definition)
      for (const mutation of mutations(definition as unknown as Json)) {
        if (definitionHash(mutation as unknown as PlanDefinition) === hash) expect(mutation).toBe('another hash')
      }
    }),
    { numRuns: RUNS },
  )
})

test('the order of keys does not matter, the order of lists does', () => {
  expect(canonicalJson({ b: 1, a: [2, { d: null, c: 'x' }] })).toBe('{"a":[2,{"c":"x","d":null}],"b":1}')
  expect(canonicalJson({ a: [2, { c: 'x', d: null }], b: 1 })).toBe(
    canonicalJson({ b: 1, a: [2, { d: null, c: 'x' }] }),
  )
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]))
})

test('an absent key and an undefined one are the same', () => {
  expect(canonicalJson({ a: 1, b: undefined } as unknown as Json)).toBe('{"a":1}')
})

test('the hash of a known definition never changes', () => {
  const definition = { name: 'x', tasks: [{ id: 'a', action: { type: 'external' } }] } as unknown as PlanDefinition
  expect(definitionHash(definition)).toMatchInlineSnapshot(
    `"b418eaa060c088753af9eb4f76a57b724744bc82e5b484da69f6c681de25ea39"`,
  )
})

describe('the same plan has the same hash', () => {
  const hashOf = (text: string): string => {
    const parsed = parsePlan(text)
    return parsed.ok ? definitionHash(parsed.definition) : JSON.stringify(parsed.diagnostics)
  }

  test('regression 3: whatever it was carried in: every field survives JSON and YAML', () => {
    fc.assert(
      fc.property(planDefinition, definition => {
        const hash = definitionHash(definition)
        const carried = JSON.parse(JSON.stringify(definition)) as PlanDefinition
        expect(carried).toEqual(definition)
        expect(definitionHash(carried)).toBe(hash)
        expect(hashOf(printJson(definition))).toBe(hash)
        expect(hashOf(printYaml(definition))).toBe(hash)
      }),
      { numRuns: RUNS },
    )
  })

  test('in whatever order its keys are written, at every depth', () => {
    fc.assert(
      fc.property(planDefinition, fc.infiniteStream(fc.nat()), (definition, numbers) => {
        const order = () => numbers.next().value ?? 0
        const shuffled = shuffle(definition as unknown as Json, order) as unknown as PlanDefinition
        expect(definitionHash(shuffled)).toBe(definitionHash(definition))
        // Also when the texts of its tasks are remembered from the first time.
        for (const one of [shuffled, shuffled, { ...shuffled, goal: undefined } as unknown as PlanDefinition])
          expect(revisionHash(one)).toBe(definitionHash(one))
        const document = shuffle(JSON.parse(printJson(definition)) as Json, order)
        expect(hashOf(JSON.stringify(document))).toBe(definitionHash(definition))
      }),
      { numRuns: RUNS },
    )
  })

  test('with whatever line endings and spaces it is written', () => {
    fc.assert(
      fc.property(planDefinition, definition => {
        const hash = definitionHash(definition)
        const [yaml, json] = [printYaml(definition), printJson(definition)]
        expect(hashOf(yaml.replaceAll('\n', '\r\n'))).toBe(hash)
        expect(hashOf(json.replaceAll('\n', '\r\n'))).toBe(hash)
        expect(hashOf(`\uFEFF${yaml}`)).toBe(hash)
        expect(hashOf(JSON.stringify(JSON.parse(json)))).toBe(hash)
      }),
      { numRuns: RUNS },
    )
  })
})

/** The same value with the keys of every map in another order. */
function shuffle(value: Json, order: () => number): Json {
  if (Array.isArray(value)) return value.map(item => shuffle(item as Json, order))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, item]) => [order(), key, shuffle(item as Json, order)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, key, item]) => [key, item]))
}
