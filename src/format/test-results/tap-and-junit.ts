// Parsers for two common formats: TAP, also as nested by Node's runner, and JUnit XML.

import { type Found, summed, TESTS_MAX, type TestSeen, type TestStatus } from './seen-tests.ts'

const POINT = /^( *)(not ok|ok)\b *\d* *(?:- )?(.*?)(?: # (SKIP|TODO)\b.*)?$/i

export function readTap(lines: readonly string[]): Found | null {
  if (!lines.some(line => /^(TAP version \d+|1\.\.\d+)$/.test(line)) || !lines.some(line => POINT.test(line)))
    return null
  const tests: TestSeen[] = []
  const broken: string[] = []
  let groups: { readonly indent: number; readonly name: string }[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const [, before, title] = /^( *)# Subtest: (.*)$/.exec(line) ?? []
    if (title !== undefined) {
      groups = [...groups.filter(({ indent }) => indent < before!.length), { indent: before!.length, name: title }]
      continue
    }
    const [, space = '', result, name = '', directive] = POINT.exec(line) ?? []
    if (result === undefined) continue
    groups = groups.filter(({ indent }) => indent < space.length)
    const about = detailsAfter(lines, at, space.length)
    at += about.length
    if (about.includes("type: 'suite'")) continue
    const status: TestStatus = directive !== undefined ? 'skipped' : result.toLowerCase() === 'ok' ? 'passed' : 'failed'
    const [, file] = /^location: '(.*?):\d+:\d+'$/.exec(about.find(one => one.startsWith('location: ')) ?? '') ?? []
    if (groups.length === 0 && isFileName(name) && status === 'failed') broken.push(name)
    else
      tests.push({
        name: [...groups.map(group => group.name), name].join(' > ').replaceAll('\\#', '#').replaceAll('\\\\', '\\'),
        file: groups.length === 0 && isFileName(name) ? name : (file ?? null),
        status,
        ...(groups.length === 0 && isFileName(name) ? { isFile: true } : {}),
      })
  }
  const of = (word: string): number | null => summed(lines, new RegExp(`^# ${word}\\s+(\\d+)$`))
  return { tests, broken, counts: nodeCounts(of, broken.length) }
}

function detailsAfter(lines: readonly string[], at: number, indent: number): readonly string[] {
  if (lines[at + 1]?.trim() !== '---' || !lines[at + 1]!.startsWith(' '.repeat(indent))) return []
  const end = lines.slice(at + 1, at + 1 + DETAILS_MAX).findIndex(line => line.trim() === '...')
  return end < 0 ? [] : lines.slice(at + 1, at + 2 + end).map(line => line.trim())
}
const DETAILS_MAX = 500

/** Node reports a file that it ran as one test by its path. */
export const isFileName = (name: string): boolean => /^\S*\.[cm]?[jt]sx?$/.test(name)

/** The totals of Node's runner. Tests marked `todo` do not count as failures. */
export function nodeCounts(of: (word: string) => number | null, broken: number): Found['counts'] {
  const [passed, failed] = [of('pass'), of('fail')]
  if (passed === null || failed === null) return null
  return { passed, failed: failed + (of('cancelled') ?? 0) - broken, skipped: (of('skipped') ?? 0) + (of('todo') ?? 0) }
}

/** All `<testcase>` elements of one or more documents, at any depth. */
export function readJunit(_lines: readonly string[], text: string): Found | null {
  if (!/<testsuites?[\s>]/.test(text)) return null
  const tests: TestSeen[] = []
  const broken: string[] = []
  for (
    let at = text.indexOf('<testcase');
    at >= 0 && tests.length < TESTS_MAX;
    at = text.indexOf('<testcase', at + 1)
  ) {
    const [whole, attributes = ''] = TAG.exec(text.slice(at, at + TAG_MAX)) ?? ['']
    const after = text.slice(at + whole.length, at + whole.length + BODY_MAX)
    const body = attributes.endsWith('/') ? '' : after.split(/<\/testcase>|<testcase\b/, 1)[0]!
    const [name = '', group = '', file = null] = ['name', 'classname', 'file'].map(key => attributeOf(attributes, key))
    const status: TestStatus = /<(failure|error)\b/.test(body)
      ? 'failed'
      : /<skipped\b/.test(body)
        ? 'skipped'
        : 'passed'
    if (isFileName(name ?? '') && status === 'failed') broken.push(name!)
    else
      tests.push({
        name: [group, name].filter(part => part !== null && part !== '').join(' > '),
        file: file ?? (isFileName(name ?? '') ? name : null),
        status,
        ...(isFileName(name ?? '') ? { isFile: true } : {}),
      })
  }
  return { tests, broken }
}

const TAG = /^<testcase\b((?:[^>"]|"[^"]*")*)>/
const TAG_MAX = 2_000
const BODY_MAX = 2_000

function attributeOf(attributes: string, key: string): string | null {
  const [, value] = new RegExp(`(?:^|\\s)${key}="([^"]*)"`).exec(attributes) ?? []
  return value === undefined
    ? null
    : value.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name])
}
const ENTITIES = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' } as const
