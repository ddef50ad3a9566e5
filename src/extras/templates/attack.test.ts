// Whatever is given as a value, and whatever a template holds: nothing throws, hangs or pollutes, a value stays the value it
// was, and it never becomes structure, an expression or a command.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { compile, evaluate } from '../../format/expression/expression.ts'
import { resolve } from '../../format/expression/template.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { printYaml } from '../../format/plan/print.ts'
import { readTemplate } from './document.ts'
import { instantiate } from './instantiate.ts'
import { PARAMETER_TYPES, type Parameter, type ParameterType } from './parameters.ts'
import { saveTemplate } from './save.ts'
import { STOCK, stockTemplate } from './stock.fixture.ts'

/** More when somebody looks for what is rare. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 12)

const NASTY = [
  '${{ tasks.x.outputs.y }}',
  '$${{',
  '${{',
  '}}',
  '${{ params.x }}',
  '<< params.x >>',
  '<<',
  '"',
  "'",
  '`rm -rf /`',
  '$(rm -rf /)',
  '; rm -rf /',
  '\n- id: evil\n  run: evil',
  '\r\n',
  '__proto__',
  'constructor',
  '&a *a',
  '!!js/function',
  '---\n',
  '# not a comment',
  ': ',
  '{{ x }}',
  '{',
  '$',
  '$$',
  '\\',
  '\u2028',
  '\u202e',
  'ä😀',
  '-rf',
  '../..',
  'null',
  '1e999',
  '\u0000',
  '\ud800',
  'value1x',
  ' ',
  '',
]
const nasty = fc
  .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary', maxLength: 6 })), {
    minLength: 1,
    maxLength: 5,
  })
  .map(parts => parts.join(''))
const anything = fc.oneof(
  nasty,
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  fc.constant(JSON.parse('{"__proto__":{"polluted":true}}') as Json),
)

/** Nasty, but a text that a document can hold. */
const clean = nasty.map(text => text.replace(/\0|\p{Surrogate}/gu, '') || 'x')
const line = clean.map(text => text.replace(/[\n\r\u2028\u2029]/g, ' '))

/** Mostly values that fit. */
function valueFor(parameter: Parameter): fc.Arbitrary<Json> {
  const { min = 0, max = min + 20, values = ['x'] } = parameter
  const of: { readonly [type in ParameterType]: fc.Arbitrary<Json> } = {
    string: line,
    text: clean,
    number: fc.double({ min, max, noNaN: true }),
    integer: fc.integer({ min: Math.trunc(min), max: Math.trunc(max) }),
    boolean: fc.boolean(),
    enum: fc.constantFrom(...values),
    path: fc.constantFrom('src/a.ts', 'src/b c.ts', 'ä/😀.ts', "it's/$x"),
    duration: fc.constantFrom('5m', '2h', '30d'),
    list: fc.constant([]),
  }
  const fits =
    parameter.type !== 'list'
      ? of[parameter.type]
      : fc.uniqueArray(of[parameter.of ?? 'string'], {
          minLength: min,
          maxLength: Math.min(max, Math.max(min, 4)),
          selector: value => JSON.stringify(value),
        })
  return fc.oneof({ weight: 60, arbitrary: fits }, { weight: 1, arbitrary: nasty })
}

/** How many tasks each stock template makes, by the lists and switches it was given. */
const TASKS: { readonly [name: string]: (values: JsonObject) => number } = {
  debug: ({ hypotheses, last_known_good: good }) => 11 + 2 * size(hypotheses) + (good === null ? 0 : 1),
  'dependency-upgrade': ({ breaking, audit_command: audit }) => 6 + Number(breaking) + (audit === null ? 0 : 1),
  'feature-with-tests': ({ docs, review }) => 5 + Number(docs) + Number(review),
  'incident-postmortem': ({ services, public: open }) => 8 + size(services) + Number(open),
  'multi-file-refactor': ({ files, pin_behaviour: pin }) => 5 + size(files) + Number(pin),
  'research-then-build': ({ questions }) => 6 + size(questions) + (size(questions) > 0 ? 2 : 0),
  'research-then-implement': ({ canary }) => 5 + Number(canary),
  'staged-rollout': ({ stages, migrates }) => 3 + 3 * size(stages) + Number(migrates),
}
const size = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0)

