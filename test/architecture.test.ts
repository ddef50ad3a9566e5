// The house keeps its shape (law L8): rooms, direction, doors, purity, no drawers, no swollen files. A failure here is a design
// question; answer it by moving the line to the room whose question it answers, not by widening the rule.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildProgram } from '../src/cli/program.ts'
import { extraCommands } from '../src/extras.ts'

const EXTRAS = await extraCommands()

const src = resolve(import.meta.dirname, '../src')

/** Lower numbers know nothing of higher ones. */
const LEVELS: Readonly<Record<string, number>> = {
  domain: 0,
  format: 1,
  safety: 2,
  stores: 3,
  workspace: 3,
  runners: 3,
  recall: 3,
  queues: 3,
  engine: 4,
  operations: 5,
  mcp: 6,
  server: 7,
  client: 7,
  cli: 8,
  tui: 8,
}
/** Rooms with implementations behind a door; from outside only the door may be seen. */
const DOORS: Readonly<Record<string, string>> = {
  stores: 'stores/store.ts',
  workspace: 'workspace/workspace.ts',
  runners: 'runners/runner.ts',
  recall: 'recall/recall.ts',
  queues: 'queues/queue.ts',
  engine: 'engine/engine.ts',
  client: 'client/client.ts',
}
/** A room inside a room has a door of its own. */
const INNER_DOORS = [
  'workspace/git/git.ts',
  'engine/roles.ts',
  'engine/permissions/inbox-answers.ts',
  'runners/models.ts',
]
/** Stand outside the rooms: they choose, publish or help tests. */
const OUTSIDE = ['compose.ts', 'composition', 'index.ts', 'testing', 'extras', 'extras.ts']
/**
 * How many files outside an extra import one of its files, src/extras.ts not counted. The number of an extra may only fall; at 0 its folder
 * can be deleted, and `npm run without -- NAME` shows it.
 */
