// The documents keep their word: every plan in them can be read, every link leads somewhere, and what the code can say, the
// documents explain.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT } from '../src/cli/exit.ts'
import { buildProgram } from '../src/cli/program.ts'
import type { Actor } from '../src/domain/id.ts'
import { EFFECT_CLASSES } from '../src/domain/plan.ts'
import { PLAN_STATUSES, TASK_STATUSES } from '../src/domain/status.ts'
import { ANNOUNCED } from '../src/domain/views/announcement.ts'
import { ANNOUNCED_UNDERSCORE } from '../src/extras/compat/sessions/underscore-events.ts'
import { extraCommands, findExtra } from '../src/extras.ts'
import { parsePlan } from '../src/format/plan/parse.ts'
import { checkPlan } from '../src/operations/check-plan.ts'
import { GENESIS, type StoredEntry, sealEntry } from '../src/stores/journal/entry.ts'
import { MIGRATIONS } from '../src/stores/sqlite/schema.ts'
import { numberedPlanId, numberedSha, START } from '../src/testing/index.ts'

/** Some documents show plans in formats of other tools. */
const dialects = await findExtra('dialects')

const EXTRAS = await extraCommands()

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const documents = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...walk('docs'),
  ...walk('examples'),
].filter(file => file.endsWith('.md'))

describe('plans in documents', () => {
  const blocks = documents.flatMap(file => fences(file).filter(({ language }) => language === 'yaml'))

  test.each(blocks.map(block => [`${block.file}:${block.line}`, block.text]))('%s is a plan', (_, text) => {
    expect(faultsOf(text)).toEqual([])
  })

  test('there are some, and every fence says what it holds', () => {
    expect(blocks.length).toBeGreaterThan(5)
    const known = new Set(['yaml', 'text', 'ts', 'python'])
    const odd = documents.flatMap(fences).filter(({ language }) => !known.has(language))
    expect(odd.map(({ file, line, language }) => `${file}:${line} ${language}`)).toEqual([])
  })

  const files = walk('examples').filter(file => file.endsWith('.yaml'))
  test.each(files)('%s is a plan, and opens with what it shows', file => {
    expect(faultsOf(read(file))).toEqual([])
    expect(read(file)).toMatch(/^# \S/)
  })
})

describe('links', () => {
  test('of the README, and of what it links to, lead to files of the npm package', () => {
    const copy = mkdtempSync(join(tmpdir(), 'planfold-pack-'))
    onTestFinished(() => rmSync(copy, { recursive: true }))
    // Without the compiled code, which takes npm long and which no document links to.
    for (const name of readdirSync(root).filter(
      name => !/^(\.git|dist|node_modules|\.bench|src|web|bench|sim)$/.test(name),
    ))
      cpSync(join(root, name), join(copy, name), { recursive: true })
    const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: copy, stdio: 'pipe' })
    const [{ files }] = JSON.parse(String(told)) as [{ files: readonly { path: string }[] }]
    const packed = files.map(({ path }) => path)
    const targets = (file: string) =>
      linksOf(file).map(link => relative(root, resolve(root, dirname(file), link.split('#')[0]!)))
    const first = targets('README.md')
    const all = [...first, ...first.filter(path => path.endsWith('.md')).flatMap(targets)]
    const isPacked = (path: string) => packed.some(one => one === path || one.startsWith(`${path}/`))
    expect([...new Set(all)].filter(path => path !== '' && !isPacked(path))).toEqual([])
  })

  test.each(documents)('those of %s lead somewhere', file => {
    const broken = linksOf(file).filter(link => !leads(file, link))
    expect(broken).toEqual([])
  })
})

