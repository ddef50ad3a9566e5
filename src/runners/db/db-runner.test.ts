// Queries and changes against a real database file.

import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { setup, stopBy } from '../attempt.fixture.ts'
import type { Outcome } from '../runner.ts'
import { dbRunner } from './db-runner.ts'

function database() {
  const place = setup()
  const file = join(place.root, 'app.db')
  const look = <T>(use: (open: InstanceType<typeof DatabaseSync>) => T): T => {
    const open = new DatabaseSync(file)
    try {
      return use(open)
    } finally {
      open.close()
    }
  }
  look(open =>
    open.exec(
      "create table users (id integer primary key, name text, active int); insert into users (name, active) values ('ann', 1), ('bob', 0), ('cid', 1)",
    ),
  )
  const ask = async (
    spec: { readonly [key: string]: Json },
    more: {
      readonly write?: readonly string[] | null
      readonly timeoutMs?: number
      readonly signal?: AbortSignal
      readonly definition?: Partial<TaskDefinition>
    } = {},
  ): Promise<Outcome> => {
    const action = { type: 'db', spec: { url: 'sqlite:app.db', ...spec } } as const
    const attempt = place.attempt(action, { timeoutMs: more.timeoutMs ?? 20_000 })
    const tools = { ...place.tools, write: more.write === undefined ? ['app.db'] : more.write }
    return await dbRunner().attempt(attempt, tools, more.signal === undefined ? place.going : stopBy(more.signal))
  }
  const names = () =>
    look(open =>
      open
        .prepare('select name from users order by id')
        .all()
        .map(row => row.name),
    )
  return { ...place, look, ask, names }
}

const failureOf = (outcome: Outcome) => {
  if (outcome.type !== 'failed') throw new Error(`it did not fail: ${JSON.stringify(outcome)}`)
  return outcome.failure
}

describe('a query', () => {
  it('gives rows, with values in the place of ? and :name', async () => {
    const { ask } = database()
    expect(await ask({ query: 'select count(*) as n from users where active = ?', values: [1] })).toEqual({
      type: 'done',
      outputs: { rows: [{ n: 2 }] },
    })
    const evil = "ann' or 1=1; drop table users; --"
    expect(await ask({ query: 'select * from users where name = :name', values: { name: evil } })).toMatchObject({
      outputs: { rows: [] },
    })
  })

  it('numbers that JavaScript cannot hold are text, bytes are base64', async () => {
    const { ask } = database()
    expect(
      await ask({ query: "select 9007199254740993 as big, x'0001ff' as bytes, null as none, 1.5 as part" }),
    ).toMatchObject({
      outputs: { rows: [{ big: '9007199254740993', bytes: 'AAH/', none: null, part: 1.5 }] },
    })
  })

  it.each([
    'delete from users',
    "insert into users (name) values ('eve')",
    'update users set active = 0',
    'drop table users',
    'create table x (y)',
    "attach '/tmp/other.db' as other",
    "vacuum into '/tmp/copy.db'",
    'pragma user_version = 7',
    'pragma journal_mode = wal',
    "pragma temp_store_directory = '/tmp'",
    "select load_extension('/tmp/x.so')",
    'begin',
    'select 1; delete from users',
    'with gone as (select 1) delete from users',
  ])('that is no reading is refused: %s', async sql => {
    const { ask, names, root } = database()
    const before = readdirSync(root)
    expect(['policy', 'logic']).toContain(failureOf(await ask({ query: sql })).class)
    expect(names()).toEqual(['ann', 'bob', 'cid'])
    expect(readdirSync(root)).toEqual(before)
    expect(existsSync('/tmp/other.db') || existsSync('/tmp/copy.db')).toBe(false)
  })

  it('gives no more rows and bytes than it may, and says so', async () => {
    const { ask } = database()
    const many = 'with recursive n(x) as (select 1 union all select x + 1 from n) select x from n'
    expect(failureOf(await ask({ query: many, rows: 10 })).message).toContain('there are more than 10 rows')
    const large =
      'with recursive n(x) as (select 1 union all select x + 1 from n limit 900) select hex(zeroblob(5000)) as y from n'
    expect(failureOf(await ask({ query: large })).message).toContain('the rows are larger than')
  })

  it.each([
    ['select zeroblob(900000000)', 'the query makes a value larger than 10 MB'],
    [
      'with recursive n(x) as (select 1 union all select x + 1 from n limit 90) select group_concat(hex(randomblob(90000))) from n',
      'the query makes a value larger than 10 MB',
    ],
    [
      'with recursive n(x) as (select 1 union all select x + 1 from n limit 400) select x || hex(zeroblob(2000000)) as y from n order by y',
      'the query used more than 256 MB of memory, and was ended',
    ],
  ])('has 256 MB of memory, and 10 MB for a value: %s', async (query, message) => {
    const { ask } = database()
    const told = failureOf(await ask({ query }))
    expect(told).toMatchObject({
      class: 'logic',
      message: `app.db: ${message}`,
      hint: expect.stringContaining('ask for less'),
    })
  })

  it('that never ends is ended, by time or when it is told to', async () => {
    const { ask, names } = database()
    const endless = 'with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n'
    expect(failureOf(await ask({ query: endless }, { timeoutMs: 700 }))).toMatchObject({
      code: 'timeout',
      retryable: true,
    })
    const stopping = new AbortController()
    setTimeout(() => stopping.abort(), 500)
    expect(await ask({ query: endless }, { signal: stopping.signal })).toEqual({ type: 'interrupted' })
    expect(names().length).toBe(3)
  })
})

