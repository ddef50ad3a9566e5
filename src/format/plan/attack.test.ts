import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../domain/cpu-time.fixture.ts'
import { parsePlan } from './parse.ts'

const head = 'planfold: 1\nname: x\n'
const bomb = `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, level) => `a${level + 1}: &a${level + 1} [${Array(9).fill(`*a${level}`).join(', ')}]\n`).join('')}`

/** What is refused, and the sentence that says so. */
const refused: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  ['an alias bomb', `${head}memory:\n${bomb.replace(/^/gm, '  ')}\ntasks: [{id: a}]`, /aliases expand to too much/],
  ['too many aliases', `${head}memory: [&a x, ${Array(10_000).fill('*a').join(', ')}]`, /more than 100 aliases/],
  [
    'a quadratic merge',
    `${head}memory: &a {x: 1}\nartifacts: {<<: [${Array(10_000).fill('*a').join(', ')}]}`,
    /more than 100 aliases/,
  ],
  ['a merge key', `${head}memory: &a {x: 1}\nartifacts: {<<: *a}\ntasks: [{id: a}]`, /merge keys/],
  ['a function tag', `${head}tasks: [{id: !!js/function "function(){}"}]`, /tags such as '!!js\/function'/],
  ['a binary tag', `${head}memory: !!binary "AAAA"\ntasks: [{id: a}]`, /tags such as '!!binary'/],
  ['a local tag', `${head}memory: !evil {a: 1}\ntasks: [{id: a}]`, /tags such as '!evil'/],
  ['a directive', `%YAML 1.1\n---\n${head}tasks: [{id: a}]`, /directives/],
  ['a cyclic anchor', `${head}memory: &a [*a]\ntasks: [{id: a}]`, /contains itself/],
  ['an alias to nothing', `${head}memory: *a\ntasks: [{id: a}]`, /no anchor '&a'/],
  ['a duplicate key', `${head}tasks: [{id: a, id: b}]`, /'id' is there twice/],
  ['a duplicate key in JSON', '{"planfold": 1, "planfold": 1, "tasks": [{"id": "a"}]}', /'planfold' is there twice/],
  ['a tab as indentation', `${head}tasks:\n\t- id: a\n`, /tab is used as indentation/],
  ['1e3 as a name', `${head}tasks: [{id: 1e3}]`, /'id' must be text, not 1e3/],
  ['0o7 as a name', `${head}tasks: [{id: 0o7}]`, /'id' must be text, not 0o7/],
  ['true as a name', `${head}tasks: [{id: true}]`, /'id' must be text, not true/],
  ['a number as a key', `${head}tasks: [{id: a, env: {1: x}}]`, /the key 1 is read as a number/],
  ['6 MB', `${head}goal: ${'x'.repeat(6 * 1024 * 1024)}`, /larger than 5 MB/],
  ['5000 lists in lists', `${head}memory: ${'['.repeat(5000)}`, /nested deeper than 64/],
  [
    '5000 closed lists in lists',
    `${head}memory: ${'['.repeat(5000)}${']'.repeat(5000)}\ntasks: [{id: a}]`,
    /nested deeper than 64/,
  ],
  ['5000 dashes', `${head}memory:\n  ${'- '.repeat(5000)}x`, /nested deeper than 64/],
  [
    '1000 levels of indentation',
    `${head}memory:\n${Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth + 1)}k:\n`).join('')}tasks: [{id: a}]\n`,
    /nested deeper than 64/,
  ],
  [
    '__proto__ as a key',
    '{"planfold": 1, "__proto__": {"admin": true}, "tasks": [{"id": "a"}]}',
    /'__proto__' cannot be a key/,
  ],
  [
    'constructor.prototype',
    `${head}memory: {constructor: {prototype: {x: 1}}}\ntasks: [{id: a}]`,
    /'constructor' cannot be a key/,
  ],
  ['__proto__ as a name', `${head}tasks: [{id: __proto__}]`, /"__proto__" cannot be a name/],
  ['a path as a name', `${head}tasks: [{id: ../../etc/passwd}]`, /cannot be a name/],
  ['a control character in a name', `${head}tasks: [{id: "a\\u0007"}]`, /cannot be a name/],
  ['NUL in a text', `${head}tasks: [{id: a, run: ["a\\0b"]}]`, /NUL character/],
  ['half a character', '{"planfold": 1, "tasks": [{"id": "a", "title": "\\ud800"}]}', /lone surrogate/],
  ['1e999', `${head}memory: 1e999\ntasks: [{id: a}]`, /1e999 is not a number that can be kept/],
  ['NaN', `${head}memory: .nan\ntasks: [{id: a}]`, /\.nan is not a number/],
  ['a number beyond 2^53', `${head}memory: 12345678901234567890\ntasks: [{id: a}]`, /too large to be kept exactly/],
  ['a timeout of 2^53', `${head}tasks: [{id: a, timeout: 9007199254740992ms}]`, /longer than the limit of 30d/],
  ['a negative timeout', `${head}tasks: [{id: a, timeout: -5s}]`, /'-5s' is not a duration/],
  ['a cost that is no number', `${head}tasks: [{id: a, budget: {cost: NaN USD}}]`, /not an amount of money/],
  ['an empty file', '', /document is empty/],
  ['only a comment', '# nothing\n', /document is empty/],
  ['a list', '- a\n- b\n', /a plan file must be a mapping/],
  ['a word', 'hello', /a plan file must be a mapping/],
  ['two documents', `${head}tasks: [{id: a}]\n---\n${head}tasks: [{id: a}]`, /more than one document/],
  ['a huge line of brackets', `${head}${'[],'.repeat(300_000)}`, /./],
  [
    'a huge map with one key twice',
    `${head}memory: {${Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join(', ')}, k0: 2}\ntasks: [{id: a}]`,
    /'k0' is there twice/,
  ],
]

const LIMIT_MS = 200

describe('is refused at once, with a place and a hint', () => {
  test.each(refused)('%s', (_, text, message) => {
    const parsed = parsePlan(text, { fallbackName: 'x' })
    if (parsed.ok) throw new Error('it was accepted')
    const [first] = parsed.diagnostics
    expect(first?.message).toMatch(message)
    expect(first?.hint).toBeTypeOf('string')
    expect(first?.line).toBeGreaterThan(0)
    expect(first?.column).toBeGreaterThan(0)
    expect(cpuMs(() => parsePlan(text, { fallbackName: 'x' }), LIMIT_MS)).toBeLessThan(LIMIT_MS)
  })
})

describe('is understood as it is meant', () => {
  test.each([
    ['no is a word, not false', `${head}tasks: [{id: no}, {id: yes}, {id: on}]`],
    ['a byte order mark', `\uFEFF${head}tasks: [{id: a}]`],
    ['CRLF', `${head}tasks:\n  - id: a\n    run: |\n      ls\n`.replaceAll('\n', '\r\n')],
    ['unicode', `${head}title: "Zeitüberschreitung 🙂 日本語"\ntasks: [{id: a}]`],
    ['a few aliases', `${head}memory: &m {x: [1, 2]}\nartifacts: [*m, *m]\ntasks: [{id: a}]`],
    ['a long line', `${head}goal: ${'x'.repeat(1024 * 1024)}\ntasks: [{id: a}]`],
    ['JSON with tabs', '{\n\t"planfold": 1,\n\t"tasks": [\n\t\t{"id": "a"}\n\t]\n}'],
    ['minus zero as zero', `${head}memory: -0\ntasks: [{id: a}]`],
  ])('%s', (_, text) => {
    const parsed = parsePlan(text, { fallbackName: 'x' })
    expect(parsed.ok ? [] : parsed.diagnostics).toEqual([])
  })

  test('nothing reached Object.prototype', () => {
    for (const [, text] of refused.filter(([what]) => /proto|constructor/.test(what))) parsePlan(text)
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})
