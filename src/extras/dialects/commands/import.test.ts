// `import`, `export` and `formats` against a real store in a folder of its own.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ExportOptions, exportPlan, lostLines } from '../../../cli/commands/formats/export.ts'
import { run } from '../../../cli/commands/plans/run.ts'
import { show } from '../../../cli/commands/plans/show.ts'
import { type Context, withState } from '../../../cli/context.ts'
import { CliError } from '../../../cli/exit.ts'
import { openState } from '../../../cli/open-state.ts'
import { paint } from '../../../cli/terminal/paint.ts'
import type { Composed } from '../../../compose.ts'
import type { TaskName } from '../../../domain/id.ts'
import { Connection } from '../../../stores/sqlite/driver.ts'
import { formats } from './formats.ts'
import { type ImportOptions, importPlan } from './import.ts'

const SAMPLES = fileURLToPath(new URL('../../../../test/fixtures/dialects/backlogs/', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-import-test-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

interface Said {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

async function say(body: (context: Context) => Promise<number>, { json = false, stdin = '' } = {}): Promise<Said> {
  const said = { stdout: '', stderr: '' }
  const context = {
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
    stdin: async function* () {
      yield Buffer.from(stdin)
    },
    terminal: null,
    cwd: folder,
    environment: { HOME: folder, PLANFOLD_AS: 'ana@example.com' },
    now: () => 0,
    paint: paint(false),
    settings: { json, quiet: false, color: false },
    hangup: new AbortController().signal,
    openState,
    opened: null,
  } as unknown as Context
  try {
    return { exit: await body(context), ...said }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const places = error.diagnostics.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`)
    return {
      exit: error.exit,
      stdout: said.stdout,
      stderr: [said.stderr, error.message, error.hint, ...places].join('\n'),
    }
  }
}
const bring = (file: string, options: ImportOptions = {}, more = {}) =>
  say(context => importPlan(context, file, options), more)
const give = (plan: string, options: ExportOptions = {}, more = {}) =>
  say(context => exportPlan(context, plan, options), more)
const sample = (name: string) => readFileSync(join(SAMPLES, name), 'utf8')
const within = <T>(body: (composed: Composed) => Promise<T>) =>
  say(async context => {
    result = await withState(context, { create: false }, body)
    return 0
  }).then(() => result as T)
let result: unknown
const statuses = (plan: string) =>
  within(async ({ engine }) =>
    Object.fromEntries(((await engine.ask({ type: 'board', plan })) ?? []).map(card => [card.name, card.status])),
  )

describe('import and export', () => {
  for (const [name, dialect] of [
    ['task-master-tagged.json', 'task-master'],
    ['task-master-bare.json', 'task-master'],
    ['beads.jsonl', 'beads'],
    ['spec-kit-tasks.md', 'spec-kit'],
  ] as const) {
    it(`${name} comes in and goes out as it was, byte for byte`, async () => {
      await cp(join(SAMPLES, name), join(folder, name))
      const made = await bring(name, { name: 'b' })
      expect(made).toMatchObject({ exit: 0, stderr: expect.stringContaining(`read as ${dialect}: `) })
      expect(await give('b', { to: dialect })).toEqual({ exit: 0, stdout: sample(name), stderr: '' })
      expect(await give('b', { original: true })).toEqual({ exit: 0, stdout: sample(name), stderr: '' })
      // The canonical document carries everything along: what it is read from and printed to is the same again.
      await writeFile(join(folder, 'b.yaml'), (await give('b')).stdout)
      expect(await bring('b.yaml', { name: 'c' })).toMatchObject({ exit: 0 })
    })
  }
})

describe('import', () => {
  it('a folder of Backlog.md is one plan, and its files come back by their names', async () => {
    await cp(join(SAMPLES, 'backlog-md'), join(folder, 'backlog/tasks'), { recursive: true })
    await writeFile(join(folder, 'backlog/tasks/readme.md'), '# Tasks\n')
    // A project has other Markdown, too.
    await writeFile(join(folder, 'README.md'), '# Shop\n')
    expect(await bring('.', { name: 'root' })).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('root is a draft'),
    })
    const made = await bring('backlog')
    expect(made).toMatchObject({
      exit: 0,
      stdout: 'backlog is a draft; start it with: planfold run backlog\n',
    })
    expect(made.stderr).toContain('read as backlog-md: 4 tasks, 1 of them already finished')
    expect(made.stderr).toContain('readme.md is not a task; it is left out')
    expect(made.stderr).toContain('backlog/tasks/task-10 - Tell-the-drivers.md:1:1: warning: the status')
    expect(await give('backlog', { to: 'backlog-md', out: 'again/' })).toMatchObject({ exit: 0, stderr: '' })
    const names = readdirSync(join(SAMPLES, 'backlog-md'))
    expect(readdirSync(join(folder, 'again'))).toEqual(names)
    for (const name of names)
      expect(readFileSync(join(folder, 'again', name), 'utf8')).toBe(sample(`backlog-md/${name}`))
  })

  it('what had ended stays ended, and what happens since is written back', async () => {
    await cp(join(SAMPLES, 'beads.jsonl'), join(folder, 'issues.jsonl'))
    expect(await bring('issues.jsonl', { start: true })).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('issues is started. Next: planfold resume issues'),
    })
    expect(await statuses('issues')).toEqual({
      'bd-a1f': 'pending',
      'bd-a1f.1': 'completed',
      // It was in progress there.
      'bd-a1f.2': 'running',
      'bd-9c0': 'ready',
      'bd-7-old': 'cancelled',
    })
    await within(async ({ engine }) => {
      for (const task of ['bd-a1f.2', 'bd-9c0'] as TaskName[]) {
        const result = { status: 'succeeded' } as never
        expect(await engine.submit('issues', { type: 'report', task, result })).toMatchObject({ ok: true })
      }
    })
    const out = await give('issues', { to: 'beads' })
    expect(out).toMatchObject({ exit: 0, stderr: '' })
    const [before, after] = [sample('beads.jsonl'), out.stdout].map(text =>
      text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as { id: string; status: string }),
    )
    expect(after!.map(issue => `${issue.id} ${issue.status}`)).toEqual([
      'bd-a1f open',
      'bd-a1f.1 closed',
      'bd-a1f.2 closed',
      'bd-9c0 closed',
      'bd 7 (old) tombstone',
    ])
    // Nothing but the status has changed.
    expect(after!.map(issue => ({ ...issue, status: '' }))).toEqual(before!.map(issue => ({ ...issue, status: '' })))
    expect(await give('issues', { original: true })).toMatchObject({ stdout: sample('beads.jsonl') })
  })

  it('reads standard input, and takes a dialect and a name by the hand', async () => {
    const stdin = sample('task-master-bare.json')
    expect(await bring('-', { from: 'task-master', name: 'garden' }, { stdin })).toMatchObject({ exit: 0 })
    expect(await give('garden', { to: 'task-master' })).toMatchObject({ stdout: stdin })
    expect(await bring('-', { from: 'taskmaster' }, { stdin })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("did you mean 'task-master'?"),
    })
    expect(await bring('-', { from: 'beads' }, { stdin })).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/-:1:\d+/),
    })
    expect(await bring('-', { name: 'no name' }, { stdin })).toMatchObject({ exit: 2 })
    expect(await bring('-', { name: 'garden' }, { stdin })).toMatchObject({ exit: 3 })
  })

  it('the files of a folder keep their byte order marks', async () => {
    const text = '\uFEFF---\nid: task-1\ntitle: Begin\nstatus: To Do\n---\n\n## Description\n\nWords.\n'
    await mkdir(join(folder, 'backlog'))
    await writeFile(join(folder, 'backlog', 'task-1 - Begin.md'), text)
    expect(await bring('backlog')).toMatchObject({ exit: 0 })
    expect(await give('backlog', { to: 'backlog-md', out: 'out/' })).toMatchObject({ exit: 0 })
    expect(readFileSync(join(folder, 'out', 'task-1 - Begin.md'), 'utf8')).toBe(text)
    await give('backlog', { to: 'backlog-md', out: 'one.md' })
    expect(await bring('one.md')).toMatchObject({ exit: 0, stderr: expect.stringContaining('read as backlog-md') })
  })

  it('a checklist says that its tasks wait for each other, and how they do not', async () => {
    const inOrder = 'the tasks run one after the other, as they are listed; an indented line `Depends: none` below one'
    await writeFile(join(folder, 'list.md'), '- [ ] one\n- [ ] two\n- [ ] three\n')
    expect((await bring('list.md', { name: 'chained' })).stderr).toContain(inOrder)
    await writeFile(join(folder, 'free.md'), '- [ ] one\n- [ ] two\n  Depends: none\n- [ ] three\n')
    expect((await bring('free.md', { name: 'free' })).stderr).not.toContain(inOrder)
    expect((await give('free', { to: 'yaml' })).stdout).not.toContain('needs:')
  })

  it('a canonical document is kept verbatim, too', async () => {
    const text = '# mine\r\nplanfold: 1\r\ntasks: [{id: a}]\r\n'
    await writeFile(join(folder, 'mine.yaml'), text)
    expect(await bring('mine.yaml', { from: 'planfold' })).toMatchObject({
      exit: 0,
      stdout: 'mine is a draft; start it with: planfold run mine\n',
    })
    expect(await give('mine', { original: true })).toMatchObject({ stdout: text })
    await writeFile(join(folder, 'bad.yaml'), 'planfold: 1\ntasks:\n  - id: a\n    nedes: [b]\n')
    expect(await bring('bad.yaml', { from: 'yaml' })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("bad.yaml:4:5 unknown key 'nedes'"),
    })
  })

  it('a sketch is refused by import and by run, and nothing is made', async () => {
    await writeFile(
      join(folder, 'tasks.md'),
      '# Tasks: [FEATURE]\n\n## Phase 1: Setup\n\n- [ ] T001 Begin\n- [ ] TXXX And so on\n',
    )
    for (const said of [await bring('tasks.md'), await say(context => run(context, 'tasks.md', { start: true }))])
      expect(said).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining("tasks.md is a sketch, not a plan: 'TXXX'"),
      })
    expect(existsSync(join(folder, '.planfold'))).toBe(false)
  })

  it('run keeps the text and what had ended, too', async () => {
    await cp(join(SAMPLES, 'spec-kit-tasks.md'), join(folder, 'tasks.md'))
    expect(await say(context => run(context, 'tasks.md', { start: false }))).toMatchObject({ exit: 0 })
    expect(await statuses('tasks-md')).toMatchObject({ T001: 'completed', T002: 'completed', T003: 'pending' })
    expect(await give('tasks-md', { original: true })).toMatchObject({ stdout: sample('spec-kit-tasks.md') })
  })

  it('refuses what it cannot be, with a place and a hint', async () => {
    await mkdir(join(folder, 'empty'))
    expect(await bring('empty')).toMatchObject({ exit: 2, stderr: expect.stringContaining('no task of Backlog.md') })
    expect(await bring('nowhere.json')).toMatchObject({ exit: 2, stderr: expect.stringContaining('there is no file') })
    await writeFile(join(folder, 'j.jsonl'), '{"position":1,"plan":"x"}\n')
    expect(await bring('j.jsonl')).toMatchObject({ exit: 2, stderr: expect.stringContaining('an exported event log') })
    await writeFile(
      join(folder, 'twice.jsonl'),
      '{"id":"bd-1","title":"a","issue_type":"task"}\n\n{"id":"bd-1","title":"b","issue_type":"task"}\n',
    )
    expect(await bring('twice.jsonl')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("twice.jsonl:3:1 two tasks are called 'bd-1'"),
    })
    expect(existsSync(join(folder, '.planfold'))).toBe(false)
  })
})

describe('work that was in progress', () => {
  const steps = {
    plan_type: 'parallel',
    steps: [
      { step: 1, action: 'mine', status: 'running' },
      { step: 2, action: 'hers', status: 'RUNNING', agent: 'bo' },
      { step: 3, action: 'later', status: 'running', depends_on: 1 },
      { step: 4, action: 'open' },
    ],
  }

  it('is claimed for whoever imports and starts it; what is somebody else’s is left to them', async () => {
    await writeFile(join(folder, 'w.json'), JSON.stringify(steps))
    const made = await bring('w.json', { start: true })
    expect(made.stderr).toContain('still in progress, claimed for you: mine\n')
    expect(made.stderr).toContain('hers was in progress when it was written: it is for bo to claim\n')
    expect(made.stderr).toContain('later was in progress when it was written: ')
    const { stdout } = await say(context => show(context, 'w', undefined, {}), { json: true })
    const { tasks } = (JSON.parse(stdout) as { data: { tasks: { name: string; status: string; claimedBy: string }[] } })
      .data
    expect(tasks.map(({ name, status, claimedBy }) => [name, status, claimedBy])).toEqual([
      ['mine', 'running', 'ana@example.com'],
      ['hers', 'ready', null],
      ['later', 'pending', null],
      ['open', 'ready', null],
    ])
  })

  it('is told of a draft, and printed as it was while nobody has touched it', async () => {
    await writeFile(join(folder, 'w.json'), JSON.stringify(steps))
    const made = await bring('w.json')
    expect(made.stderr).toContain(
      'in progress when it was written: mine, hers, later; once it is started, claim it again',
    )
    const { stdout } = await give('w', { to: 'plan-steps' })
    const printed = (JSON.parse(stdout) as { steps: { status?: string }[] }).steps.map(({ status }) => status)
    expect(printed).toEqual(['running', 'RUNNING', 'running', undefined])
    await mkdir(join(folder, 'backlog'))
    const text = '---\nid: task-1\ntitle: Begin\nstatus: In Progress\n---\n\n## Description\n\nBegin it\n'
    await writeFile(join(folder, 'backlog', 'task-1 - Begin.md'), text)
    expect((await bring('backlog')).stderr).toContain('in progress when it was written: ')
    expect((await give('backlog', { to: 'backlog-md' })).stdout).toContain('status: In Progress')
  })
})

describe('export', () => {
  it('groups what is lost by what it is, and names the first of many tasks', () => {
    const lost = ['plan: policy', ...Array.from({ length: 7 }, (_, at) => `task 't${at}': retry`), "task 'a:b': write"]
    expect(lostLines('beads', lost)).toEqual([
      'not exported (beads cannot express it): plan: policy',
      'not exported (beads cannot express it): retry of t0, t1, t2, t3, t4, … (7 tasks)',
      'not exported (beads cannot express it): write of a:b',
    ])
    const many = Array.from({ length: 23 }, (_, at) => `plan: key${at}`)
    expect(lostLines('beads', many)).toHaveLength(21)
    expect(lostLines('beads', many).at(-1)).toBe('… and 3 more kinds')
  })

  it('says what a dialect has no words for', async () => {
    await writeFile(
      join(folder, 'p.yaml'),
      'planfold: 1\nname: p\ntasks:\n  - { id: a, title: A, run: ["true"], retry: 3 }\n  - { id: b, needs: [a] }\n',
    )
    await bring('p.yaml')
    const said = await give('p', { to: 'beads' })
    expect(said).toMatchObject({
      exit: 0,
      stderr: 'not exported (beads cannot express it): run of a\nnot exported (beads cannot express it): retry of a\n',
    })
    expect(
      said.stdout
        .split('\n')
        .slice(0, 2)
        .map(line => JSON.parse(line)),
    ).toEqual([
      { id: 'a', title: 'A', status: 'open' },
      { id: 'b', title: '', status: 'open', dependencies: [{ issue_id: 'b', depends_on_id: 'a', type: 'blocks' }] },
    ])
    const told = JSON.parse((await give('p', { to: 'beads' }, { json: true })).stdout) as { data: { lost: string[] } }
    expect(told.data.lost).toEqual(["task 'a': run", "task 'a': retry"])
    expect(await give('p', { to: 'bead' })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("did you mean 'beads'?"),
    })
    expect(await give('p', { to: 'task-tables' })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('can only be imported'),
    })
    expect(await give('p', { to: 'beads', original: true })).toMatchObject({ exit: 2 })
  })

  it('refuses a text that would not be the plan', async () => {
    await writeFile(join(folder, 'p.yaml'), 'planfold: 1\nname: p\ntasks: [{ id: a }, { id: b, needs: [a] }]\n')
    await bring('p.yaml')
    expect(await give('p', { to: 'task-yaml', out: 'one.yaml' })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('task-yaml files have one task, and this plan has 2'),
    })
    expect(existsSync(join(folder, 'one.yaml'))).toBe(false)
    expect(await give('p', { to: 'spec-kit' })).toMatchObject({
      exit: 0,
      stdout: '# Tasks\n\n- [ ] T001\n- [ ] T002\n',
      stderr: expect.stringContaining('written as T001'),
    })
    // What a keepsake hides cannot be read again.
    const hidden = { 'spec-kit': { between: ['# Tasks\n\n```\n', '', ''] } }
    const plan = { planfold: 1, name: 'q', extra: hidden, tasks: [{ id: 'T001', extra: { 'spec-kit': { at: 0 } } }] }
    await writeFile(join(folder, 'q.yaml'), JSON.stringify(plan))
    await bring('q.yaml')
    expect(await give('q', { to: 'spec-kit' })).toMatchObject({ exit: 2, stdout: '' })
  })

  it('names the last revision that was made of a text', async () => {
    const text = '\uFEFFplanfold: 1\nname: p\ntasks: [{ id: a }]\n'
    await writeFile(join(folder, 'p.yaml'), text)
    await bring('p.yaml')
    expect((await give('p', { original: true })).stdout).toBe(text)
    await within(async ({ engine }) => {
      const { definition } = (await engine.ask({ type: 'definition', plan: 'p' as never }))!
      const revised = { type: 'revise', definition: { ...definition, title: 'P' }, rationale: 'more' } as const
      expect(await engine.submit('p' as never, revised)).toMatchObject({ ok: true })
    })
    expect(await give('p', { original: true })).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('planfold revise show p 1 --original'),
    })
  })

  it('writes a whole file, or none', async () => {
    await writeFile(join(folder, 'p.yaml'), 'planfold: 1\nname: p\ntasks: [{ id: a }]\n')
    await bring('p.yaml')
    expect(await give('p', { to: 'json', out: 'p.json' })).toMatchObject({
      exit: 0,
      stdout: 'p is written to p.json\n',
    })
    expect(JSON.parse(readFileSync(join(folder, 'p.json'), 'utf8'))).toMatchObject({ name: 'p' })
    expect(await give('p', { out: 'none/p.yaml' })).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('there is no folder'),
    })
    expect(await give('p', { out: '.' })).toMatchObject({ exit: 2, stderr: expect.stringContaining('is a folder') })
    expect(readdirSync(folder).filter(name => name.includes('part'))).toEqual([])
  })

  it('formats tells every dialect and whether it is printed', async () => {
    const { stdout } = await say(formats, { json: true })
    const { data } = JSON.parse(stdout) as { data: { formats: { name: string; about: string; prints: boolean }[] } }
    const names = data.formats.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['planfold', 'task-master', 'beads', 'backlog-md', 'spec-kit', 'task-tables']),
    )
    expect(new Set(names).size).toBe(names.length)
    expect(data.formats.find(({ name }) => name === 'task-tables')).toMatchObject({ prints: false })
    expect((await say(formats)).stdout).toContain('spec-kit')
  })
})

