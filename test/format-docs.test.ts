// The tables in docs/formats follow the code: routes are printed from the table of routes; of events and keys of a plan file, the names and
// their order, and what people wrote about each stays. `npm run docs` writes the tables anew.
// Needs the extras: agents

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { Event } from '../src/domain/event.ts'
import { EVENT_FAMILIES } from '../src/domain/events/event-table.ts'
import { agentRow } from '../src/extras/agents/agent-settings.ts'
import { planKeys, taskKeys } from '../src/format/plan/schema.ts'
import { listRoutes } from '../src/server/routes/route-list.ts'
import { routesList } from '../src/server/routes-list.fixture.ts'

const ROUTES = await listRoutes()

const formats = resolve(import.meta.dirname, '../docs/formats')
const journals = resolve(import.meta.dirname, 'fixtures/journals')
const NAME = /`([^`]+)`/g

test('the document lists every route there is', () => {
  checkPage('http.md', text =>
    text.replace(
      /(<!-- routes: begin -->\n)[\s\S]*(<!-- routes: end -->)/,
      (_, begin: string, end: string) => `${begin}\n${routesList(ROUTES)}\n${end}`,
    ),
  )
})

test('the tables of events have a row for each, in the order of the code', () => {
  checkPage('journal.md', text =>
    Object.entries(EVENT_FAMILIES).reduce((page, [heading, family]) => {
      const rows = new Map(rowsIn(section(page, `### ${heading}`)).map(row => [namesIn(row)[0], row]))
      const listed = Object.keys(family).map(type => rows.get(type) ?? `| \`${type}\` | | |`)
      return page.replace(section(page, `### ${heading}`), part => withRows(part, listed))
    }, text),
  )
})

test('the rows of events name the fields that events have', () => {
  const rows = new Map(
    rowsIn(section(read('journal.md'), '## Events')).map(row => [namesIn(row)[0], namesIn(row.split('|')[2]!)]),
  )
  const events = readdirSync(journals)
    .filter(file => file.endsWith('.jsonl'))
    .flatMap(file => readFileSync(resolve(journals, file), 'utf8').trimEnd().split('\n'))
    .flatMap(line => (JSON.parse(line) as { readonly events: readonly Event[] }).events)
  const faults = events.flatMap(({ type, ...fields }) => {
    const told = rows.get(type) ?? []
    const unsaid = Object.keys(fields).filter(key => !told.includes(key) && !told.includes(`${key}?`))
    const missing = told.filter(key => !key.endsWith('?') && !(key in fields))
    return [...unsaid.map(key => `${type} has ${key}`), ...missing.map(key => `${type} may be without ${key}`)]
  })
  expect([...new Set(faults)]).toEqual([])
})

test('the tables of keys have every key of a plan file, and no other', () => {
  checkPage('plan.md', text =>
    [
      { heading: '## Keys of a plan', keys: Object.keys(planKeys) },
      { heading: '## Keys of a task', keys: Object.keys(taskKeys) },
    ].reduce((page, { heading, keys }) => page.replace(section(page, heading), part => withKeys(part, keys)), text),
  )
})

test('the table of keys of an agent has every key of a row, and no other', () => {
  const heading = '## Keys of an agent'
  checkPage('agents.md', text =>
    text.replace(section(text, heading), part => withKeys(part, Object.keys(agentRow.shape))),
  )
})

function checkPage(name: string, listed: (text: string) => string): void {
  const text = read(name)
  const wanted = listed(text)
  if (process.env.PLANFOLD_WRITE_DOCS === '1') writeFileSync(resolve(formats, name), wanted)
  else expect(text, 'write it anew: npm run docs').toBe(wanted)
  const empty = [...wanted.matchAll(/^\| (`[^|]*`) \|[^\n]*\| \|$/gm)].map(([, names]) => names)
  expect(empty, `say in docs/formats/${name} what these mean`).toEqual([])
}

const read = (name: string): string => readFileSync(resolve(formats, name), 'utf8')

/** From a heading to the next one of its level. */
function section(text: string, heading: string): string {
  const begin = text.indexOf(`\n${heading}\n`)
  expect(begin, `'${heading}' is missing`).toBeGreaterThan(-1)
  const end = text.indexOf(`\n${heading.split(' ')[0]} `, begin + heading.length)
  return text.slice(begin, end < 0 ? undefined : end)
}

const isRow = (line: string): boolean => line.startsWith('| `')
const rowsIn = (part: string): readonly string[] => part.split('\n').filter(isRow)
const namesIn = (cell: string): readonly string[] => [...cell.matchAll(NAME)].map(([, name]) => name!)

/** The rows of the only table of a section, replaced. */
function withRows(part: string, rows: readonly string[]): string {
  const lines = part.split('\n')
  const first = lines.findIndex(line => line.startsWith('|---')) + 1
  return [...lines.slice(0, first), ...rows, ...lines.slice(first).filter(line => !isRow(line))].join('\n')
}

/** Keys that are gone lose their place; new ones get a row at the end of the first table. */
function withKeys(part: string, keys: readonly string[]): string {
  const known = new Set<string>()
  const tables = part.split(/(?=^\| key \|)/m).map((table, at) => {
    if (at === 0) return table
    const end = table.indexOf('\n\n')
    const rows = table.slice(0, end).split('\n')
    const kept = rows.flatMap(row => {
      if (!isRow(row)) return [row]
      const [, cell = '', ...rest] = row.split('|')
      const left = namesIn(cell).filter(name => keys.includes(name))
      for (const name of left) known.add(name)
      return left.length === 0 ? [] : [['', ` ${left.map(name => `\`${name}\``).join(', ')} `, ...rest].join('|')]
    })
    return `${kept.join('\n')}${table.slice(end)}`
  })
  const missing = keys.filter(key => !known.has(key)).map(key => `\n| \`${key}\` | | | |`)
  return tables.map((table, at) => (at === 1 ? table.replace('\n\n', () => `${missing.join('')}\n\n`) : table)).join('')
}