describe.each(STOCK)('the stock template %s', name => {
  const template = stockTemplate(name)
  const records = fc.record(Object.fromEntries(template.parameters.map(one => [one.name, valueFor(one)])), {
    requiredKeys: template.parameters.filter(({ required }) => required).map(one => one.name),
  }) as fc.Arbitrary<JsonObject>

  test('makes a plan of any values that its parameters allow, of as many tasks as expected, and refuses the others', () => {
    let plans = 0
    fc.assert(
      fc.property(records, given => {
        const made = instantiate(template, given, { check: checkGraph })
        if (!made.ok) {
          // A value that fits its parameter always makes a plan: only the values can be at fault.
          expect(made.diagnostics).toEqual([])
          expect(made.problems.length).toBeGreaterThan(0)
          return
        }
        plans++
        expect(made.definition.tasks).toHaveLength(TASKS[name]!(made.values))
        const again = parsePlan(printYaml(made.definition), { check: checkGraph, lenient: true })
        expect(again.ok && again.definition).toEqual(made.definition)
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      }),
      { numRuns: RUNS, seed: 11 },
    )
    expect(plans).toBeGreaterThan(0.4 * RUNS)
  })

  test('says what is wrong with values of any kind', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.constantFrom(...template.parameters.map(one => one.name)), nasty), anything),
        given => {
          const made = instantiate(template, given)
          if (!made.ok) for (const { message, hint } of made.problems) expect([message, hint]).not.toContain('')
          expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
        },
      ),
      { numRuns: 2 * RUNS, seed: 12 },
    )
  })
})

const EVERYWHERE = `
planfold-template: 2
name: everywhere
parameters:
  x: { type: text, min: 0, about: anything, required: true }
  words: { type: list, of: text, about: more, default: [] }
plan:
  title: "\${{ params.x }}|"
  extra: { deep: [{ x: "\${{ params.x }}" }] }
  tasks:
    - id: a
      description: a\${{ params.x }}b\${{ params.x }}c
      run: [echo, "\${{ params.x }}", "\${{ '$' }}\${{ params.x }}\${{ 'e' }}\${{ params.x }}{{ 'f' }}", "\${{ params.words }}"]
      env: { X: "\${{ params.x }}" }
      stdin: "\${{ params.x }}\${{ params.x }}"
      inputs: { x: "\${{ params.x }}", list: "\${{ params.words }}" }
      expect: stdout == params.x
      accept: [{ expect: "[params.x, params.words] == []" }, { check: [test, "\${{ params.x }}"] }, "Is \${{ params.x }}"]
    - id: b
      run: "cat <<EOF >> x; echo '<<'"
      env: { X: "\${{ params.x }}" }
`

describe('a value', () => {
  const read = readTemplate(EVERYWHERE)
  if (!read.ok) throw new Error(JSON.stringify(read.diagnostics))
  const { template } = read

  test('arrives everywhere as exactly the value it was', () => {
    fc.assert(
      fc.property(nasty, fc.array(nasty, { maxLength: 3 }), (x, words) => {
        const made = instantiate(template, { x, words })
        if (!made.ok) {
          expect(made.problems.length).toBeGreaterThan(0)
          expect(/\0|\p{Surrogate}|^$/u.test(`${x}${words.join('')}`) || words.includes('')).toBe(true)
          return
        }
        const [a, b] = made.definition.tasks
        expect(made.definition.title).toBe(`${x}|`)
        expect(made.definition.extra).toMatchObject({ deep: [{ x }] })
        expect(live(a!.description!)).toBe(`a${x}b${x}c`)
        expect(live(a!.action as unknown as Json)).toEqual({
          type: 'run',
          command: { argv: ['echo', x, `$${x}e${x}{{ 'f' }}`, ...words] },
          stdin: `${x}${x}`,
        })
        expect(live(a!.env!)).toEqual({ X: x })
        expect(live(a!.inputs!)).toEqual({ x, list: words })
        expect(truth(a!.expect!, { stdout: x })).toBe(true)
        expect(a!.accept).toMatchObject([{ type: 'expect' }, { type: 'check' }, { type: 'prose', text: `Is ${x}` }])
        expect(live((a!.accept![1] as { command: { argv: readonly string[] } }).command.argv)).toEqual(['test', x])
        expect(b!.action).toEqual({ type: 'run', command: { script: "cat <<EOF >> x; echo '<<'" } })
        expect(made.definition.tasks).toHaveLength(2)
      }),
      { numRuns: 8 * RUNS, seed: 13 },
    )
  })
})

