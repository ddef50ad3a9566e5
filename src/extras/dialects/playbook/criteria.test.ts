import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Criterion } from '../../../domain/plan.ts'
import { criterionKind } from '../../../domain/plan-rules/criterion-text.ts'
import { compile, evaluate } from '../../../format/expression/expression.ts'
import { printCriterion, readCriterion } from './criteria.ts'

const known = { outputs: ['sources', 'coverage', 'test-report'], inputs: ['query'], results: ['top10'] }

describe('a sentence that is understood becomes an expression, and is kept', () => {
  test.each([
    ['memory.has_space >= 50MB', 'memory.has_space >= 50000000'],
    ['memory.has_space ≥ 64MiB', 'memory.has_space >= 67108864'],
    ['network.online = true', 'network.online == true'],
    ['>= 5 canonical sources (IETF, official repos)', 'size(outputs.sources) >= 5'],
    ['at least 2 sources', 'size(outputs.sources) >= 2'],
    ['exactly 1 source', 'size(outputs.sources) == 1'],
    ['fewer than 3 sources from one author', 'size(outputs.sources) < 3'],
    ['sources are not empty', 'size(outputs.sources) > 0'],
    ['test-report is empty', "size(outputs['test-report']) == 0"],
    ['top10 is empty', 'has(outputs.top10) && size(outputs.top10) == 0'],
    ['query is not empty', 'size(inputs.query) > 0'],
    ['coverage >= 80', 'outputs.coverage >= 80'],
    ['coverage.lines > 0.8', 'outputs.coverage.lines > 0.8'],
    ['coverage < 5m', 'outputs.coverage < 300000'],
    ['exit code 0', 'exit == 0'],
    ['exits with 2', 'exit == 2'],
  ])('%s', (text, expression) => {
    expect(readCriterion(text, known)).toMatchObject({ type: 'expect', document: { expect: expression, text } })
    expect(compile(expression).ok).toBe(true)
  })

  test('an expression stays what it is', () => {
    expect(readCriterion("stdout.contains('ok') && exit == 0").document).toEqual({
      expect: "stdout.contains('ok') && exit == 0",
    })
  })

  test('what the count does not check is said', () => {
    expect(readCriterion('>= 5 canonical sources (IETF, official repos)', known).unchecked).toBe(
      'canonical (IETF, official repos)',
    )
    expect(readCriterion('at least 2 sources', known).unchecked).toBe(undefined)
  })

  test('it can be false', () => {
    const holds = (text: string, context: object) => {
      const { document } = readCriterion(text, known)
      const compiled = compile((document as { expect: string }).expect)
      const result = compiled.ok ? evaluate(compiled.compiled, context) : null
      return result?.ok ? result.value : null
    }
    expect(holds('>= 2 sources', { outputs: { sources: ['a'] } })).toBe(false)
    expect(holds('>= 2 sources', { outputs: { sources: ['a', 'b'] } })).toBe(true)
    expect(holds('memory.has_space >= 50MB', { memory: { has_space: 49_999_999 } })).toBe(false)
    expect(holds('memory.has_space >= 50MB', { memory: { has_space: 50_000_000 } })).toBe(true)
    // Nobody said how much there is: no verdict, so certainly not true.
    expect(holds('memory.has_space >= 50MB', {})).toBe(null)
    expect(holds('top10 is empty', { outputs: {} })).toBe(false)
    expect(holds('top10 is empty', { outputs: { top10: [] } })).toBe(true)
  })
})

describe('anything else needs a verdict', () => {
  test.each([
    'No critical contradictions across primary sources',
    '>= 2 independent confirmations',
    'Each source has title, link, reason',
    'backwards compatible',
    'plan',
    'true',
    '1 == 1',
    'tasks.other.exit == 0',
    'coverage >= 80%',
    'coverage >= high',
    'latency < 200ms',
    'sources',
    'x is empty',
    '',
    ' ',
    '>= 5',
    '__proto__ is empty',
    'constructor == true',
  ])('%j is prose', text => {
    expect(readCriterion(text, known)).toEqual({ type: 'prose', document: text })
  })

  test('what has no value when it is judged', () => {
    expect(readCriterion('exit code 0', { exit: false }).type).toBe('prose')
    expect(readCriterion('network.online == true', { judged: 'after' }).type).toBe('prose')
    expect(readCriterion('sources are not empty', { ...known, judged: 'before' }).type).toBe('prose')
    expect(readCriterion('tasks.a.exit == 0', { tasks: ['a'] }).type).toBe('expect')
  })
})

describe('a command is one when it was given as one', () => {
  test('as a map', () => {
    expect(readCriterion({ check: 'npm test' }).document).toEqual({ check: 'npm test' })
    expect(readCriterion({ run: ['npm', 'test'], description: 'tests pass' }).document).toEqual({
      check: ['npm', 'test'],
      text: 'tests pass',
    })
    expect(readCriterion({ command: 'make check' }).type).toBe('check')
  })

  test('calls are not a command', () => {
    expect(readCriterion({ command: 'search(query) -> top10' })).toEqual({
      type: 'prose',
      document: 'search(query) -> top10',
    })
  })

  test('a map nobody understands is left for the schema to refuse', () => {
    const odd = { check: 'npm test', unless: 'friday' }
    expect(readCriterion(odd)).toEqual({ type: 'prose', document: odd })
    expect(readCriterion(7)).toEqual({ type: 'prose', document: 7 })
    expect(readCriterion(null)).toEqual({ type: 'prose', document: null })
  })
})

test('each of the three ways is named and explained', () => {
  const all: readonly Criterion[] = [
    { type: 'expect', expression: 'exit == 0' },
    { type: 'check', command: { argv: ['npm', 'test'] } },
    { type: 'prose', text: 'it is pretty' },
  ]
  expect(all.map(criterionKind)).toEqual(['expression', 'command', 'verdict'])
})

test('any text is read to a criterion that compiles or is prose, and prints back to the same', () => {
  const part = fc.constantFrom(
    '>= ',
    '5 ',
    'sources ',
    'is ',
    'not ',
    'empty',
    'exit ',
    'code ',
    '0',
    'memory',
    '.',
    'x',
    '50MB',
    '==',
    'true',
    '(',
    ')',
    "'",
    ' && ',
    'outputs',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(part, { maxLength: 8 }).map(parts => parts.join('')),
  )
  fc.assert(
    fc.property(text, one => {
      const { type, document } = readCriterion(one, known)
      if (type === 'prose') expect(document).toBe(one)
      else {
        const { expect: expression, text: kept } = document as { expect: string; text?: string }
        expect(compile(expression).ok).toBe(true)
        expect(kept ?? expression).toBe(one)
      }
      const criterion = (
        typeof document === 'string'
          ? { type: 'prose', text: document }
          : {
              type: 'expect',
              expression: (document as { expect: string }).expect,
              ...((document as { text?: string }).text === undefined
                ? {}
                : { text: (document as { text: string }).text }),
            }
      ) as Criterion
      expect(printCriterion(criterion, known)).toBe(one)
    }),
    { numRuns: 2_000 },
  )
})
