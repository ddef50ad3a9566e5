// Parsers for indented output: Node's `spec`, mocha, RSpec's documentation format, and Go.

import { type Found, summed, type TestSeen, type TestStatus } from './seen-tests.ts'
import { isFileName, nodeCounts } from './tap-and-junit.ts'

interface Group {
  readonly indent: number
  readonly name: string
}
const path = (groups: readonly Group[], name: string): string => [...groups.map(group => group.name), name].join(' > ')
const around = (groups: readonly Group[], indent: number): readonly Group[] =>
  groups.filter(group => group.indent < indent)

const NODE_LINE = /^( *)(▶|✔|✖|﹣|⚠) (.*?)(?: \([\d.]+ms\))?(?: # (SKIP|TODO)\b.*)?$/

export function readNodeSpec(lines: readonly string[]): Found | null {
  const of = (word: string): number | null => summed(lines, new RegExp(`^ℹ ${word} (\\d+)$`))
  if (of('tests') === null) return null
  const tests: TestSeen[] = []
  const broken: string[] = []
  let groups: readonly Group[] = []
  let count = 0
  for (const line of lines) {
    if (line === '✖ failing tests:') break
    const [, space = '', sign, name = '', directive] = NODE_LINE.exec(line) ?? []
    if (sign === undefined) continue
    const indent = space.length
    const closes = sign !== '▶' && groups.some(group => group.indent === indent && group.name === name)
    groups = around(groups, indent)
    if (sign === '▶') groups = [...groups, { indent, name }]
    if (sign === '▶' || closes) {
      count += closes ? 1 : 0
      continue
    }
    const status: TestStatus = directive !== undefined || sign === '﹣' ? 'skipped' : sign === '✔' ? 'passed' : 'failed'
    const isFile = indent === 0 && isFileName(name)
    if (isFile && status === 'failed') broken.push(name)
    else
      tests.push({ name: path(groups, name), file: isFile ? name : null, status, ...(isFile ? { isFile: true } : {}) })
  }
  return {
    tests: tests.map(test => withFile(test, lines)),
    broken,
    groups: count,
    counts: nodeCounts(of, broken.length),
  }
}

/** The file of a failed test is in the summary at the end. */
function withFile(test: TestSeen, lines: readonly string[]): TestSeen {
  if (test.status !== 'failed') return test
  const own = test.name.split(' > ').at(-1)!
  const at = lines.findIndex((line, index) => line.startsWith(`✖ ${own} (`) && /^test at /.test(lines[index - 1] ?? ''))
  const [, file] = /^test at (.*):\d+:\d+$/.exec(lines[at - 1] ?? '') ?? []
  return file === undefined ? test : { ...test, file }
}

export function readMocha(lines: readonly string[]): Found | null {
  const end = lines.findIndex(line => /^ {2}\d+ passing\b/.test(line))
  if (end < 0) return crashedMocha(lines)
  const tests: TestSeen[] = []
  let groups: readonly Group[] = []
  for (const line of lines.slice(0, end)) {
    const [, space = '', sign, name] = /^( {2,})(✔|✓|- |\d+\) )? *(.*?)(?: \(\d+ms\))?$/.exec(line) ?? []
    if (name === undefined || name === '' || (sign === undefined && /^[.!,]+$/.test(name))) continue
    groups = around(groups, space.length)
    if (sign === undefined) groups = [...groups, { indent: space.length, name }]
    else
      tests.push({
        name: path(groups, name),
        file: null,
        status: sign === '- ' ? 'skipped' : /\d/.test(sign) ? 'failed' : 'passed',
      })
  }
  const of = (word: string): number => summed(lines, new RegExp(`^ {2}(\\d+) ${word}\\b`)) ?? 0
  const failed = tests.some(({ status }) => status === 'failed') ? [] : failuresOfMocha(lines.slice(end))
  return {
    tests: [...tests, ...failed],
    counts: { passed: of('passing'), failed: of('failing'), skipped: of('pending') },
  }
}

/** From the list at the end, for reporters that print only dots. */
function failuresOfMocha(lines: readonly string[]): readonly TestSeen[] {
  return lines.flatMap((line, at): readonly TestSeen[] => {
    const [, first] = /^ {2}\d+\) (.*)$/.exec(line) ?? []
    if (first === undefined) return []
    const rest = lines.slice(at + 1, at + 20)
    const last = rest.findIndex(one => one.endsWith(':'))
    const parts = first.endsWith(':') ? [first] : [first, ...rest.slice(0, last + 1)]
    return [{ name: parts.map(part => part.trim().replace(/:$/, '')).join(' > '), file: null, status: 'failed' }]
  })
}

/** Mocha loads all files before the first test, so a load error ends the run. */
function crashedMocha(lines: readonly string[]): Found | null {
  const at = lines.findIndex(line => /^ ?(Exception during run:|Error: No test files found)/.test(line))
  if (at < 0) return null
  const file = lines.slice(at, at + 30).flatMap(
    line =>
      LOADED_BY.exec(line)
        ?.slice(1)
        .find(one => one !== undefined) ?? [],
  )
  return { tests: [], broken: file.slice(0, 1) }
}
const LOADED_BY = /^- (\/\S+)$|imported from (\/\S+)$|^file:\/\/(\/[^\s:]+):\d+$/