function live(value: Json): Json {
  const resolved = resolve(value, source => {
    const compilation = compile(source)
    return compilation.ok ? evaluate(compilation.compiled, {}) : compilation
  })
  if (!resolved.ok) throw new Error(resolved.message)
  return resolved.value
}

function truth(source: string, context: JsonObject): Json {
  const compilation = compile(source)
  if (!compilation.ok) throw new Error(compilation.message)
  const evaluated = evaluate(compilation.compiled, context)
  return evaluated.ok ? evaluated.value : evaluated.message
}

describe('a template', () => {
  test('of any text is read or refused, with a place', () => {
    const texts = STOCK.map(name => stockTemplate(name).text)
    const damaged = fc
      .tuple(
        fc.constantFrom(...texts, EVERYWHERE),
        fc.array(fc.tuple(fc.nat(20_000), fc.nat(40), nasty), { maxLength: 4 }),
      )
      .map(([text, cuts]) =>
        cuts.reduce((rest, [at, length, put]) => {
          const from = at % rest.length
          return rest.slice(0, from) + put + rest.slice(from + length)
        }, text),
      )
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string({ unit: 'binary' })), text => {
        const read = readTemplate(text)
        if (read.ok) instantiate(read.template, {})
        else for (const { line, column } of read.diagnostics) expect(Math.min(line, column)).toBeGreaterThan(0)
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      }),
      { numRuns: 4 * RUNS, seed: 14 },
    )
  })

  test('with parameters of every type refuses values of every other', () => {
    const kinds = PARAMETER_TYPES.map(
      type => `p_${type}: { type: ${type}, about: x${type === 'enum' ? ', values: [a, b]' : ''} }`,
    )
    const read = readTemplate(
      `planfold-template: 2\nname: t\nparameters:\n  ${kinds.join('\n  ')}\nplan:\n  extra: { ${PARAMETER_TYPES.map(type => `${type}: "\${{ params.p_${type} }}"`).join(', ')} }\n  tasks: [{ id: a }]\n`,
    )
    if (!read.ok) throw new Error(JSON.stringify(read.diagnostics))
    const record = fc.record(Object.fromEntries(PARAMETER_TYPES.map(type => [`p_${type}`, anything])), {
      requiredKeys: [],
    })
    fc.assert(
      fc.property(record, given => {
        const made = instantiate(read.template, given as JsonObject)
        if (made.ok) expect(Object.keys(made.definition.extra!)).not.toContain('__proto__')
        else expect(made.diagnostics).toEqual([])
      }),
      { numRuns: 8 * RUNS, seed: 15 },
    )
  })

  test('saved from a plan with a nasty value in it makes the same plan again', () => {
    let saved = 0
    fc.assert(
      fc.property(nasty, nasty, (x, y) => {
        const read = readTemplate(EVERYWHERE)
        if (!read.ok) throw new Error('unreadable')
        const made = instantiate(read.template, { x: `${y} word ${y}`, words: [x] })
        if (!made.ok) return
        const plan = made.definition as PlanDefinition
        const template = saveTemplate(plan, 'again', [['w', 'word']])
        if (template.ok) saved++
        else expect(template.message).toMatch(/does not occur/)
      }),
      { numRuns: 2 * RUNS, seed: 16 },
    )
    expect(saved).toBeGreaterThan(0.4 * RUNS)
  })
})
