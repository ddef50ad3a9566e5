// What is read from the text of a goal, and which kind of goal it is taken for.

import { describe, expect, test } from 'vitest'
import { readGoal, stemOf, wordParts } from './goal.ts'
import { conflictIn, judgeGoal, saysNothing } from './goal-kind.ts'
import { protectedPaths, sparedParts } from './goal-limits.ts'

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
    const left = (text: string) => read(text).left.join(' ')
    const old = 'src/old/a.js'
    expect(left('Fix it. Do not touch the src/old folder')).toBe(old)
    expect(left('Fix it, but leave `src/old` alone')).toBe(old)
    expect(left('Fix it. Do not modify anything under src/old/**')).toBe(old)
    expect(left('Fix it. Do not touch *.test.js files')).toBe('test/format.test.js')
    expect(left('Fix it. Do not touch the test directory')).toBe('test/format.test.js')
    expect(left('Fix all of it, but not in src/old')).toBe(old)
    expect(left('Behebe es. Fass src/format.js nicht an')).toBe('src/format.js')
    expect(left('Behebe es, aber ändere src/format.js nicht')).toBe('src/format.js')
    expect(left('Corrige le bug. Ne touche pas à src/format.js')).toBe('src/format.js')
    expect(left('Corrige el error. No toques src/format.js')).toBe('src/format.js')
    expect(left('Corrija o erro sem mexer em src/format.js')).toBe('src/format.js')
    // Here something else than the file is meant.
    expect(left('Fix the test of the parser without a new folder')).toBe('')
    expect(read('Fix the crash without src/index.js').left).toEqual([])
    expect(read('Add VAT. Do not change the exports of src/cart.js').left).toEqual([])
    expect(read('Add VAT. Do not touch the public API in src/cart.js').left).toEqual(['src/cart.js'])
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
  test('is not asked for when something works wrongly: a test shows it first', () => {
    const goal = readGoal("Don't make unnecessary requests")
    const { kind, rival } = judgeGoal(goal, { sourceFiles: 10 })
    expect([kind, rival?.kind, rival?.isEqual]).toEqual(['bug', 'refactor', false])
  })

  const judged = (text: string, known = {}) =>
    judgeGoal(readGoal(text), { sourceFiles: 10, dependencies: ['lodash', 'left-pad'], ...known })
  const kindOf = (text: string, known = {}) => judged(text, known).kind

  test.each([
    ['bug', 'Fix the crash when the file is empty'],
    ['bug', 'the date parser breaks on 29 February'],
    ['bug', 'The parser loses the last row'],
    ['bug', 'parse_date should not drop the table header'],
    ['bug', 'Row count is wrong after a reload'],
    ['bug', 'TypeError: x is not a function'],
    ['bug', 'fix fast path for -w'],
    ['bug', 'fix: accept tabs'],
    ['bug', 'Avoid a crash when two workers start'],
    ['failing-test', 'The test of the parser fails'],
    ['failing-test', 'Make the tests pass'],
    ['failing-command', 'the lint job fails in CI'],
    ['failing-command', 'make the CI green'],
    ['failing-command', 'fix the type errors'],
    ['failing-command', 'The build is broken'],
    ['failing-command', 'go vet fails'],
    ['failing-command', 'mypy complains about the parser'],
    ['flaky-test', 'test_upload is flaky'],
    ['rename', 'Rename `a` to `b`'],
    ['dependency-update', 'Bump lodash to 4.17.21'],
    ['dependency-update', 'npm audit says lodash is vulnerable'],
    ['dependency-update', 'lodash has a known vulnerability, upgrade it to 4.17.21'],
    ['dependency-update', 'Update lodash, npm audit complains'],
    ['dependency-update', 'Update all dependencies'],
    ['dependency-update', 'Upgrade to the latest version'],
    ['docs', 'Document the retry option'],
    ['docs', 'update README'],
    ['docs', 'fix typo'],
    ['tests', 'Add tests for the parser'],
    ['research', 'Why is the cache not used?'],
    ['research', 'Find out whether the cache or the database is slow'],
    ['refactor', 'Split the parser into two modules'],
    ['refactor', 'Remove the unused function neg'],
    ['refactor', 'Improve readability of the parser'],
    ['refactor', 'clean up old comments'],
    ['rename', 'refactor: Rename cwd as base'],
    ['chore', 'Add Ruby 3.4 to the CI left-pad'],
    ['dependency-update', 'Upgrade TypeScript to v5.9.2'],
    ['bug', 'Das Feld lehnt gültige Adressen ab (z. B. eine mit Port). Bitte korrigieren.'],
    ['bug', 'Die Links funktionieren nicht, wenn der Pfad Leerzeichen enthält'],
    ['endpoint', 'Add an endpoint for orders'],
    ['endpoint', 'Add GET /health'],
    ['performance', 'Listing orders is slow'],
    ['performance', 'speed up startup'],
    ['security', 'Path traversal in the download handler'],
    ['feature', 'Add a flag that prints JSON'],
    ['feature', 'Add additional flake8 plugins'],
    ['feature', 'Add modern CSRF protection to the middleware'],
    ['feature', 'Add retry to the webhook sender'],
    ['feature', 'Bump the timeout from 5 to 10 seconds'],
    ['feature', 'Can you add a --verbose flag?'],
    ['rollout', 'Deploy with a canary at 5 % and compare error rates'],
    ['vague', 'improve everything'],
    ['vague', 'make it better'],
    ['vague', ''],
    // A weak word does not outweigh that something works wrongly.
    ['bug', 'Use the locale passed to format() instead of the global one'],
    ['bug', 'Use `Object.hasOwn` instead of `hasOwnProperty` since it throws on null-prototype objects'],
    ['bug', "Don't duplicate query parameters when following a redirect"],
    ['bug', 'Remove duplicate entries from the result of glob()'],
    ['bug', 'Replace naive datetime with UTC; the current output is off by one hour'],
    ['bug', 'Convert empty strings to null instead of throwing'],
    ['bug', 'Move cursor to end of line does not work on Windows'],
    ['bug', 'Extract returns wrong file names'],
    ['bug', 'Rename collides when the file exists'],
    ['bug', 'Cleanup of temp files is not done when the process is killed'],
    ['refactor', 'Use f-strings everywhere'],
    ['refactor', 'Use `const` instead of `let`'],
    ['refactor', 'Use a shared helper for path joining'],
    ['refactor', "Don't duplicate the parsing code in cli.ts and server.ts"],
    ['refactor', 'Remove duplicated imports'],
    ['refactor', 'Replace the parser with a generated one'],
    ['refactor', 'Simplify the error message when a key is missing'],
    // What it forbids does not decide, unless there is nothing else.
    ['feature', 'Add VAT to `total` in src/cart.js without a new dependency'],
    ['feature', 'Add VAT to `total` in src/cart.js; the tests must not become flaky'],
    ['feature', 'Show the total in dollars. Keep the docs as they are.'],
    ['feature', 'Add a total to each page, and do not rename anything'],
    ['bug', 'Do not touch the docs, fix the crash'],
    ['bug', 'The parser must not crash on an empty file'],
    ['performance', 'The command `list` must not be slow'],
    // Verbs in German, French, Spanish and Portuguese.
    ['bug', 'Behebe den Absturz beim Start'],
    ['feature', 'Fuege eine Option --json hinzu'],
    ['refactor', 'Ungenutzte Funktion entfernen'],
    ['rename', 'Benenne parse in readLine um'],
    ['docs', 'README aktualisieren'],
    ['docs', 'Dokumentiere die Option --by'],
    ['bug', 'Corriger le plantage au demarrage'],
    ['feature', 'Ajoute une option --json'],
    ['rename', 'Renommez parse en readLine'],
    ['dependency-update', 'Mets à jour lodash'],
    ['bug', 'Arregla el fallo al iniciar'],
    ['feature', 'Añade una opción --json'],
    ['refactor', 'Eliminar la función sin usar'],
    ['bug', 'Corrija o erro no parser'],
    ['feature', 'Adicionar uma opção --json'],
    ['docs', 'Documente a opção --by'],
  ])('%s: %s', (kind, text) => {
    expect(kindOf(text)).toBe(kind)
  })

  test('it is told what speaks for it, and what else might', () => {
    expect(judged('Fix the crash').because).toBe("its verb is 'fix', it says 'crash'")
    expect(judged('Fix the crash').rival).toBeNull()
    expect(judged('Add tests for the cart to the README').rival).toMatchObject({ kind: 'tests', isEqual: true })
    expect(judged('Add a request without headers').constraints).toEqual([])
  })

  test('it is vague only where no file stands out either', () => {
    expect([kindOf('improve the parser'), kindOf('improve the parser', { isPlaced: true })]).toEqual([
      'vague',
      'feature',
    ])
    expect(kindOf('make it better', { isPlaced: true })).toBe('vague')
  })

  test('what is not known is to be found out, and limits nothing', () => {
    const unknown = (text: string) => judged(text).unknowns
    expect(unknown("The upload sometimes hangs, and I don't know why")).toEqual(['why the upload sometimes hangs'])
    expect(unknown('Find out why the import fails and fix it')).toEqual(['why the import fails'])
    expect(unknown('Fix the total. Not sure if the cart or the tax is wrong.')).toEqual([
      'if the cart or the tax is wrong',
    ])
    expect(unknown('Check if the file exists before it is read')).toEqual([])
    expect(judged("The upload hangs. I don't know why.").constraints).toEqual([])
  })

  test('a deadline is read where it is a whole date', () => {
    const until = (text: string) => judged(text).deadline
    expect(until('Add totals by Friday')).toEqual({ said: 'by Friday', at: null })
    expect(until('Add totals before 1 June')).toEqual({ said: 'before 1 June', at: null })
    expect(until('Add totals until 2026-12-01')).toEqual({ said: 'until 2026-12-01', at: '2026-12-01' })
    expect(until('Add totals by June 1st, 2027.')?.at).toBe('2027-06-01')
    expect(until('Ergänze Summen bis zum 24. Dezember 2026')?.at).toBe('2026-12-24')
    const others = [
      'Add totals by 10 %',
      'Show records created before 2020-01-01',
      'Sort by May',
      'Round by 2 decimals',
    ]
    expect(others.filter(text => until(text) !== null)).toEqual([])
  })

  test('where there is no source yet, it is a new project', () => {
    expect(kindOf('Add a flag that prints JSON', { sourceFiles: 0 })).toBe('empty-repository')
  })

  test('may be nothing that anybody could work on', () => {
    const isNothing = (text: string) => saysNothing(readGoal(text), ['src/login.ts'])
    expect(
      ['fix', 'Fix the bug!', 'make it work', 'asdf qwer', 'foo bar baz', 'refactor', 'the', '???'].filter(
        text => !isNothing(text),
      ),
    ).toEqual([])
    const said = [
      'login page',
      'add tests',
      'make it better',
      'fix `a`',
      'Greet two people',
      'do not crash',
      '修复登录',
      'fix typo',
      'update README',
      'speed up startup',
      'Behebe Absturz',
    ]
    expect(said.filter(isNothing)).toEqual([])
  })

  test('two parts about the same thing that want the opposite contradict each other', () => {
    expect(conflictIn('Delete the cache, but keep the cache')).toEqual(['Delete the cache', 'keep the cache'])
    expect(conflictIn('Rename parse without changing parse')).not.toBeNull()
    expect(conflictIn('Delete the cache, and keep the index')).toBeNull()
    expect(conflictIn('Fix the parser without adding a dependency')).toBeNull()
  })
})

test.each([
  ['Rename a to b. Do not touch the tests or the changelog.', ['tests', 'changelog']],
  ['Beschleunige den Import, ohne die Tests zu ändern', ['tests']],
  ['Add an option, but leave the docs alone', ['docs']],
  ['Add an option. Do not change the docs command', []],
  ['Do not change the names of the tests', []],
])('%s: spares %j', (goal, parts) => {
  expect(sparedParts(readGoal(goal).limits)).toEqual(parts)
})

test.each([
  ['Drop Python 3.8', 'chore'],
  ['update actions/checkout to v5', 'chore'],
  ['bump min Go to 1.24, drop Go 1.23 from CI', 'chore'],
  ['update @types/node to v20', 'dependency-update'],
  ['Die Tests schlagen fehl', 'failing-test'],
  ['Fix the crash on Python 3.8', 'bug'],
])('%s: %s', (goal, kind) => {
  expect(judgeGoal(readGoal(goal), { sourceFiles: 3 }).kind).toBe(kind)
})
