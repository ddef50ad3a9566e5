// Parsers for output with one line per test or file: vitest, jest, pytest, unittest, cargo.

import { type Found, summed, type TestCounts, type TestSeen, type TestStatus, unnamed } from './seen-tests.ts'

const VITEST_SIGNS: { readonly [sign: string]: TestStatus } = {
  '✓': 'passed',
  '×': 'failed',
  '↓': 'skipped',
  '□': 'skipped',
}

/** Verbose output has one line per test; the default has counts per file and names of failures. */
export function readVitest(lines: readonly string[]): Found | null {
  if (!lines.some(line => /^ *Test Files {2}/.test(line))) return null
  const tests = new Map<string, TestSeen>()
  const rest: TestSeen[] = []
  const broken: string[] = []
  for (const line of lines) {
    const [, sign, name] = /^ *(✓|×|↓|□) (?:\|\S+\| )?(\S+\.\w+ > .*?)(?: \d+ms)?$/.exec(line) ?? []
    if (sign !== undefined) tests.set(name!, { name: name!, file: name!.split(' > ')[0]!, status: VITEST_SIGNS[sign]! })
    const [, failed] = /^ *FAIL +(?:\|[^|]+\| +)?(\S+\.\w+.*)$/.exec(line) ?? []
    const [, file] = /^(\S+) \[ .* \]$/.exec(failed ?? '') ?? []
    if (file !== undefined) broken.push(file)
    else if (failed?.includes(' > '))
      tests.set(failed, { name: failed, file: failed.split(' > ')[0]!, status: 'failed' })
    const [, whole, counted = ''] = /^ *[✓❯×↓] (?:\|\S+\| )?(\S+\.\w+) \((\d+ tests?[^)]*)\)/.exec(line) ?? []
    if (whole === undefined) continue
    const of = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(counted)?.[1] ?? 0)
    const skipped = of('skipped') + of('todo')
    rest.push(...unnamed('passed', of('tests?') - of('failed') - skipped, whole), ...unnamed('skipped', skipped, whole))
  }
  return { tests: [...tests.values(), ...rest], broken, counts: printedBy(lines, /^ *Tests {2}(.*) \(\d+\)$/) }
}

/** For example `Tests  1 failed | 3 passed | 1 skipped (5)`; jest uses commas. */
function printedBy(lines: readonly string[], pattern: RegExp): TestCounts | null {
  const totals = lines.flatMap(line => pattern.exec(line)?.[1] ?? [])
  if (totals.length === 0) return null
  const of = (word: string): number => summed(totals, new RegExp(`(\\d+) ${word}`)) ?? 0
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') + of('todo') }
}

const JEST_SIGNS: { readonly [sign: string]: TestStatus } = {
  '✓': 'passed',
  '√': 'passed',
  '✕': 'failed',
  '×': 'failed',
  '○': 'skipped',
  '✎': 'skipped',
}

export function readJest(lines: readonly string[]): Found | null {
  if (!lines.some(line => /^Test Suites: /.test(line))) return null
  const tests = new Map<string, TestSeen>()
  const [broken, passedFiles]: [string[], string[]] = [[], []]
  let file: string | null = null
  let groups: string[] = []
  let isTree = false
  for (const line of lines) {
    const [, how, path] = /^(PASS|FAIL) (?:[^\s/]+ )?(\S+\.\w+)(?: \([\d.]+ m?s\))?$/.exec(line) ?? []
    if (path !== undefined) {
      file = path
      groups = []
      isTree = true
      if (how === 'PASS') passedFiles.push(path)
      continue
    }
    if (file === null || line === '') {
      isTree = false
      continue
    }
    if (line === '  ● Test suite failed to run') broken.push(file)
    const [, bullet] = /^ {2}● (.* › .*|(?!Console$|Test suite failed).*)$/.exec(line) ?? []
    if (bullet !== undefined) {
      const name = [file, ...bullet.split(' › ')].join(' > ')
      tests.set(name, { name, file, status: 'failed' })
      isTree = false
    }
    if (!isTree) continue
    const [, space = '', sign, name = ''] =
      /^( +)(✓|√|✕|×|○|✎)? ?(?:skipped |todo )?(.*?)(?: \([\d.]+ m?s\))?$/.exec(line) ?? []
    if (name === '') continue
    groups = groups.slice(0, space.length / 2 - 1)
    if (sign === undefined) groups.push(name)
    else
      tests.set([file, ...groups, name].join(' > '), {
        name: [file, ...groups, name].join(' > '),
        file,
        status: JEST_SIGNS[sign]!,
      })
  }
  return { tests: [...tests.values()], broken, passedFiles, counts: printedBy(lines, /^Tests: +(.*) total$/) }
}

const PYTEST_WORDS: { readonly [word: string]: TestStatus } = {
  PASSED: 'passed',
  XPASS: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  SKIPPED: 'skipped',
  XFAIL: 'skipped',
}
const PYTEST_END = /^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s/

