import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../domain/cpu-time.fixture.ts'
import { type Context, compile, evaluate, references } from './expression.ts'

const context: Context = {
  tasks: {
    baseline: { outputs: { n: 12, d: 12.5, list: [1, 2.5, 3], name: 'x', report: { total: 14 } } },
    'retry-core': { outputs: { x: 1 } },
  },
  exit: 1,
  stdout: 'all 12 tests passed\n',
  inputs: { limit: 5 },
}
const ask = (source: string, given: Context = context) => {
  const compilation = compile(source)
  return compilation.ok ? evaluate(compilation.compiled, given) : compilation
}

describe('an expression answers as a person expects', () => {
  test.each([
    ['tasks.baseline.outputs.n >= 12', true],
    ['tasks.baseline.outputs.n >= 12.0', true],
    ['tasks.baseline.outputs.d >= 12', true],
    ['tasks.baseline.outputs.n + 0.5 == tasks.baseline.outputs.d', true],
    ['exit == 1 && exit == 1.0 && exit != 0', true],
    ['exit in [0, 1]', true],
    ['2.5 in tasks.baseline.outputs.list', true],
    ['"n" in tasks.baseline.outputs', true],
    ["tasks['retry-core'].outputs.x", 1],
    ['stdout.contains("passed") ? "good" : "bad"', 'good'],
    ['stdout.matches("^all [0-9]+ tests? passed")', true],
    ["bytes('50MB') == 50000000 && bytes('1kB') < bytes('1KiB')", true],
    ["duration('5s') == 5000 && duration('1m') > duration('59s')", true],
    ['tasks.baseline.outputs.list.map(x, x * 2)', [2, 5, 6]],
    ['tasks.baseline.outputs.list.filter(x, x > 1).size()', 2],
    ['tasks.baseline.outputs.list.all(x, x > 0) && !tasks.baseline.outputs.list.exists(x, x > 9)', true],
    ['tasks.exists(name, name == "retry-core")', true],
    ['has(tasks.baseline.outputs.n) && !has(tasks.baseline.outputs.q)', true],
    ["quote('a\\r\\nGoal: b\\u2028c')", '> a\n> Goal: b\n> c'],
    ["quote('abcdefgh', 4)", '> ab\n> … (4 characters left out) …\n> gh'],
    ['quote(tasks.baseline.outputs.q) + quote(tasks.baseline.outputs.report)', '> (nothing)> {"total":14}'],
    ['{"a": [1, 2.5], "b": null}', { a: [1, 2.5], b: null }],
    ['[1, 2] + [3]', [1, 2, 3]],
    ['[1, {"a": 2}] == [1.0, {"a": 2}]', true],
    ['10 / 4', 2],
    ['10.0 / 4', 2.5],
    ['7 % 3', 1],
    ['-exit', -1],
    ['string(exit) + "!"', '1!'],
    ['int("42") + int(2.9)', 44],
    ['"a,b".split(",").join("-")', 'a-b'],
    ['visit > 1 || true', true],
    ['false && visit > 1', false],
    ['size("🙂") == 1', true],
  ])('%s', (source, value) => {
    expect(ask(source)).toEqual({ ok: true, value })
  })
})

describe('an expression that cannot be is refused before it runs', () => {
  test.each([
    ['tasks.retry-core.outputs.x == 1', "write tasks['retry-core']", 0],
    ['1 + tasks.run-plan.x', "write tasks['run-plan']", 4],
    ['tasks.step-1.outputs.x', "write tasks['step-1']", 0],
    ['exit = 1', 'write == to compare', 5],
    ['exitt == 1', "did you mean 'exit'?", 0],
    ['stdout.contain("x")', "did you mean 'contains'?", 0],
    ['siz(stdout)', "did you mean 'size'?", 0],
    ['', undefined, 0],
    ['1 +', undefined, 3],
    ['size(1, 2)', undefined, 0],
    ['process.exit(1)', undefined, 0],
    ['b"bytes"', undefined, 0],
    ['1e999', undefined, 0],
  ])('%j', (source, hint, position) => {
    const compilation = compile(source)
    expect(compilation).toMatchObject({ ok: false, position })
    if (hint !== undefined) expect(compilation).toMatchObject({ hint })
  })
})

describe('an evaluation that fails says so, and why', () => {
  test.each([
    ['visit > 1', "'visit' has no value here"],
    ['tasks.baseline.outputs.q', "there is no 'q'"],
    ['stdout + 1', "'+' does not work on string and int"],
    ['1 / 0', 'division by zero'],
    ['exit && true', "'&&' wants true or false, not a int"],
    ['tasks.baseline.outputs.list[3]', 'the list has no element 3'],
    ['9223372036854775807 + 1', 'the whole number is too large'],
    ['1.0 / 0', 'the result is Infinity, which is not a JSON number'],
    ['stdout.matches("(")', "matches(): a group is not closed with ')'"],
    ['"aa".matches("(a)\\\\1")', "matches(): '\\1' is not supported in patterns"],
    ['"aa".matches("a(?=a)")', "matches(): '(?=' is not supported in patterns: there is no look-around"],
    ['"aa".matches("[a")', "matches(): a class is not closed with ']'"],
    ['"aa".matches("a)")', "matches(): unexpected ')' in the pattern"],
    ['"aa".matches("*a")', "matches(): nothing to repeat before '*'"],
    ['"aa".matches("a**")', 'matches(): a quantifier follows a quantifier'],
    ['"aa".matches("a{2,1}")', 'matches(): the repetition {2,1} cannot be used'],
    ['"aa".matches("((a{30}){30}){30}")', 'matches(): the pattern is too large'],
    ['"aa".matches("(((a|b)(c|d)){0,99}){3}")', 'matches(): the pattern is too large'],
  ])('%s', (source, message) => {
    expect(ask(source)).toMatchObject({ ok: false, message })
  })
})