it('a value that is missing is not taken for null', async () => {
  const { ask } = database()
  const short = { execute: { sql: 'update users set name = ?, id = ? where id = 1', values: ['x'] } }
  expect(failureOf(await ask(short)).message).toBe('app.db: 2 values are needed, and there is 1')
  expect(failureOf(await ask({ execute: 'update users set name = ?' })).message).toBe(
    'app.db: 1 value is needed, and there are 0',
  )
  expect(failureOf(await ask({ query: 'select :a, :b', values: { a: 1 } })).message).toBe(
    'app.db: there is no value for :b',
  )
  expect(await ask({ query: "select ?2 as n, '?' as t -- ?", values: [1, 2] })).toMatchObject({
    outputs: { rows: [{ n: 2, t: '?' }] },
  })
})

describe('execute', () => {
  it('is all or nothing, over several statements', async () => {
    const { ask, names } = database()
    const good = await ask({
      execute: [{ sql: 'insert into users (name) values (?)', values: ['dan'] }, 'delete from users where id = 1'],
    })
    expect(good).toEqual({ type: 'done', outputs: { changes: 2 } })
    expect(names()).toEqual(['bob', 'cid', 'dan'])
    const bad = await ask({ execute: ['delete from users', 'insert into users (id) values (1), (1)'] })
    expect(failureOf(bad)).toMatchObject({ class: 'logic', message: expect.stringContaining('UNIQUE') })
    expect(names()).toEqual(['bob', 'cid', 'dan'])
    const script =
      "delete from users where id = 2; -- a comment with ; in it\ninsert into users (name) values ('e;f');\n"
    expect(await ask({ execute: script })).toEqual({ type: 'done', outputs: { changes: 2 } })
    expect(names()).toEqual(['cid', 'dan', 'e;f'])
  })

  it('cannot end its transaction, open other files, or change settings', async () => {
    const { ask, names } = database()
    for (const sql of [
      'commit',
      'rollback',
      'savepoint x',
      "attach 'other.db' as o",
      'pragma journal_mode = off',
      'vacuum',
      "select load_extension('x')",
    ]) {
      const told = failureOf(await ask({ execute: ['delete from users', sql] }))
      expect([sql, told.class]).toEqual([sql, expect.stringMatching(/policy|logic/)])
      expect(names().length).toBe(3)
    }
  })

  it('needs the file in a declared write scope', async () => {
    const { ask, names } = database()
    for (const write of [null, [], ['other.db']])
      expect(failureOf(await ask({ execute: 'delete from users' }, { write })).class).toBe('policy')
    expect(names().length).toBe(3)
  })

  it('with a key is applied once, however often it is tried', async () => {
    const { ask, names } = database()
    const spec = { execute: "insert into users (name) values ('dan')", key: 'auto' }
    expect(await ask(spec)).toEqual({ type: 'done', outputs: { changes: 1 } })
    expect(await ask(spec)).toEqual({ type: 'done', outputs: { changes: 0, repeated: true } })
    expect(names()).toEqual(['ann', 'bob', 'cid', 'dan'])
  })

  it('that is ended in the middle has changed nothing, and is not tried again by itself', async () => {
    const { ask, names } = database()
    const slow =
      'update users set active = (with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n)'
    const told = failureOf(await ask({ execute: ['delete from users where id = 1', slow] }, { timeoutMs: 700 }))
    expect(told).toMatchObject({ class: 'unknown', retryable: false })
    expect(names()).toEqual(['ann', 'bob', 'cid'])
    const keyed = failureOf(
      await ask({ execute: ['delete from users where id = 1', slow], key: 'auto' }, { timeoutMs: 700 }),
    )
    expect(keyed).toMatchObject({ class: 'transient', retryable: true })
    expect(names()).toEqual(['ann', 'bob', 'cid'])
  })

  it('waits for whoever writes, and says that it was in use', async () => {
    const { ask, root, names } = database()
    const other = new DatabaseSync(join(root, 'app.db'))
    other.exec('begin immediate')
    const told = failureOf(await ask({ execute: 'delete from users' }, { timeoutMs: 120_000 }))
    other.exec('rollback')
    other.close()
    expect(told).toMatchObject({ class: 'transient', retryable: true, message: expect.stringContaining('locked') })
    expect(names().length).toBe(3)
  })
})

