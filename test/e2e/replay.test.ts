// Looking back at a plan with the command line: what happened is proven, nothing happens again, and whoever had their hands in
// the file is found out.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import { MAIN, type Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const document = (name: string, word: string): string => `planfold: 1
name: ${name}
tasks:
  - { id: say, run: ["sh", "-c", "echo ${word}; echo ran >> ran.txt"], effect: pure, outputs: { word: { stdout: text } } }
  - { id: write, needs: [say], edit: [{ file: ${name}.txt, create: "${word}\\n" }] }
  - { id: flaky, needs: [say], run: ["sh", "-c", "test -e again || { touch again; exit 75; }"], effect: pure, retry: { attempts: 3, backoff: 1ms..2ms } }
  - { id: ask, needs: [write], gate: approval }
  - { id: last, needs: [ask, flaky], run: ["true"], effect: pure }
`

async function lived(name: string, word: string): Promise<void> {
  await here.write(`${name}.yaml`, document(name, word))
  const ran = await here.planfold('run', `${name}.yaml`)
  expect(ran.exit, ran.stderr).toBe(4)
  expect(await here.planfold('approve', name, 'ask')).toMatchObject({ exit: 0 })
  expect(await here.planfold('resume', name)).toMatchObject({ exit: 0 })
}

/** Somebody else's hands in the file. */
function raw(sql: string): void {
  const database = new DatabaseSync(join(here.folder, '.planfold', 'planfold.db'))
  database.exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ${sql}`)
  database.close()
}

/** Every file of the workspace with its content and times, and every row of the store. */
async function everything(): Promise<string> {
  const files = execFileSync('find', ['.', '-path', './.planfold', '-prune', '-o', '-printf', '%p %s %T@ %m\\n'], {
    cwd: here.folder,
    encoding: 'utf8',
  })
  const database = new DatabaseSync(join(here.folder, '.planfold', 'planfold.db'), { readOnly: true })
  const tables = ['plans', 'heads', 'entries', 'tasks', 'earlier_attempts', 'task_logs', 'folds']
  const rows = tables.map(table => database.prepare(`SELECT * FROM ${table}`).all())
  database.close()
  return createHash('sha256').update(files).update(JSON.stringify(rows)).digest('hex')
}

/** A folder that cannot be written, the rest of the file system neither where that can be had, and no network. */
const ISOLATED = `mount -o remount,ro,bind / 2>/dev/null
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 9
cd "$1" && ! touch probe 2>/dev/null || exit 9
shift; exec "$@"`
/** Why that cannot be had here; null when it can. */
const ISOLATES: string | null = (() => {
  const tried = spawnSync('unshare', ['-rmn', 'sh', '-c', ISOLATED, 'sh', '/tmp', 'true'], { encoding: 'utf8' })
  return tried.status === 0
    ? null
    : `no namespaces of our own here: ${tried.error?.message ?? tried.stderr.split('\n')[0]}`
})()

