// Bad input: one screen with position and hint, exit code 2, nothing written.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeAll(async () => {
  here = await place()
})
afterAll(() => here.remove())

const head = 'planfold: 1\nname: bad\n'
const layers = Array.from(
  { length: 9 },
  (_, at) => `x${at + 1}: &x${at + 1} [${Array(9).fill(`*x${at}`).join(', ')}]`,
).join('\n')

const BAD: readonly { readonly what: string; readonly text: string; readonly says: RegExp; readonly file?: string }[] =
  [
    {
      what: 'a cyclic plan',
      text: `${head}tasks:\n  - { id: a, needs: [b] }\n  - { id: b, needs: [a] }\n`,
      says: /:5:\d+: error: dependency cycle: (a → b → a|b → a → b)/,
    },
    {
      what: 'a dangling reference',
      text: `${head}tasks:\n  - id: build\n  - id: test\n    needs: [biuld]\n`,
      says: /:6:\d+: error: .*'biuld'.*[\s\S]*did you mean 'build'\?/,
    },
    { what: 'a duplicate id', text: `${head}tasks:\n  - id: a\n  - id: a\n`, says: /:5:9: error: .*'a'/ },
    { what: 'a wrong type', text: `${head}tasks:\n  - id: a\n    timeout: [1]\n`, says: /:5:14: error: 'timeout'/ },
    {
      what: 'an unknown key',
      text: `${head}tasks:\n  - id: a\n    tiemout: 5s\n`,
      says: /:5:5: error: .*tiemout[\s\S]*timeout/,
    },
    { what: 'tabs as indentation', text: `${head}tasks:\n\t- id: a\n`, says: /:4:1: error: .*tab/ },
    {
      what: 'an alias bomb',
      text: `planfold: 1\nx0: &x0 [lol]\n${layers}\ntasks: []\n`,
      says: /:\d+:\d+: error: .*alias/,
    },
    {
      what: 'a file of 6 MB',
      text: `${head}tasks:\n${'  - id: abcdefghijklmnopqrstuvwxyz\n'.repeat(180_000)}`,
      says: /:1:1: error: .*5 MB/,
    },
    { what: 'an id __proto__', text: `${head}tasks:\n  - id: __proto__\n`, says: /:4:9: error: .*__proto__/ },
    { what: 'a zero limit', text: `${head}concurrency: 0\ntasks:\n  - id: a\n`, says: /:3:14: error: .*at least 1/ },
    {
      what: 'a negative limit',
      text: `${head}tasks:\n  - id: a\n    timeout: -5s\n    retry: { attempts: -1 }\n`,
      says: /:5:14: error: .*-5s[\s\S]*:6:24: error/,
    },
    { what: 'text that is no text', text: '\u0000\u0001', says: /error/ },
    {
      what: 'an escape sequence in an id',
      text: `${head}tasks:\n  - id: "\\e[2J\\e]0;owned\\a"\n`,
      says: /:4:9: error/,
    },
  ]

describe('bad input', () => {
  it.each(BAD)('$what is refused with its place and a hint, and nothing is written', async ({ text, says }) => {
    await here.write('plan.yaml', text)
    const { exit, stdout, stderr } = await here.planfold('run', 'plan.yaml')
    expect(stderr).toMatch(says)
    expect(stderr).toMatch(/hint: \S/)
    expect(stderr.split('\n').length).toBeLessThanOrEqual(24)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: nothing of the plan may steer the terminal.
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]|\bat .*\.js:\d+/)
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(await here.files()).toEqual(['plan.yaml'])
  })

  it('is told to scripts in the envelope, with all diagnostics', async () => {
    await here.write('plan.yaml', `${head}tasks:\n  - id: a\n  - id: b\n    needs: [c]\n`)
    const { exit, stdout, stderr } = await here.planfold('validate', 'plan.yaml', '--json')
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      planfold: 1,
      error: {
        code: 'invalid-plan',
        diagnostics: [{ file: 'plan.yaml', line: 6, severity: 'error', message: expect.stringContaining("'c'") }],
      },
    })
  })

  it('on the command line is met with a suggestion', async () => {
    expect(await here.planfold('statu')).toMatchObject({
      exit: 2,
      stderr: "error: unknown command 'statu'\nhint: did you mean 'status'?\n",
    })
    expect(await here.planfold('run', 'nope.yaml')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("there is no file 'nope.yaml'"),
    })
    expect(await here.planfold('status')).toMatchObject({ exit: 2, stderr: expect.stringContaining('planfold init') })
    expect(await here.planfold('list', '--limit', '-1')).toMatchObject({ exit: 2 })
    expect(await here.planfold('init', '--as', 'a\nb')).toMatchObject({ exit: 2 })
    expect(await here.files()).toEqual(['plan.yaml'])
  })
})

describe('--dir', () => {
  it('that names a project instead of its state folder is refused, and nothing is written into it', async () => {
    const before = await here.files()
    const said = await here.planfold('--dir', '.', 'init')
    expect(said.exit).toBe(2)
    expect(said.stderr).toContain(`--dir ${here.folder}/.planfold`)
    expect(await here.files()).toEqual(before)
    expect(before).not.toContain('.gitignore')
  })
})