describe('migrate', () => {
  const write = (root: string, name: string, sql: string) => {
    mkdirSync(join(root, 'db'), { recursive: true })
    writeFileSync(join(root, 'db', name), sql)
  }

  it('applies each file once, in order, all or nothing', async () => {
    const { ask, look, root } = database()
    write(
      root,
      '1.sql',
      "create table posts (id integer primary key);\ncreate trigger t after insert on posts begin insert into users (name) values ('by;trigger'); end;\n",
    )
    write(root, '2.sql', 'insert into posts default values;')
    const files = ['db/1.sql', 'db/2.sql']
    expect(await ask({ migrate: files })).toEqual({ type: 'done', outputs: { applied: files } })
    expect(await ask({ migrate: files })).toEqual({ type: 'done', outputs: { applied: [] } })
    write(root, '3.sql', 'create table more (x); insert into nowhere values (1);')
    write(root, '4.sql', 'create table last (x)')
    expect(failureOf(await ask({ migrate: [...files, 'db/3.sql', 'db/4.sql'] })).message).toContain(
      'no such table: nowhere',
    )
    const tables = look(open =>
      open
        .prepare("select name from sqlite_master where type = 'table' order by name")
        .all()
        .map(row => row.name),
    )
    expect(tables).toEqual(['planfold_migrations', 'posts', 'users'])
  })

  it('refuses one that was applied and has changed since, and one that is not there', async () => {
    const { ask, root } = database()
    write(root, '1.sql', 'create table posts (id)')
    await ask({ migrate: 'db/1.sql' })
    write(root, '1.sql', 'create table posts (id, title)')
    expect(failureOf(await ask({ migrate: 'db/1.sql' })).message).toContain('was applied before, and has changed since')
    expect(failureOf(await ask({ migrate: 'db/9.sql' })).message).toContain('there is no migration')
    expect(failureOf(await ask({ migrate: '../x.sql' })).class).toBe('policy')
  })
})

describe('the file', () => {
  it('is one of the workspace, not a link, and not ours', async () => {
    const { ask, base, root, names } = database()
    mkdirSync(join(root, '.planfold'), { recursive: true })
    for (const url of ['sqlite:../x.db', 'sqlite:/etc/passwd', 'sqlite:.planfold/planfold.db', 'sqlite:.git/x'])
      expect(failureOf(await ask({ url, execute: 'create table x (y)' }, { write: ['**'] })).class).toBe('policy')
    new DatabaseSync(join(base, 'other.db')).exec('create table users (name)')
    symlinkSync(join(base, 'other.db'), join(root, 'linked.db'))
    linkSync(join(base, 'other.db'), join(root, 'second.db'))
    for (const url of ['sqlite:linked.db', 'sqlite:second.db'])
      expect(failureOf(await ask({ url, query: 'select * from users' })).class).toBe('policy')
    // What SQLite writes beside the file must be no link either.
    writeFileSync(join(base, 'precious'), 'precious')
    symlinkSync(join(base, 'precious'), join(root, 'app.db-journal'))
    expect(failureOf(await ask({ execute: 'delete from users' })).class).toBe('policy')
    rmSync(join(root, 'app.db-journal'))
    expect(names().length).toBe(3)
    expect(failureOf(await ask({ url: 'sqlite:none.db', query: 'select 1' })).message).toContain('there is no database')
    writeFileSync(
      join(root, 'text.db'),
      'this is no database at all, and longer than a header of one would be ....'.repeat(20),
    )
    expect(failureOf(await ask({ url: 'sqlite:text.db', query: 'select 1' })).message).toContain('not a database')
  })
})