describe('planfold audit replay', () => {
  it('finds a life with a retry, a gate and a resume to be the same again, and leaves everything as it was', async () => {
    await lived('one', 'hello')
    const before = await everything()
    const said = await here.planfold('audit', 'replay', 'one')
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout).toMatch(/^✔ replay matches: \d+ entries of one/)
    expect(said.stdout).toContain('5 recorded attempts were reused; nothing was run.')
    expect(await here.json('audit', 'replay', 'one')).toMatchObject({
      ok: true,
      fault: null,
      reenacted: { owners: 2, attempts: 5 },
    })
    expect(await here.read('ran.txt')).toBe('ran\n')
    expect(await everything()).toBe(before)
  })

  it('P40 leaves every byte and every time of the state folder as it was, and so does compare', async () => {
    await lived('one', 'hello')
    const state = () =>
      execFileSync(
        'sh',
        ['-c', 'find .planfold -printf "%p %y %m %s %T@\\n" | sort; find .planfold -type f | sort | xargs sha256sum'],
        {
          cwd: here.folder,
          encoding: 'utf8',
        },
      )
    const before = state()
    for (const argv of [
      ['replay', 'one'],
      ['compare', 'one', 'one'],
      ['replay', 'none'],
    ])
      await here.start(...argv).ended
    expect(state()).toBe(before)
    // Where there is no state, none is made.
    expect(await here.planfold('--dir', 'nowhere', 'replay', 'one')).toMatchObject({ exit: 2 })
    expect(await here.files()).not.toContain('nowhere')
  })

  it.skipIf(ISOLATES !== null)(
    `P40 works where nothing can be written and nothing be reached${ISOLATES === null ? '' : ` (skipped: ${ISOLATES})`}`,
    async () => {
      await lived('one', 'hello')
      const isolated = (...argv: string[]) =>
        spawnSync('unshare', ['-rmn', 'sh', '-c', ISOLATED, 'sh', here.folder, process.execPath, MAIN, ...argv], {
          encoding: 'utf8',
          env: { PATH: process.env.PATH, HOME: here.folder },
        })
      const open = await here.json('audit', 'replay', 'one')
      const said = isolated('audit', 'replay', 'one', '--json')
      expect(said, said.stderr).toMatchObject({ status: 0 })
      const { data } = JSON.parse(said.stdout) as { data: { ok: boolean; trace: string } }
      expect(data).toMatchObject({ ok: true, trace: (open as { trace: string }).trace })
      expect(isolated('show', 'one', '--compare', 'one')).toMatchObject({ status: 0 })
      // The same walls stop whoever does write.
      expect(isolated('log', 'one', '--add', '-m', 'a note').status).not.toBe(0)
      // What a crash leaves: a log nobody has read back, with its index or without.
      const log = join(here.folder, '.planfold', 'planfold.db-wal')
      const holding = new DatabaseSync(join(here.folder, '.planfold', 'planfold.db'), { readOnly: true })
      holding.exec('BEGIN')
      holding.prepare('SELECT count(*) FROM entries').get()
      expect(await here.planfold('log', 'one', '--add', '-m', 'later')).toMatchObject({ exit: 0 })
      execFileSync('cp', ['-r', '.planfold', 'crashed'], { cwd: here.folder })
      holding.close()
      expect(statSync(log.replace('.planfold', 'crashed')).size).toBeGreaterThan(0)
      expect(isolated('--dir', 'crashed', 'replay', 'one')).toMatchObject({ status: 0 })
    },
  )

  it('tells of an altered entry, and of one that is gone, with exit 1; the plan is not marked by it', async () => {
    await lived('one', 'hello')
    raw('CREATE TABLE saved AS SELECT * FROM entries')
    raw("UPDATE entries SET body = replace(body, 'hello', 'jello') WHERE version = 4")
    const altered = await here.planfold('audit', 'replay', 'one')
    expect(altered).toMatchObject({ exit: 1, stderr: '' })
    expect(altered.stdout).toMatch(
      /^✖ the event log was altered at entry 4 of one \(position 4\)\n {2}what +tampered: /,
    )
    expect(altered.stdout).toMatch(/hint: /)
    raw('DELETE FROM entries; INSERT INTO entries SELECT * FROM saved; DELETE FROM entries WHERE version = 6')
    expect(await here.planfold('audit', 'replay', 'one', '--json')).toMatchObject({ exit: 1 })
    expect(await here.json('audit', 'replay', 'one')).toMatchObject({
      ok: false,
      entries: 5,
      fault: { type: 'chain', kind: 'missing', version: 6, position: null },
    })
    raw('DELETE FROM entries; INSERT INTO entries SELECT * FROM saved; DROP TABLE saved')
    expect(await here.planfold('audit', 'replay', 'one')).toMatchObject({ exit: 0 })
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('asks for a plan, and for one that is there', async () => {
    await lived('one', 'hello')
    expect(await here.planfold('audit', 'replay')).toMatchObject({ exit: 2 })
    expect(await here.planfold('audit', 'replay', 'none')).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/hint: /),
    })
    expect(await here.planfold('compare', 'one')).toMatchObject({ exit: 2 })
  })

  const traced = spawnSync('strace', ['-V']).status === 0
  it.skipIf(!traced)('P40 starts no process, opens no connection, and writes to no file', async () => {
    await lived('one', 'hello')
    const log = join(here.folder, '.planfold', 'trace')
    const calls =
      'trace=execve,connect,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,pwrite64,ftruncate,fsync'
    const env = { PATH: process.env.PATH, HOME: here.folder, PLANFOLD_AS: 'ana@example.com' }
    const said = spawnSync(
      'strace',
      ['-f', '-qq', '-y', '-e', calls, '-o', log, process.execPath, MAIN, 'replay', 'one'],
      {
        cwd: here.folder,
        env,
        encoding: 'utf8',
      },
    )
    expect(said).toMatchObject({ status: 0, stdout: expect.stringContaining('replay matches') })
    const lines = (await here.read('.planfold/trace')).split('\n').filter(line => !/ = -1 E/.test(line))
    expect(lines.filter(line => /execve\(/.test(line))).toHaveLength(1)
    expect(lines.filter(line => /connect\(/.test(line))).toEqual([])
    const writes = lines.filter(line =>
      /O_WRONLY|O_RDWR|creat\(|unlink|rename|mkdir|pwrite|truncate\(|truncate64\(|fsync/.test(line),
    )
    // SQLite opens a log that is there for writing, whatever it was asked; it does not write to it.
    expect(writes.filter(line => !/"\/dev\/|"[^"]*\.planfold\/planfold\.db-wal", O_RDWR/.test(line))).toEqual([])
  })
})

describe('planfold compare', () => {
  it('shows how two lives differed, in a hundred columns', async () => {
    await lived('one', 'hello')
    await lived('two', 'moin')
    const said = await here.planfold('show', 'one', '--compare', 'two')
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout.split('\n').filter(line => line.length > 100)).toEqual([])
    expect(said.stdout).toMatch(/^say .*outputs word$/m)
    expect(said.stdout).toMatch(/^flaky +completed +2 .* completed +1 .*attempts$/m)
    expect(await here.json('show', 'one', '--compare', 'two')).toMatchObject({
      a: { name: 'one', status: 'completed', retries: 1, failures: 1 },
      b: { name: 'two', status: 'completed', retries: 0, failures: 0 },
      definition: { same: false },
      files: [{ path: 'one.txt' }, { path: 'two.txt' }],
    })
  })
})