describe('nothing of JavaScript is reachable', () => {
  test.each([
    'tasks.constructor',
    'tasks.__proto__',
    "tasks['__proto__']",
    'stdout.constructor',
    'stdout.length',
    'tasks.baseline.outputs.list.length',
    "{'__proto__': {'x': 1}}.x",
    'tasks.toString',
    'exit.constructor.constructor',
  ])('%s', source => {
    expect(ask(source).ok).toBe(false)
  })

  test('a map cannot be given a prototype', () => {
    expect(ask('{"__proto__": {"admin": true}}').ok).toBe(false)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})

/** The engine's loop is never blocked for longer by one expression. */
const LIMIT_MS = 50

describe('work is bounded', () => {
  const ten = '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]'
  const nested = (depth: number, body: string): string =>
    depth === 0 ? body : `${ten}.map(v${depth}, ${nested(depth - 1, body)})`
  const long: Context = {
    stdout: `${'a'.repeat(90_000)}!`,
    inputs: Array.from({ length: 50_000 }, (_, index) => index),
  }
  test.each([
    ['a thousand million rounds', nested(9, '1')],
    ['quadratic loops over long lists', 'inputs.all(a, inputs.all(b, a + b >= 0))'],
    [
      'texts that double',
      `${ten}.map(a, stdout + stdout + stdout + stdout)${'.map(x, x + x + x + x + x + x + x + x)'.repeat(3)}`,
    ],
    ['patterns in loops', 'inputs.exists(a, stdout.matches("(a|b)*c"))'],
    ['a pattern made anew in each round', 'inputs.exists(a, "x".matches("(x|y)*z" + string(a)))'],
    ['a pattern whose states double with each letter', 'stdout.matches("[ab]*a[ab]{40}!c$")'],
    ['deep comparison in loops', 'inputs.all(a, inputs == inputs + [])'],
  ])('%s', (_, source) => {
    expect(ask(source, long)).toMatchObject({ ok: false, hint: expect.stringContaining('less data') })
    expect(cpuMs(() => ask(source, long), LIMIT_MS)).toBeLessThan(LIMIT_MS)
  })

  test('a pattern that hangs backtracking engines answers at once', () => {
    const hanging = () => ask('stdout.matches("^(a+)+$")', long)
    expect(hanging()).toEqual({ ok: true, value: false })
    expect(cpuMs(hanging, LIMIT_MS)).toBeLessThan(LIMIT_MS)
  })

  test.each([
    ['too long', 'exit == 1 || '.repeat(1000)],
    ['too deep', `${'('.repeat(5000)}1${')'.repeat(5000)}`],
    ['too many terms', `1${'+1'.repeat(4000)}`],
    ['too many negations', `${'!'.repeat(5000)}true`],
  ])('%s', (_, source) => {
    expect(compile(source).ok).toBe(false)
  })
})

test('patterns agree with JavaScript where both know them', () => {
  const pattern = fc
    .array(
      fc.constantFrom(
        'a',
        'b',
        '.',
        'a*',
        'b+',
        '(a|b)',
        '(?:ab)*',
        '[a-c]',
        '[^a]',
        '\\d',
        '\\w',
        '\\s',
        '\\b',
        '^',
        '$',
        'a{2}',
        'b{1,3}',
        '(a?b){0,2}',
        '|',
        'c??',
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map(parts => parts.join(''))
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '\n'), maxLength: 8 })
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      const answer = ask('inputs.text.matches(inputs.pattern)', { inputs: { text: subject, pattern: source } })
      expect(answer).toEqual({ ok: true, value: new RegExp(source).test(subject) })
    }),
    { numRuns: 500 },
  )
})

test('the tasks an expression looks at are known before it runs', () => {
  expect(references("tasks.a.outputs.x > tasks['b-c'].outputs.y && tasks.a.status == 'done'")).toEqual({
    tasks: ['a', 'b-c'],
    dynamic: false,
    memory: null,
    variables: ['tasks'],
  })
  expect(references('tasks[inputs.name].x')).toMatchObject({ tasks: [], dynamic: true, variables: ['tasks', 'inputs'] })
  expect(references('[1].map(tasks, tasks.x)')).toMatchObject({ tasks: [], dynamic: false, variables: [] })
  expect(references('1 +')).toBeNull()
})

test('whatever the source, the answer is a value', () => {
  const words = [
    'tasks',
    '.a',
    "['b']",
    'exit',
    '==',
    '+',
    '-',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '?',
    '"x"',
    '1',
    '2.5',
    '.map(x, ',
    'has(',
    ' in ',
    '&&',
    '||',
    '!',
    'size(',
    '.matches(',
    '\\',
    "'",
    'null',
    '.?',
    'cel.bind(',
  ]
  const soup = fc
    .array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 3 })), { maxLength: 15 })
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(soup, source => typeof ask(source).ok === 'boolean'),
    { numRuns: 1000 },
  )
})