const ENTERED_MAX: Readonly<Record<string, number>> = {
  compat: 3,
  templates: 2,
}
/** How many files of the rooms without a door other rooms import, the extras included. A number may only fall. */
const OPEN_FILES_MAX: Readonly<Record<string, number>> = { domain: 139, format: 80, operations: 47, safety: 34 }
const DRAWERS = /(^|\/)(utils?|common|shared|lib|helpers?|types|interfaces|misc)(\.ts|\/|$)/
const LINES_MAX = 600
const FILES_MAX = 25
/** What looks like a command and is none: the first line of a handoff, which makes known whose file it is. */
const MARKS = ["'<!-- planfold handoff -->'"]
/** Files that know each other by types, all around. */
const TYPE_CIRCLE_MAX = 5
/** Nouns of the field that end like verbs. */
const NOUNS = new Set([
  'scheduling',
  'routing',
  'logging',
  'monitoring',
  'finding',
  'string',
  'setting',
  'feed',
  'embed',
])
const NO_NAMES = new Set(
  'about above across after against along among apart around at before behind below beside between beyond by during for from given in inside into late meant near of off on onto out outside over past since through till to toward under until up upon with within without'.split(
    ' ',
  ),
)
/** Kinds of actions that would be told apart outside their rows. A file that no longer does takes the number down with it. */
const BRANCHES = /case '(http|db|edit|checkpoint)'|=== '(http|db|edit|checkpoint)'|has\('(http|db)'\)/
const BRANCHING_MAX = 7
const LATE = /(?<!typeof )\bimport\('/

interface Import {
  readonly to: string
  readonly typeOnly: boolean
  /** `import('…')`: read when it is wanted. */
  readonly lazy: boolean
}
const files = walk(src).filter(file => file.endsWith('.ts'))
const isTest = (file: string) => /\.(test|contract|fixture|arbitrary)\.ts$/.test(file)
const sources = files.filter(file => !isTest(file))
const text = new Map(files.map(file => [file, readFileSync(join(src, file), 'utf8')]))
const imports = new Map(files.map(file => [file, importsOf(file)]))

describe('the house', () => {
  test('every file stands in a room, and there are no drawers', () => {
    const homeless = files.filter(file => !(room(file) in LEVELS) && !OUTSIDE.includes(room(file)))
    expect(homeless).toEqual([])
    expect(files.filter(file => DRAWERS.test(file))).toEqual([])
  })

  test('rooms look only downwards, and sideways only through doors, for types', () => {
    const faults: string[] = []
    for (const [file, to] of allImports()) {
      const [from, at] = [LEVELS[room(file)], LEVELS[room(to.to)]]
      if (from === undefined || room(file) === room(to.to)) continue
      if (room(to.to) === 'extras') continue
      // Operations and faces ask the list of extras; what is below them is handed what it needs.
      if (to.to === 'extras.ts' && from >= LEVELS.operations!) continue
      if (at === undefined) faults.push(`${file} looks outside the rooms, at ${to.to}`)
      else if (at > from) faults.push(`${file} looks up at ${to.to}`)
      else if (at === from && !(to.typeOnly && Object.values(DOORS).includes(to.to)))
        faults.push(`${file} looks sideways at ${to.to}`)
    }
    // A face is started from the command line: its entry may ask compose for the rooms.
    expect(
      faults.filter(
        fault =>
          !/^(cli|tui|mcp)\/\S+ looks outside the rooms, at (compose|composition\/(composition|database))\.ts$/.test(
            fault,
          ),
      ),
    ).toEqual([])
  })

  test('only compose opens implementations', () => {
    const faults: string[] = []
    for (const [file, { to }] of allImports()) {
      const door = DOORS[room(to)]
      if (door === undefined || room(file) === room(to) || OUTSIDE.includes(room(file))) continue
      if (to !== door && !INNER_DOORS.includes(to)) faults.push(`${file} goes round the door of ${room(to)}: ${to}`)
    }
    expect(faults).toEqual([])
  })

  test('fewer and fewer files import an extra', () => {
    const entered = new Map<string, Set<string>>()
    for (const [file, { to }] of allImports()) {
      const extra = extraOf(to)
      if (extra === null || extra === extraOf(file) || (OUTSIDE.includes(room(file)) && extraOf(file) === null))
        continue
      if (extraOf(file) === null) entered.set(extra, (entered.get(extra) ?? new Set()).add(file))
    }
    const counts = Object.fromEntries([...entered].map(([extra, by]) => [extra, by.size]).sort())
    expect(counts, 'a lower number goes into ENTERED_MAX').toEqual(ENTERED_MAX)
  })

  test('rooms without a door are entered through fewer and fewer files', () => {
    const entered = new Map(Object.keys(OPEN_FILES_MAX).map(name => [name, new Set<string>()]))
    for (const [file, { to }] of allImports()) if (room(file) !== room(to)) entered.get(room(to))?.add(to)
    const counts = Object.fromEntries([...entered].map(([name, files]) => [name, files.size]))
    expect(counts, 'a lower number goes into OPEN_FILES_MAX').toEqual(OPEN_FILES_MAX)
  })

  test('only tests import an extra that can be deleted, and say so: they go with it', () => {
    const root = resolve(src, '..')
    const listed = [...text.get('extras.ts')!.matchAll(/'\.\/extras\/([a-z]+)\//g)].map(([, extra = '']) => extra)
    const deletable = new Set(listed.filter(extra => !(extra in ENTERED_MAX)))
    expect(deletable.size).toBeGreaterThan(0)
    const faults: string[] = []
    for (const file of ['src', 'test', 'sim', 'bench'].flatMap(at =>
      walk(join(root, at)).map(path => join(at, path)),
    )) {
      if (!/\.ts$/.test(file) || /^src\/extras[/.]/.test(file)) continue
      const source = readFileSync(join(root, file), 'utf8')
      const needed = /^\/\/ Needs the extras: (.+)$/m.exec(source)?.[1]?.split(', ') ?? []
      for (const [, extra = ''] of source.matchAll(/(?:from |import\()'[^']*\/extras\/([a-z]+)\//g))
        if (deletable.has(extra) && !needed.includes(extra)) faults.push(`${file} needs ${extra}`)
    }
    expect(faults).toEqual([])
  })

  test('only compose builds an engine, so that every face gets one that is bound to a caller', () => {
    const naming = sources.filter(file => room(file) !== 'engine' && /\bEngineLocal\b/.test(code(file)))
    expect(naming).toEqual(['compose.ts'])
  })

  test('no file imports itself in a circle', () => {
    const state = new Map<string, 'open' | 'closed'>()
    const circles: string[] = []
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'closed') return
      if (state.get(file) === 'open') {
        circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
        return
      }
      state.set(file, 'open')
      for (const { to, typeOnly } of imports.get(file) ?? [])
        if (!typeOnly && sources.includes(to)) visit(to, [...path, file])
      state.set(file, 'closed')
    }
    for (const file of sources) visit(file, [])
    expect(circles).toEqual([])
  })

  test('the domain is pure: it imports nothing and knows neither clock, chance, promise nor machine', () => {
    const faults: string[] = []
    for (const file of sources.filter(file => room(file) === 'domain')) {
      for (const specifier of specifiers(text.get(file)!)) {
        if (!specifier.path.startsWith('.')) faults.push(`${file} imports ${specifier.path}`)
      }
      const found = code(file).match(
        /\b(Date|Promise|async|await|setTimeout|setInterval|setImmediate|process|Buffer|fetch|console|crypto)\b|Math\.random/g,
      )
      if (found !== null) faults.push(`${file} uses ${[...new Set(found)].join(', ')}`)
    }
    expect(faults).toEqual([])
  })

  test('time, chance and environment are read only in compose, clocks and faces', () => {
    const reads =
      /\bDate\.now\b|new Date\(\)|Math\.random|process\.env|process\.hrtime|performance\.now|randomBytes|randomUUID|getRandomValues/
    // The door of the client chooses, for a program that is elsewhere, what compose chooses here.
    const allowed = (file: string) =>
      ['compose.ts', 'composition', 'cli', 'tui', 'mcp', 'server', 'testing'].includes(room(file)) ||
      /(^|\/)clock\.ts$/.test(file) ||
      // The door of an extra composes its parts; what it has for a face is a face.
      /^extras\/([a-z]+)\/(\1\.ts$|(commands|service)\/)/.test(file) ||
      file === 'client/client.ts'
    expect(sources.filter(file => !allowed(file) && reads.test(code(file)))).toEqual([])
  })

  test('what drives a plan or takes an order loads late only by engine/lazy-imports.ts, so that a simulated run repeats itself', () => {
    const lazily = sources.filter(file => /^(domain|engine)\//.test(file) && LATE.test(text.get(file)!))
    expect([...lazily].sort()).toEqual(['engine/answer-query.ts', 'engine/lazy-imports.ts'])
  })

  test('schema libraries live in format and the formats among the extras only, and the SQLite driver in its own folder', () => {
    const strays: string[] = []
    for (const file of sources) {
      for (const { path } of specifiers(text.get(file)!)) {
        if (
          ['zod', 'yaml', '@marcbachmann/cel-js'].includes(path) &&
          !/^(format|extras\/(agents|dialects|models|templates))\//.test(file)
        )
          strays.push(`${file}: ${path}`)
        if (path === 'pg' && !file.startsWith('stores/postgres/')) strays.push(`${file}: ${path}`)
        if (path.startsWith('@photostructure/') && !file.startsWith('stores/sqlite/')) strays.push(`${file}: ${path}`)
      }
    }
    expect(strays).toEqual([])
  })

  test('no file has swollen', () => {
    const swollen = sources
      .map(file => `${text.get(file)!.split('\n').length} ${file}`)
      .filter(line => Number.parseInt(line, 10) > LINES_MAX)
    expect(swollen).toEqual([])
  })

  test('a folder can be read at a glance', () => {
    const folders = new Map<string, number>()
    for (const file of sources) folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + 1)
    expect([...folders].filter(([, count]) => count > FILES_MAX)).toEqual([])
  })

  test('a file is called by a noun of the field, or a verb and its noun', () => {
    const unclear = sources.filter(file => {
      const name = basename(file, '.ts')
      if (NOUNS.has(name)) return false
      return NO_NAMES.has(name) || (!name.includes('-') && /(ing|ed|ly)$/.test(name))
    })
    expect(unclear.filter(file => basename(file) !== 'reply.ts')).toEqual([])
  })

  test('a name stands for one thing in a folder: no file is called like a folder beside it', () => {
    const folders = new Set(sources.map(dirname))
    expect(sources.filter(file => folders.has(file.replace(/\.ts$/, '')))).toEqual([])
  })

  test('the door of the engine opens without any of its rooms', () => {
    const inside = ['engine/engine.ts', 'engine/engine.ts', 'engine/queries.ts'].flatMap(file =>
      (imports.get(file) ?? []).filter(({ to }) => /^engine\/.+\//.test(to)).map(({ to }) => `${file} sees ${to}`),
    )
    expect(inside).toEqual([])
  })

  test('the MCP server lists its tools before the engine is loaded: an agent may wait a second, not longer', () => {
    const loaded = new Set(['cli/commands/service/mcp.ts'])
    for (const file of loaded)
      for (const { to, typeOnly } of imports.get(file) ?? []) if (!typeOnly && text.has(to)) loaded.add(to)
    expect(loaded).toContain('mcp/server.ts')
    expect([...loaded].filter(file => /^(engine|operations|stores|workspace|runners|compose)/.test(file))).toEqual([])
  })

  test('what only tests import is named like test equipment, or lives outside src', () => {
    const used = new Set(sources.flatMap(file => (imports.get(file) ?? []).map(({ to }) => to)))
    const web = resolve(src, '../web')
    for (const page of walk(web).filter(file => /\.tsx?$/.test(file)))
      for (const { path } of specifiers(readFileSync(join(web, page), 'utf8')))
        used.add(relative(src, resolve(web, dirname(page), path)))
    // Entries of the package and of its bundle; and types that only the generated JSON Schemas of answers are made of.
    const entries =
      /^(index|cli\/main|client\/client|testing\/index|server\/documents\/document-worker|format\/wire\/answers\/[a-z-]+)\.ts$/
    expect(sources.filter(file => !used.has(file) && !entries.test(file))).toEqual([])
  })

  test('files that know each other by types stay few', () => {
    expect(circlesOf(sources).filter(circle => circle.length > TYPE_CIRCLE_MAX)).toEqual([])
  })

  test('the map in ARCHITECTURE names every folder, and no other', () => {
    const page = readFileSync(resolve(src, '../ARCHITECTURE.md'), 'utf8')
    const map = page.slice(page.indexOf('src/\n'), page.indexOf('```', page.indexOf('src/\n')))
    const named = new Set<string>()
    const open: string[] = []
    for (const line of map.split('\n').slice(1)) {
      const depth = (line.length - line.trimStart().length) / 2
      for (const [name] of line.matchAll(/(?<=^\s+|\/ )[a-z-]+(?=\/(?: |$))/g)) {
        open.splice(depth - 1)
        open.push(name)
        named.add(open.join('/'))
      }
    }
    const groups = /commands\/ +([a-z ]+)$/m.exec(map)?.[1]?.split(' ') ?? []
    for (const group of groups) named.add(`cli/commands/${group}`)
    const folders = new Set(sources.map(dirname).filter(folder => folder !== '.'))
    for (const folder of [...folders]) for (let up = dirname(folder); up !== '.'; up = dirname(up)) folders.add(up)
    expect([...named].sort()).toEqual([...folders].sort())
  })

  test('only faces speak of commands: everywhere else what to do next is a value', () => {
    const names = buildProgram('0', EXTRAS, async () => {}).commands.flatMap(command => [
      command.name(),
      ...command.aliases(),
    ])
    const command = new RegExp(`\\bplanfold (${names.join('|')})(?![\\w-])`)
    const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line)
    const faults = sources
      .filter(file => !['cli', 'mcp', 'tui', 'web'].includes(room(file)) && !/^extras\/[a-z]+\/commands\//.test(file))
      .flatMap(file =>
        text
          .get(file)!
          .split('\n')
          .map(line => ({ file, line })),
      )
      .filter(({ line }) => !isComment(line) && command.test(line) && !MARKS.some(mark => line.includes(mark)))
    expect(faults.map(({ file, line }) => `${file}: ${line.trim()}`)).toEqual([])
  })

  test('the page stands on client and domain: it sees no other room, and no room sees it', () => {
    const web = resolve(src, '../web')
    const pages = walk(web).filter(file => /\.tsx?$/.test(file))
    expect(pages.length).toBeGreaterThan(0)
    const faults: string[] = []
    for (const file of pages) {
      const source = readFileSync(join(web, file), 'utf8')
      if (!source.startsWith('// ')) faults.push(`${file} does not say what it is`)
      if (source.split('\n').length > LINES_MAX) faults.push(`${file} has swollen`)
      for (const { path } of specifiers(source)) {
        const to = path.startsWith('.') ? relative(src, resolve(web, dirname(file), path)) : ''
        if (to === '' || to.startsWith('../web/')) continue
        if (room(to) !== 'domain' && to !== DOORS.client) faults.push(`${file} sees ${to}`)
      }
    }
    expect(faults).toEqual([])
    expect(files.filter(file => text.get(file)!.includes('/web/'))).toEqual([])
    const folders = new Map<string, number>()
    for (const file of pages) folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + 1)
    expect([...folders].filter(([, count]) => count > FILES_MAX)).toEqual([])
  })

  test('what a kind of action can do is said in its rows: nobody else branches on kinds', () => {
    const rows = /^(domain\/actions|format\/actions|runners|extras)\//
    const web = resolve(src, '../web')
    const pages = walk(web).filter(file => /\.tsx?$/.test(file))
    const all = [
      ...sources.map(file => [file, text.get(file)!] as const),
      ...pages.map(file => [`../web/${file}`, readFileSync(join(web, file), 'utf8')] as const),
    ]
    const branching = all.flatMap(([file, source]) => (!rows.test(file) && BRANCHES.test(source) ? [file] : []))
    // What is left means something else by the word: a scheme, a program, an order, a name that a shell completes.
    expect(branching.length, `${branching.length} files: ${branching.join(', ')}`).toBeLessThanOrEqual(BRANCHING_MAX)
  })

  test('every file opens with a sentence that says what it is', () => {
    expect(sources.filter(file => !/^(#!.*\n)?\/\//.test(text.get(file)!))).toEqual([])
  })
})

/** Strongly connected files, types included (Tarjan). */
function circlesOf(all: readonly string[]): readonly (readonly string[])[] {
  const [index, low] = [new Map<string, number>(), new Map<string, number>()]
  const [stack, found]: [string[], string[][]] = [[], []]
  const visit = (file: string): void => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    stack.push(file)
    for (const { to, lazy } of imports.get(file) ?? []) {
      if (lazy || !text.has(to) || isTest(to)) continue
      if (!index.has(to)) visit(to)
      if (stack.includes(to)) low.set(file, Math.min(low.get(file)!, low.get(to)!))
    }
    if (low.get(file) === index.get(file)) found.push(stack.splice(stack.indexOf(file)).sort())
  }
  for (const file of all) if (!index.has(file)) visit(file)
  return found.filter(circle => circle.length > 1)
}

function* allImports(): Iterable<[string, Import]> {
  for (const file of sources) for (const found of imports.get(file)!) yield [file, found]
}

function room(file: string): string {
  return file.split('/')[0]!
}

/** The extra that a file belongs to; null for the core and the faces. */
function extraOf(file: string): string | null {
  return file.startsWith('extras/') ? file.split('/')[1]! : null
}

function importsOf(file: string): readonly Import[] {
  return specifiers(text.get(file)!)
    .filter(({ path }) => path.startsWith('.'))
    .map(({ path, ...how }) => ({ to: relative(src, resolve(src, dirname(file), path)), ...how }))
}

function specifiers(source: string): readonly (Omit<Import, 'to'> & { readonly path: string })[] {
  const found: (Omit<Import, 'to'> & { path: string })[] = []
  for (const match of source.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm))
    found.push({ path: match[2]!, typeOnly: match[1] !== undefined, lazy: false })
  // A dynamic import is lazy: it counts for direction, not for circles.
  for (const match of source.matchAll(/\bimport\('([^']+)'\)/g))
    found.push({ path: match[1]!, typeOnly: true, lazy: true })
  return found
}

/** The source without comments and string contents. */
function code(file: string): string {
  return text
    .get(file)!
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''")
}

function walk(directory: string, prefix = ''): readonly string[] {
  return readdirSync(join(directory, prefix)).flatMap(name => {
    const path = prefix === '' ? name : `${prefix}/${name}`
    return statSync(join(directory, path)).isDirectory() ? walk(directory, path) : [path]
  })
}
