import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { validateJson } from './json-validation.ts'

const faults = (document: unknown, schema: unknown): readonly string[] =>
  validateJson(document, schema).map(({ at, message }) => `${at}: ${message}`)

describe('a document follows its schema', () => {
  it.each<[string, unknown, readonly unknown[], readonly unknown[]]>([
    ['type', { type: ['string', 'null'] }, ['a', null], [1, [], {}, true]],
    ['integer', { type: 'integer' }, [1, -0, 1e3], [1.5, '1']],
    ['enum', { enum: ['a', { b: [1] }] }, ['a', { b: [1] }], ['b', { b: [2] }, null]],
    ['const', { const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }, null]],
    ['required', { required: ['a'] }, [{ a: null }, 'no object'], [{}, { b: 1 }]],
    ['properties', { properties: { a: { type: 'number' } } }, [{ a: 1 }, {}, { b: 'x' }], [{ a: 'x' }]],
    [
      'additionalProperties',
      { properties: { a: {} }, additionalProperties: false },
      [{ a: 1 }],
      [{ b: 1 }, { a: 1, b: 1 }],
    ],
    ['additional schema', { additionalProperties: { type: 'number' } }, [{ a: 1 }], [{ a: 'x' }]],
    [
      'patternProperties',
      { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      [{ 'x-a': 'b' }],
      [{ 'x-a': 1 }, { y: 'b' }],
    ],
    ['propertyNames', { propertyNames: { pattern: '^[a-z]+$' } }, [{ ab: 1 }], [{ Ab: 1 }]],
    ['minProperties', { minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 1, c: 1 }]],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
    ['items', { items: { type: 'number' } }, [[], [1, 2]], [['a'], [1, 'a']]],
    [
      'prefixItems',
      { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      [['a', 1], []],
      [[1], ['a', 'b']],
    ],
    ['minItems', { minItems: 1, maxItems: 2 }, [[1]], [[], [1, 2, 3]]],
    [
      'uniqueItems',
      { uniqueItems: true },
      [[1, 2, '1']],
      [
        [1, 1],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    ['contains', { contains: { const: 1 }, maxContains: 1 }, [[1, 2]], [[2], [1, 1]]],
    ['minLength', { minLength: 2, maxLength: 3 }, ['ab', '界🌍', 5], ['a', 'abcd']],
    ['pattern', { pattern: '^a+$' }, ['aa'], ['b', '']],
    ['minimum', { minimum: 1, maximum: 2 }, [1, 2], [0.9, 2.1]],
    ['exclusiveMinimum', { exclusiveMinimum: 1, exclusiveMaximum: 2 }, [1.5], [1, 2]],
    ['multipleOf', { multipleOf: 0.1 }, [0.3, 1, 0], [0.35]],
    ['allOf', { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [0, 3]],
    ['anyOf', { anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['a', 5], [4]],
    ['oneOf', { oneOf: [{ multipleOf: 3 }, { multipleOf: 5 }] }, [3, 5], [15, 2]],
    ['not', { not: { type: 'string' } }, [1], ['a']],
    [
      'if',
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nobody awaits it.
      { if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['c'] } },
      [{ a: 1, b: 1 }, { c: 1 }],
      [{ a: 1 }, {}],
    ],
    ['$ref', { $defs: { n: { type: 'number' } }, properties: { a: { $ref: '#/$defs/n' } } }, [{ a: 1 }], [{ a: 'x' }]],
    [
      'a tree',
      {
        $ref: '#/$defs/t',
        $defs: { t: { properties: { kids: { items: { $ref: '#/$defs/t' } } }, required: ['kids'] } },
      },
      [{ kids: [{ kids: [] }] }],
      [{ kids: [{}] }],
    ],
    ['true and false', { properties: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]],
    ['keys of the language', { required: ['constructor'], properties: { __proto__: {} } }, [{ constructor: 1 }], [{}]],
  ])('%s', (_, schema, good, bad) => {
    for (const document of good) expect(faults(document, schema)).toEqual([])
    for (const document of bad) expect(faults(document, schema)).not.toEqual([])
  })

  it('or it is said where it does not', () => {
    const schema = { properties: { tasks: { items: { required: ['id'], properties: { 'a b': { type: 'string' } } } } } }
    expect(faults({ tasks: [{ id: 1 }, { 'a b': 2 }] }, schema)).toEqual([
      "$.tasks[1]: lacks 'id'",
      '$.tasks[1]["a b"]: is number, not string',
    ])
  })
})

describe('a schema', () => {
  it('with a keyword that is not known here is refused, wherever it stands', () => {
    expect(faults({}, { properties: { a: { items: { unevaluatedItems: false } } } })).toEqual([
      "schema.properties.a.items: the keyword 'unevaluatedItems' is not known here",
    ])
  })

  it.each([
    [{ $ref: 'https://example.com/x' }, "schema.$ref: must point into this schema: '#/$defs/name'"],
    [
      { type: 'text' },
      'schema.type: must be one of string, number, integer, boolean, null, array, object, or a list of them',
    ],
    [{ minLength: -1 }, 'schema.minLength: must be a whole number, 0 or more'],
    [{ required: 'a' }, 'schema.required: must be a list of texts'],
    [{ items: [] }, 'schema.items: must be a schema'],
    [{ properties: { a: 1 } }, 'schema.properties.a: a schema is an object, true or false'],
    ['x', 'schema: a schema is an object, true or false'],
  ])('that is none is refused: %j', (schema, message) => {
    expect(faults(1, schema)).toEqual([message])
  })

  it('that refers to nothing, or to itself without end, says so and ends', () => {
    expect(faults(1, { $ref: '#/$defs/none' })).toEqual(["$: the schema has nothing at '#/$defs/none'"])
    expect(faults(1, { $ref: '#' })).toEqual(['$: document or schema are nested more than 256 deep'])
  })

  it('cannot be made to work for ever', () => {
    const twice = { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] }
    const chain = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [
        `d${at}`,
        at === 59 ? false : { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
      ]),
    )
    expect(validateJson(1, { $ref: '#/$defs/d0', $defs: chain }, { stepsMax: 50_000 })).toEqual([
      { at: '$', message: 'there is too much to check' },
    ])
    expect(faults('a'.repeat(50_000), { pattern: '(a|aa)+$', ...twice, $defs: { a: true } })).toEqual([])
    expect(faults('x', { pattern: '(?=a)' })[0]).toMatch(/^schema\.pattern: /)
  })
})

it('neither documents nor schemas make it throw', () => {
  const keywords = [
    'type',
    'properties',
    'items',
    'anyOf',
    '$ref',
    'pattern',
    'required',
    'not',
    'enum',
    'if',
    'minItems',
    'const',
  ]
  const schema = fc.dictionary(fc.constantFrom(...keywords), fc.jsonValue(), { maxKeys: 4 })
  fc.assert(
    fc.property(fc.jsonValue(), fc.oneof(fc.jsonValue(), schema), (document, about) => {
      expect(Array.isArray(validateJson(document, about))).toBe(true)
    }),
    { numRuns: Number(process.env.PLANFOLD_RUNS ?? 300) },
  )
})