export function readPytest(lines: readonly string[]): Found | null {
  const end = lines.findLast(line => PYTEST_END.test(line))
  if (end === undefined) return null
  const tests = new Map<string, TestSeen>()
  const [broken, rest]: [string[], TestSeen[]] = [[], []]
  const put = (name: string, word: string): unknown =>
    tests.set(name, { name, file: name.split('::')[0]!, status: PYTEST_WORDS[word]! })
  for (const line of lines) {
    const [, first, before] = /^(\S+?\.py::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b/.exec(line) ?? []
    if (first !== undefined) put(first, before!)
    const [, word, name] =
      /^(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED) (\S+?\.py(?:::.*?)?)(?: - .*)?$/.exec(
        line,
      ) ?? []
    if (name?.includes('::')) put(name, word!)
    else if (word === 'ERROR') broken.push(name!)
    const [, file, signs = ''] = /^(\S+\.py) ([.FEsxX]+)(?: +\[ *\d+%\])?$/.exec(line) ?? []
    if (file !== undefined) rest.push(...unnamed('passed', signs.replace(/[^.X]/g, '').length, file))
  }
  const of = (words: string): number =>
    summed([...(end.matchAll(/\d+ [a-z]+/g) ?? [])].map(String), new RegExp(`^(\\d+) (?:${words})$`)) ?? 0
  const counts = {
    passed: of('passed|xpassed'),
    failed: of('failed|errors?') - broken.length,
    skipped: of('skipped|xfailed'),
  }
  const isListed = [...tests.values()].some(({ status }) => status === 'passed')
  return { tests: [...tests.values(), ...(isListed ? [] : rest)], broken, counts }
}

export function readUnittest(lines: readonly string[]): Found | null {
  const all = summed(lines, /^Ran (\d+) tests? in /)
  if (all === null) return null
  const tests = new Map<string, TestSeen>()
  const broken: string[] = []
  const put = (method: string, id: string, status: TestStatus): void => {
    const module = id.split('.').filter(part => /^[a-z_]/.test(part))
    if (id.includes('_FailedTest')) broken.push(`${(id.split('_FailedTest.')[1] ?? method).replaceAll('.', '/')}.py`)
    else {
      const name = id.endsWith(`.${method}`) ? id : `${id}.${method}`
      const file = `${(id.endsWith(`.${method}`) ? module.slice(0, -1) : module).join('/')}.py`
      tests.set(name, { name, file, status })
    }
  }
  for (const [at, line] of lines.entries()) {
    const [, failed, id] = /^(?:FAIL|ERROR): (\S+) \(([\w.]+)\)/.exec(line) ?? []
    if (failed !== undefined) put(failed, id!, 'failed')
    const [, how] = / \.\.\. (ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)$/.exec(line) ?? []
    const [, method, name] =
      /^(\S+) \(([\w.]+)\)(?:$| )/.exec(line) ?? /^(\S+) \(([\w.]+)\)$/.exec(lines[at - 1] ?? '') ?? []
    if (how === undefined || method === undefined) continue
    put(method, name!, how === 'ok' ? 'passed' : /^(FAIL|ERROR|unexpected)/.test(how) ? 'failed' : 'skipped')
  }
  const of = (words: string): number =>
    summed(lines, new RegExp(`^(?:OK|FAILED) \\(.*?\\b(?<!expected )(?:${words})=(\\d+)`)) ?? 0
  const failed = of('failures') + of('errors') + of('unexpected successes')
  const skipped = of('skipped') + of('expected failures')
  const files = new Set(broken)
  return {
    tests: [...tests.values()],
    broken: [...files],
    counts: { passed: all - failed - skipped, failed: failed - files.size, skipped },
  }
}

export function readCargo(lines: readonly string[]): Found | null {
  const broken = notCompiled(lines)
  if (broken.length === 0 && !lines.some(line => /^test result: /.test(line))) return null
  const tests = lines.flatMap((line): readonly TestSeen[] => {
    const [, name, how] = /^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b/.exec(line) ?? []
    if (name === undefined) return []
    // Doc tests are named by line, which changes with any edit above.
    const stableName = name.replace(/ \(line \d+\)$/, '')
    return [{ name: stableName, file: null, status: how === 'ok' ? 'passed' : how === 'FAILED' ? 'failed' : 'skipped' }]
  })
  return { tests, broken }
}

/** Positions of compilation errors, without warnings. */
function notCompiled(lines: readonly string[]): readonly string[] {
  if (!lines.some(line => /^error: could not compile /.test(line))) return []
  let isError = false
  return lines.flatMap(line => {
    if (/^(error|warning)\b/.test(line)) isError = line.startsWith('error')
    const [, file] = /^ +--> (.*?):\d+:\d+$/.exec(line) ?? []
    return isError && file !== undefined ? [file] : []
  })
}