describe('nothing is left unsaid', () => {
  test('every name on a stream of events is in its format, or is the type of an event', () => {
    const told = new Set(
      [...read('docs/formats/events.md').matchAll(/^\| `([a-z]+[._]?[a-z_]*)` \|/gm)].map(match => match[1]),
    )
    const journaled = read('docs/formats/journal.md')
    const isTold = (name: string) => told.has(name) || journaled.includes(`| \`${name}\` |`)
    expect([...ANNOUNCED, ...ANNOUNCED_UNDERSCORE].filter(name => !isTold(name))).toEqual([])
  })

  test('the hash of an entry is what the journal format says', () => {
    const plan = numberedPlanId(1)
    const blobs = { putNow: () => numberedSha(2), getNow: () => null }
    const recipe = (previous: string, row: StoredEntry) => {
      const beside = JSON.stringify([plan, row.version, row.at, row.actor, row.fence])
      const content = row.blob === null ? row.body : `blob ${row.blob}`
      return createHash('sha256').update(`${previous}\n${beside}\n${content}`).digest('hex')
    }
    const entry = {
      plan,
      now: 1_700_000_000_000,
      actor: 'Jörg' as Actor,
      fence: null,
      command: START,
    }
    const note = (text: string) => ({ type: 'note.added', text }) as const
    const first = sealEntry(GENESIS, { ...entry, position: 7, version: 1, events: [note('ä')] }, blobs)
    expect(first.hash).toBe(recipe('', first))
    const large = { ...entry, position: 9, version: 2, fence: 3, events: [note('x'.repeat(300_000))] }
    const second = sealEntry(first, large, blobs)
    expect(second.blob).toBe(numberedSha(2))
    expect(second.hash).toBe(recipe(first.hash, second))
  })

  test('every command type has a row in the journal format', () => {
    const types = [...read('src/domain/command.ts').matchAll(/readonly type: '([a-z]+)'/g)].map(match => match[1]!)
    const format = read('docs/formats/journal.md')
    expect(types.filter(type => !new RegExp(`^\\| [^|]*\`${type}\`[^|]*\\|`, 'm').test(format))).toEqual([])
  })

  test('every command of the CLI is in the README, a guide, and the table of JSON answers', () => {
    const program = buildProgram('0', EXTRAS, async () => {})
    const shown = program.createHelp().visibleCommands(program)
    const commands = shown.map(command => command.name()).filter(name => name !== 'help')
    expect(commands.length).toBeGreaterThan(20)
    const guides = ['README.md', ...walk('docs/guide')].map(read).join('\n')
    expect(commands.filter(name => !guides.includes(`planfold ${name}`))).toEqual([])
    const json = read('docs/formats/cli-json.md')
    expect(commands.filter(name => !json.includes(`\`${name}`))).toEqual([])
  })

  test('every table is in the reference of the store', () => {
    const statements = MIGRATIONS.flatMap(({ statements }) => statements).join('\n')
    const tables = [...statements.matchAll(/CREATE (?:TABLE|VIEW) (\w+)/g)].map(match => match[1]!)
    const format = read('docs/formats/store.md')
    expect(tables.filter(name => !format.includes(`\`${name}\``))).toEqual([])
  })

  test('every exit code is in the README', () => {
    const readme = read('README.md')
    expect(Object.values(EXIT).filter(code => !readme.includes(`| ${code} |`))).toEqual([])
  })

  test('the glossary explains our own words, and only those', () => {
    const glossary = read('GLOSSARY.md')
    const listed = [...glossary.matchAll(/^\| ([A-Z][^|]*) \|/gm)].flatMap(([, cell]) =>
      cell!.toLowerCase().split(', '),
    )
    const words =
      'plan revision task gate attempt event entry journal refusal failure visit turn settlement preparation parked dormant ' +
      'owner lease fence claim scope preimage snapshot checkpoint artifact policy session worker'
    expect(words.split(' ').filter(word => !listed.includes(word))).toEqual([])
    expect(listed.length).toBeLessThanOrEqual(60)
    const statuses = [...PLAN_STATUSES, ...TASK_STATUSES, ...EFFECT_CLASSES]
    expect(statuses.filter(word => !glossary.includes(word))).toEqual([])
  })

  test('the map of requirements has every number once', () => {
    const numbers = [...read('docs/requirements-map.md').matchAll(/^\| (\d+) \|/gm)].map(match => Number(match[1]))
    const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1)
    expect(numbers).toEqual([...upTo(174), ...upTo(38)])
  })

  test('the head of the map counts what its rows say', () => {
    const [items] = read('docs/requirements-map.md').split('## Regression tests') as [string, string]
    const rows = [...items.matchAll(/^\| \d+ \|.*$/gm)].map(([row]) => row)
    const states = rows.map(row => /^\| \d+ \| .+? \| (done|part|later) \| .*\|$/.exec(row)?.[1])
    const counted = (state: string) => states.filter(one => one === state).length
    const head = `${counted('done')} done, ${counted('part')} in part, ${counted('later')} later.`
    expect(rows.filter((_, at) => states[at] === undefined)).toEqual([])
    expect(items.match(/^\d+ done, .*$/m)?.[0]).toBe(head)
    expect(items).toContain(`All ${rows.length} items`)
  })

  test('what is called done or in part is shown by something', () => {
    const rows = [...read('docs/requirements-map.md').matchAll(/^\| (\d+) \| .*? \| (?:done|part) \| (.*) \|$/gm)]
    expect(rows.length).toBeGreaterThan(100)
    expect(
      rows
        .filter(([, , shown]) => !/`(src|test|sim|docs|bench)\/|\]\(|npm run|planfold /.test(shown!))
        .map(row => row[0]),
    ).toEqual([])
  })

  test('a regression test that is called done bears its number', () => {
    const [, regressions] = read('docs/requirements-map.md').split('## Regression tests') as [string, string]
    const rows = [...regressions.matchAll(/^\| (\d+) \| .*? \| done \| (.*) \|$/gm)]
    expect(rows.length).toBeGreaterThan(15)
    const unnamed = rows.filter(([, number, shown]) => {
      const files = [...shown!.matchAll(/`([\w./-]+\.ts)`/g)].map(match => match[1]!)
      return !files.some(file => new RegExp(`regression(?: \\d+,)* ${number}\\b`).test(read(file)))
    })
    expect(unnamed.map(([row]) => row)).toEqual([])
  })

  test('only files that exist are named', () => {
    const gone = documents.flatMap(file =>
      [...read(file).matchAll(/`((?:src|test|sim|bench|docs|examples)\/[\w./-]+)`/g)]
        .map(match => match[1]!)
        .filter(named => !existsSync(join(root, named)))
        .map(named => `${file}: ${named}`),
    )
    expect(gone).toEqual([])
  })

  test('decisions are numbered without gaps', () => {
    const numbers = readdirSync(join(root, 'docs/decisions'))
      .map(name => Number.parseInt(name, 10))
      .sort((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
  })
})

interface Fence {
  readonly file: string
  readonly line: number
  readonly language: string
  readonly text: string
}

function fences(file: string): readonly Fence[] {
  const found: Fence[] = []
  const lines = read(file).split('\n')
  for (let at = 0; at < lines.length; at++) {
    const open = /^( *)```(\w*)\s*$/.exec(lines[at]!)
    if (open === null) continue
    const end = lines.findIndex((line, index) => index > at && line.trim() === '```')
    if (end === -1) throw new Error(`${file}:${at + 1}: a fence is never closed`)
    found.push({ file, line: at + 1, language: open[2]!, text: `${lines.slice(at + 1, end).join('\n')}\n` })
    at = end
  }
  return found
}

function faultsOf(text: string): readonly string[] {
  const parsed = parsePlan(text, { check: checkPlan, fallbackName: 'plan', dialects })
  return parsed.ok ? [] : parsed.diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

/** Relative links, outside of code. */
function linksOf(file: string): readonly string[] {
  const prose = read(file)
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1]!).filter(link => !/^[a-z]+:/.test(link))
}

function leads(file: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string | undefined]
  const target = path === '' ? file : relative(root, resolve(root, dirname(file), path))
  if (!existsSync(join(root, target))) return false
  if (anchor === undefined) return true
  const headings = [...read(target).matchAll(/^#+ (.+)$/gm)].map(match => slug(match[1]!))
  return headings.includes(anchor)
}

/** As a reader of Markdown makes an anchor of a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function walk(folder: string): readonly string[] {
  return readdirSync(join(root, folder)).flatMap(name => {
    const path = `${folder}/${name}`
    return statSync(join(root, path)).isDirectory() ? walk(path) : [path]
  })
}