export function readRspec(lines: readonly string[]): Found | null {
  const end = lines.findIndex(line => /^\d+ examples?, \d+ failures?/.test(line))
  if (end < 0) return null
  const failed = new Map<string, string>()
  for (const line of lines.slice(end)) {
    const [, file, name] = /^rspec (\S+?)(?::\d+|\[[\d:]+\]) # (.*)$/.exec(line) ?? []
    if (file !== undefined) failed.set(name!, file)
  }
  const documented = fromDocumentation(lines, end)
  const of = (word: string): number => summed(lines, new RegExp(`^\\d+ examples?,.*?\\b(\\d+) ${word}`)) ?? 0
  const all = summed(lines, /^(\d+) examples?, \d+ failures?/) ?? 0
  const listed = documented.length === all ? documented.filter(({ status }) => status !== 'failed') : []
  const broken = lines
    .slice(0, end)
    .flatMap(line => /^An error occurred while loading (\S+?)\.?$/.exec(line)?.[1] ?? [])
  return {
    tests: [...listed, ...[...failed].map(([name, file]): TestSeen => ({ name, file, status: 'failed' }))],
    broken,
    counts: { passed: all - of('failure') - of('pending'), failed: of('failure'), skipped: of('pending') },
  }
}

/** A line is a test if nothing is indented below it. */
function fromDocumentation(lines: readonly string[], end: number): readonly TestSeen[] {
  const known = lines.findIndex(line => /^(Pending:|Failures:|Finished in )/.test(line))
  const stop = known < 0 ? end : known
  const documented: TestSeen[] = []
  let groups: readonly Group[] = []
  for (let at = 0; at < stop; at++) {
    const [, space = '', name = '', mark] = /^( *)(\S.*?)(?: \((FAILED|PENDING)\b.*\))?$/.exec(lines[at]!) ?? []
    if (name === '') continue
    const next = /^( *)\S/.exec(lines[at + 1] ?? '')?.[1]?.length ?? 0
    groups = around(groups, space.length)
    if (next > space.length) groups = [...groups, { indent: space.length, name }]
    else if (space.length > 0) {
      const status = mark === 'FAILED' ? 'failed' : mark === 'PENDING' ? 'skipped' : 'passed'
      documented.push({ name: [...groups.map(group => group.name), name].join(' '), file: null, status })
    }
  }
  return documented
}

const GO_WORDS = {
  PASS: 'passed',
  FAIL: 'failed',
  SKIP: 'skipped',
  pass: 'passed',
  fail: 'failed',
  skip: 'skipped',
} as const

export function readGo(lines: readonly string[]): Found | null {
  if (!lines.some(line => /^(ok {2}|FAIL|\? {3})\t\S+/.test(line))) return null
  const tests: TestSeen[] = []
  let own: TestSeen[] = []
  for (const line of lines) {
    const [, word, name] = /^ *--- (PASS|FAIL|SKIP): (\S+) \(/.exec(line) ?? []
    if (word !== undefined) own.push({ name: name!, file: null, status: GO_WORDS[word as keyof typeof GO_WORDS] })
    const [, how, pack, why = ''] = /^(ok {2}|FAIL)\t(\S+)(.*)$/.exec(line) ?? []
    if (how === undefined) continue
    tests.push(...own.map(test => ({ ...test, name: `${pack}.${test.name}` })))
    const isNamed = how === 'FAIL' ? own.some(({ status }) => status === 'failed') : own.length > 0
    if (!isNamed && !/failed\]$/.test(why)) tests.push(whole(pack!, how === 'FAIL' ? 'failed' : 'passed'))
    own = []
  }
  return { tests, broken: notBuilt(lines) }
}

/** Without `-v`, Go reports only whole packages. */
const whole = (pack: string, status: TestStatus): TestSeen => ({ name: pack, file: null, status, isFile: true })

/** For example `./week_test.go:5:31: undefined: Week`, below a package that failed to build. */
function notBuilt(lines: readonly string[]): readonly string[] {
  const packs = lines.flatMap(line => /^FAIL\t(\S+) \[(?:build|setup) failed\]$/.exec(line)?.[1] ?? [])
  if (packs.length === 0) return []
  const files = lines.flatMap(line => /^(?:vet: )?(\S+\.go):\d+(?::\d+)?: /.exec(line)?.[1] ?? [])
  return files.length === 0 ? packs : files
}

export function readGoEvents(lines: readonly string[]): Found | null {
  const tests: TestSeen[] = []
  const rest: string[] = []
  const failed = new Set<string>()
  for (const line of lines) {
    const event = line.startsWith('{"') ? eventIn(line) : null
    if (event === null) {
      rest.push(line)
      continue
    }
    const { Action: action = '', Package: pack = '', Test: name, Output: output } = event
    if (action === 'build-output' || (output !== undefined && name === undefined)) rest.push((output ?? '').trimEnd())
    const status = Object.hasOwn(GO_WORDS, action) ? GO_WORDS[action as keyof typeof GO_WORDS] : null
    if (status === null || action.toLowerCase() !== action) continue
    if (name !== undefined) tests.push({ name: `${pack}.${name}`, file: null, status })
    else if (status === 'failed' && !failed.has(pack)) tests.push(whole(pack, 'failed'))
    if (status === 'failed') failed.add(pack)
  }
  if (rest.length === lines.length) return null
  const broken = notBuilt(rest)
  const stuck = new Set(rest.flatMap(line => /^FAIL\t(\S+) \[(?:build|setup) failed\]$/.exec(line)?.[1] ?? []))
  return { tests: tests.filter(({ name, isFile }) => isFile !== true || !stuck.has(name)), broken }
}

interface GoEvent {
  readonly Action?: string
  readonly Package?: string
  readonly Test?: string
  readonly Output?: string
}

function eventIn(line: string): GoEvent | null {
  try {
    const read: unknown = JSON.parse(line)
    if (typeof read !== 'object' || read === null || !('Action' in read) || !('Package' in read)) return null
    const texts = Object.entries(read).filter(([, value]) => typeof value === 'string')
    return Object.fromEntries(texts)
  } catch {
    return null
  }
}
