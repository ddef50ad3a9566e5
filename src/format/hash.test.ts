import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { planDefinition } from './definition.arbitrary.ts'
import { canonicalJson, definitionHash } from './hash.ts'

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

test('a change of anything changes the hash', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const hash = definitionHash(definition)
      for (const mutation of mutations(definition as unknown as Json)) {
        expect(definitionHash(mutation as unknown as PlanDefinition)).not.toBe(hash)
      }
    }),
    { numRuns: 20 },
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
