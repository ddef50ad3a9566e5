import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../domain/cpu-time.fixture.ts'
import { type Call, matrixOf, readPipeline, resultsOf, unproduced, type Value } from './pipeline.ts'

const calls = (text: string): readonly Call[] => {
  const pipeline = readPipeline(text)
  if (!pipeline.ok) throw new Error(`prose: ${text}`)
  return pipeline.calls
}

describe('calls', () => {
  test('name their results and hand them on', () => {
    expect(calls('search(query) -> top10; fetch(top10) -> docs\n  rank(docs)->best;')).toEqual([
      { run: false, name: 'search', args: [{ key: null, value: { type: 'name', name: 'query' } }], result: 'top10' },
      { run: false, name: 'fetch', args: [{ key: null, value: { type: 'name', name: 'top10' } }], result: 'docs' },
      { run: false, name: 'rank', args: [{ key: null, value: { type: 'name', name: 'docs' } }], result: 'best' },
    ])
  })

  test('take text, numbers, words and lists, by position or by key', () => {
    const [call] = calls('web.fetch("a; b) -> \\"c\\"", 2, -1.5, true, null, order=newest, tags: [x, ["y", 1]])')
    expect(call?.args.map(({ key, value }) => [key, plain(value)])).toEqual([
      [null, 'a; b) -> "c"'],
      [null, 2],
      [null, -1.5],
      [null, true],
      [null, null],
      ['order', 'newest'],
      ['tags', ['x', ['y', 1]]],
    ])
  })

  test('a run over lists is a matrix; a list elsewhere is a value', () => {
    expect(matrixOf(calls('run load(gen: [light, heavy], burst: [on, off], seed: 1)'))).toEqual({
      gen: ['light', 'heavy'],
      burst: ['on', 'off'],
    })
    expect(matrixOf(calls('fetch(urls: [a, b])'))).toBe(null)
    expect(matrixOf(calls('run a(x: [1]); run b(x: [2])'))).toEqual({ x: [1], b_x: [2] })
    expect(matrixOf(calls('run a(__proto__: [1], constructor: [2])'))).toBe(null)
  })

  test('a result used before it is produced is found', () => {
    const pipeline = calls('fetch(links) -> docs; search(query) -> links; rank(docs, order)')
    expect(resultsOf(pipeline)).toEqual(['docs', 'links'])
    expect(unproduced(pipeline, name => ['query', 'order'].includes(name))).toEqual([
      { name: 'links', call: 'fetch', later: 'search' },
    ])
    expect(unproduced(pipeline, name => ['links', 'order'].includes(name))).toEqual([
      { name: 'query', call: 'search', later: null },
    ])
  })
})

describe('prose', () => {
  test.each([
    'derive strategies A/B/C from notes; compare tradeoffs -> table',
    'run tests; run canary; compare error rates',
    'modify client; add retry middleware; unit + integration tests',
    'search(query) -> top10; then read them',
    'rm -rf /',
    'echo $(whoami)',
    'search(query',
    'search(query))',
    'search(query) -> ',
    'search(query) fetch(top10)',
    'search("open)',
    'f(1e999)',
    'f(a b)',
    'f(,)',
    'f([1,])',
    '',
    ' ;\n; ',
    `f(${'['.repeat(9)}${']'.repeat(9)})`,
  ])('%j is prose, never calls', text => {
    expect(readPipeline(text)).toEqual({ ok: false })
  })
})

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,8}$/)
const word = name.filter(one => !['true', 'false', 'null'].includes(one))
const { value } = fc.letrec<{ value: Value }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word.map((one): Value => ({ type: 'name', name: one })),
    fc
      .oneof(
        fc.string({ unit: 'binary' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      )
      .map((one): Value => ({ type: 'literal', value: one === 0 ? 0 : one })),
    fc.array(tie('value'), { maxLength: 3 }).map((items): Value => ({ type: 'list', items })),
  ),
}))
const call: fc.Arbitrary<Call> = fc.record({
  run: fc.boolean(),
  name,
  args: fc.array(fc.record({ key: fc.option(name), value }), { maxLength: 4 }),
  result: fc.option(name),
})

describe('whatever the text', () => {
  test('what is printed reads back as the same calls', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), list => {
        expect(readPipeline(printPipeline(list))).toEqual({ ok: true, calls: list })
      }),
      { numRuns: 1_000 },
    )
  })

  test('reading answers, and what it reads it can print', () => {
    const part = fc.constantFrom(
      'run ',
      'f',
      '(',
      ')',
      '[',
      ']',
      ',',
      '->',
      ';',
      '\n',
      ' ',
      '"',
      "'",
      '\\',
      '=',
      ':',
      '1',
      '-',
      'e9',
      'true',
      '\0',
      'é',
      '__proto__',
    )
    // A pipeline in which one place was broken, or not.
    const mutated = fc
      .tuple(fc.array(call, { minLength: 1, maxLength: 2 }), fc.nat(200), fc.oneof(part, fc.constant('')), fc.nat(2))
      .map(([list, at, put, cut]) => {
        const text = printPipeline(list)
        return text.slice(0, at) + put + text.slice(at + cut)
      })
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 30 }).map(parts => parts.join('')),
      mutated,
    )
    let read = 0
    fc.assert(
      fc.property(text, one => {
        const pipeline = readPipeline(one)
        if (!pipeline.ok) return
        read++
        expect(readPipeline(printPipeline(pipeline.calls))).toEqual(pipeline)
      }),
      { numRuns: 5_000 },
    )
    expect(read).toBeGreaterThan(100)
  })

  test('the work grows with the text and nothing else', () => {
    const hostile = [
      'f('.repeat(50_000),
      `f(${'a,'.repeat(49_000)}`,
      `f(${'"\\'.repeat(30_000)}`,
      ' '.repeat(99_999),
      `${'f(a)->b;'.repeat(12_000)}!`,
      'a'.repeat(99_999),
      '-'.repeat(99_999),
      `f(${'['.repeat(90_000)}`,
    ]
    const spent = cpuMs(() => {
      for (const text of hostile) expect(readPipeline(text)).toEqual({ ok: false })
    }, 2_000)
    expect(spent).toBeLessThan(2_000)
  })
})

function plain(value: Value): unknown {
  if (value.type === 'list') return value.items.map(plain)
  return value.type === 'name' ? value.name : value.value
}

function printPipeline(calls: readonly Call[]): string {
  return calls
    .map(({ run, name, args, result }) => {
      const inside = args.map(({ key, value }) => `${key === null ? '' : `${key}: `}${printValue(value)}`).join(', ')
      return `${run ? 'run ' : ''}${name}(${inside})${result === null ? '' : ` -> ${result}`}`
    })
    .join('; ')
}

function printValue(value: Value): string {
  switch (value.type) {
    case 'name':
      return value.name
    case 'list':
      return `[${value.items.map(printValue).join(', ')}]`
    case 'literal':
      return typeof value.value === 'string' ? quoted(value.value) : String(value.value)
    default:
      return value satisfies never
  }
}

function quoted(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
  return `"${escaped}"`
}