describe("another planner's tables", () => {
  const notes = (plan: string) =>
    within(async ({ engine }) =>
      ((await engine.ask({ type: 'entries', plan })) ?? []).flatMap(({ events }) =>
        events.flatMap(event => (event.type === 'note.added' ? [{ task: event.task ?? null, text: event.text }] : [])),
      ),
    )
  const NAMES = ['sort-the-photo-archive-tp-41', 'greet-everyone-unicode-tp-42']

  /** The sample as a database, as a planner would have left it. */
  async function database(path: string, journal: 'DELETE' | 'WAL'): Promise<void> {
    const made = join(folder, 'made.db')
    const connection = new Connection(made, { readOnly: false, busyMs: 1_000 })
    connection.exec(`PRAGMA journal_mode = ${journal}`)
    const tables = JSON.parse(sample('task-tables.json')) as { [table: string]: { [column: string]: unknown }[] }
    for (const [table, rows] of Object.entries(tables)) {
      const columns = Object.keys(rows[0]!)
      connection.exec(`CREATE TABLE ${table} (${columns.join(', ')})`)
      const insert = connection.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`)
      for (const row of rows)
        insert.run(
          ...columns.map(column =>
            typeof row[column] === 'object' && row[column] !== null
              ? JSON.stringify(row[column])
              : (row[column] as null | string | number),
          ),
        )
    }
    // Copied while it is open, as a planner that died leaves it: with a write-ahead log, what was written stands only there.
    await cp(made, path)
    if (journal === 'WAL') await cp(`${made}-wal`, `${path}-wal`)
    connection.close()
  }
  const bytesIn = (path: string) =>
    readdirSync(path).map(
      name =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(path, name)))
          .digest('hex')}`,
    )

  for (const source of ['dump.json', 'rcode.db', 'wal.db'] as const) {
    it(`as ${source}: one plan for each row, with how its steps ended, and nothing of the source is touched`, async () => {
      await mkdir(join(folder, 'source'))
      const path = join(folder, 'source', source)
      if (source === 'dump.json') await cp(join(SAMPLES, 'task-tables.json'), path)
      else await database(path, source === 'wal.db' ? 'WAL' : 'DELETE')
      const before = bytesIn(join(folder, 'source'))
      const said = await bring(`source/${source}`)
      expect(said).toMatchObject({ exit: 0, stdout: expect.stringContaining('2 of 2 plans made') })
      for (const name of NAMES) expect(said.stdout).toContain(`${name}: made from row`)
      expect(await statuses(NAMES[0]!)).toEqual({ 'step-1': 'completed', 'step-2': 'failed', 'step-3': 'pending' })
      expect(await statuses(NAMES[1]!)).toEqual({ 'step-1': 'completed', 'step-2': 'skipped' })
      const told = await notes(NAMES[0]!)
      expect(told.map(({ task }) => task)).toEqual([null, 'step-1', 'step-2'])
      expect(told[0]!.text).toContain('plan tp-41: it was failed')
      expect(told[0]!.text).toContain('1 file snapshots stay where they are')
      expect(told[2]!.text).toContain('execution 3: failed after 40000 ms, 2 retries: Error: no such file: photos/2019')
      expect(told[2]!.text).toContain('error: exiftool ended with 1')
      expect(bytesIn(join(folder, 'source'))).toEqual(before)
      // The rows themselves are the original, without the content of files.
      const original = await give(NAMES[0]!, { original: true })
      const kept = JSON.parse(original.stdout) as { task_executions: unknown[]; file_snapshots: object[] }
      expect(kept.task_executions).toHaveLength(3)
      expect(kept.file_snapshots[0]).not.toHaveProperty('content')
    })
  }

  it('regression 1: what could not be made is told, and exactly the others are there', async () => {
    const tables = JSON.parse(sample('task-tables.json')) as { task_plans: { [column: string]: unknown }[] }
    tables.task_plans.push(
      { id: 'bad', description: 'Broken', status: 'pending', steps: '[{' },
      {
        id: 'ring',
        description: 'Ring',
        steps: [
          { id: 'a', tool: 'x', dependencies: ['b'] },
          { id: 'b', tool: 'x', dependencies: ['a'] },
        ],
      },
      { id: 'none', description: 'Nothing to do', steps: [] },
    )
    await writeFile(join(folder, 'dump.json'), JSON.stringify(tables))
    const said = await bring('dump.json', {}, { json: true })
    expect(said.exit).toBe(2)
    const { data } = JSON.parse(said.stdout) as {
      data: { made: number; failed: number; plans: { row: string; ok: boolean }[] }
    }
    expect(data).toMatchObject({ made: 2, failed: 3 })
    expect(data.plans.map(({ row, ok }) => `${row} ${ok}`)).toEqual([
      'tp-41 true',
      'tp-42 true',
      'bad false',
      'ring false',
      'none false',
    ])
    const there = await within(async ({ engine }) =>
      (await engine.ask({ type: 'plans' })).items.map(({ name }) => name).sort(),
    )
    expect(there).toEqual([...NAMES].sort())
    // Once more: the same rows are the same plans, and refused as such.
    const again = await bring('dump.json')
    expect(again).toMatchObject({ exit: 3, stdout: '0 of 5 plans made\n' })
    expect(again.stderr).toContain('✘ row "tp-41"')
  })

  it('refuses databases that are none of these, saying why', async () => {
    await writeFile(join(folder, 'duck.db'), Buffer.concat([Buffer.alloc(8), Buffer.from('DUCK'), Buffer.alloc(100)]))
    expect(await bring('duck.db')).toMatchObject({ exit: 2, stderr: expect.stringContaining('DuckDB') })
    new Connection(join(folder, 'other.db'), { readOnly: false, busyMs: 100 }).exec('CREATE TABLE t (a)')
    expect(await bring('other.db')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('has no table task_plans'),
    })
    await writeFile(join(folder, 'torn.db'), `SQLite format 3\0${'x'.repeat(5000)}`)
    expect(await bring('torn.db')).toMatchObject({ exit: 2, stderr: expect.stringContaining('cannot be read') })
    const one = { task_plans: [{ id: 'a', description: 'x', steps: [{ id: '1', tool: 't', status: 'done?' }] }] }
    await writeFile(join(folder, 'odd.json'), JSON.stringify(one))
    const odd = await bring('odd.json')
    expect(odd).toMatchObject({ exit: 2, stderr: expect.stringContaining('is not a status here') })
    // The row is the place; a line of a text that was made of it is none.
    expect(odd.stderr).toMatch(/^✘ row "a": [^:\n]*is not a status here/)
    expect(odd.stderr).not.toMatch(/:\d+:\d+/)
  })
})
