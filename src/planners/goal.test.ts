// What is read from the text of a goal, and which kind of goal it is taken for.

import { describe, expect, test } from 'vitest'
import { readGoal, stemOf, wordParts } from './goal.ts'
import { conflictIn, judgeGoal, saysNothing } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'

describe('a goal', () => {
  test('names files, symbols and quoted text', () => {
    const goal = readGoal('Let `parseRow` in src/parse.ts accept "a b", as read_all and Table.rows do')
    expect(goal.files).toEqual(['src/parse.ts'])
    expect(goal.symbols).toEqual(['parseRow', 'read_all', 'Table.rows'])
    expect(goal.quoted).toEqual(['parseRow', 'a b'])
  })

  test('holds stack traces of several languages', () => {
    const frames = (text: string) => readGoal(text).frames
    expect(frames('at parse (/app/src/parse.js:10:5)')).toEqual([{ file: '/app/src/parse.js', line: 10 }])
    expect(frames('File "tally.py", line 14, in average')).toEqual([{ file: 'tally.py', line: 14 }])
    expect(frames('main.go:12 +0x1d')).toEqual([{ file: 'main.go', line: 12 }])
    expect(frames("lib/a.rb:3:in `call'")).toEqual([{ file: 'lib/a.rb', line: 3 }])
  })

  test('names files that are to be left alone', () => {
    const paths = ['src/cart.js', 'src/format.js', 'src/index.js', 'src/old/a.js', 'Makefile', 'test/format.test.js']
    const read = (text: string) => {
      const goal = readGoal(text)
      return { files: goal.files, left: protectedPaths(goal.limits, paths) }
    }
    expect(
      read(
        'Fix the crash in src/cart.js when `node src/index.js` runs. Add an option `--json` to src/index.js. Do not touch src/format.js.',
      ),
    ).toEqual({ files: ['src/cart.js', 'src/index.js'], left: ['src/format.js'] })
    expect(read('Fix src/cart.js, but leave `format.js` alone').left).toEqual(['src/format.js'])
    expect(read('Repariere src/cart.js, ohne src/format.js zu ändern').left).toEqual(['src/format.js'])
    expect(read('Without changing src/format.js, fix src/cart.js')).toEqual({
      files: ['src/cart.js'],
      left: ['src/format.js'],
    })
    expect(read('Fix it. src/format.js and the Makefile must not be changed').left).toEqual([
      'src/format.js',
      'Makefile',
    ])
    expect(read('Fix it. Do not touch src/old/, src/index.js or test/format.test.js.').left).toEqual([
      'src/index.js',
      'src/old/a.js',
      'test/format.test.js',
    ])
    expect(read('Rename `a` to `b` everywhere except in src/format.js').left).toEqual(['src/format.js'])
    // Here something else than the file is meant.
    expect(read('Fix the crash without src/index.js').left).toEqual([])
    expect(read('Add VAT. Do not change the exports of src/cart.js').left).toEqual([])
  })

  test('holds error messages', () => {
    expect(readGoal('It says\nTypeError: x is not a function\nand ends').errors).toEqual([
      'TypeError: x is not a function',
    ])
  })

  test('is looked for by the parts of its words, without endings and small words', () => {
    expect(readGoal('Make the transfers resume').terms.map(({ stem }) => stem)).toEqual(['transf', 'resum'])
    expect(wordParts('parseHTTPHeader_v2')).toEqual(['parse', 'HTTP', 'Header', 'v2'])
    expect(['resuming', 'resumes', 'resumed'].map(stemOf)).toEqual(['resum', 'resum', 'resum'])
  })
})

describe('the kind of a goal', () => {
  const kindOf = (text: string, sourceFiles = 10) => judgeGoal(readGoal(text), { sourceFiles }).kind

  test.each([
    ['Fix the crash when the file is empty', 'bug'],
    ['The test of the parser fails', 'failing-test'],
    ['test_upload is flaky', 'flaky-test'],
    ['Rename `a` to `b`', 'rename'],
    ['Bump lodash to 4.17.21', 'dependency-update'],
    ['Document the retry option', 'docs'],
    ['Why is the cache not used?', 'research'],
    ['Split the parser into two modules', 'refactor'],
    ['Add an endpoint for orders', 'endpoint'],
    ['Listing orders is slow', 'performance'],
    ['Path traversal in the download handler', 'security'],
    ['Add a flag that prints JSON', 'feature'],
    ['improve everything', 'vague'],
    ['', 'vague'],
    // What it forbids does not decide, unless there is nothing else.
    ['Add VAT to `total` in src/cart.js without a new dependency', 'feature'],
    ['Add VAT to `total` in src/cart.js; the tests must not become flaky', 'feature'],
    ['Show the total in dollars. Keep the docs as they are.', 'feature'],
    ['Add a total to each page, and do not rename anything', 'feature'],
    ['Do not touch the docs, fix the crash', 'bug'],
    ['The parser must not crash on an empty file', 'bug'],
    ['The command `list` must not be slow', 'performance'],
  ])('%s: %s', (text, kind) => {
    expect(kindOf(text)).toBe(kind)
  })

  test('where there is no source yet, it is a new project', () => {
    expect(kindOf('Add a flag that prints JSON', 0)).toBe('empty-repository')
  })

  test('may be nothing that anybody could work on', () => {
    const isNothing = (text: string) => saysNothing(readGoal(text), ['src/login.ts'])
    expect(['fix', 'Fix the bug!', 'make it work', 'asdf qwer', '???'].filter(text => !isNothing(text))).toEqual([])
    const said = [
      'login page',
      'add tests',
      'make it better',
      'fix `a`',
      'Greet two people',
      'do not crash',
      '修复登录',
    ]
    expect(said.filter(isNothing)).toEqual([])
  })

  test('two parts about the same thing that want the opposite contradict each other', () => {
    expect(conflictIn('Delete the cache, but keep the cache')).toEqual(['Delete the cache', 'keep the cache'])
    expect(conflictIn('Rename parse without changing parse')).not.toBeNull()
    expect(conflictIn('Delete the cache, and keep the index')).toBeNull()
    expect(conflictIn('Fix the parser without adding a dependency')).toBeNull()
  })

  test('what cannot be taken back is found', () => {
    const words = (text: string) => judgeGoal(readGoal(text), { sourceFiles: 1 }).irreversible.map(({ word }) => word)
    expect(words('Fix it and deploy to production')).toEqual(['deploy'])
    expect(words('Delete all rows of the users table')).toEqual(['delete'])
    expect(words('Delete the unused helper function')).toEqual([])
  })
})
