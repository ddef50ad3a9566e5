// Looking back at a plan with the built command: what happened is proven, nothing happens again, and whoever had their hands in
// the file is found out.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

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

describe('planfold replay', () => {
  it('finds a life with a retry, a gate and a resume to be the same again, and leaves everything as it was', async () => {
    await lived('one', 'hello')
    const before = await everything()
    const said = await here.planfold('replay', 'one')
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout).toMatch(/^✔ the same again: \d+ entries of one/)
    expect(said.stdout).toMatch(/re-enacted \d+ turns of 2 owners: 5 attempts and 1 preparation answered/)
    expect(await here.json('replay', 'one')).toMatchObject({
      ok: true,
      fault: null,
      reenacted: { owners: 2, attempts: 5 },
    })
    expect(await here.read('ran.txt')).toBe('ran\n')
    expect(await everything()).toBe(before)
  })

  it('tells of an altered entry, and of one that is gone, with exit 1; the plan is not marked by it', async () => {
    await lived('one', 'hello')
    raw('CREATE TABLE saved AS SELECT * FROM entries')
    raw("UPDATE entries SET body = replace(body, 'hello', 'jello') WHERE version = 4")
    const altered = await here.planfold('replay', 'one')
    expect(altered).toMatchObject({ exit: 1, stderr: '' })
    expect(altered.stdout).toMatch(/^✖ the journal was altered at entry 4 of one \(position 4\)\n {2}what +tampered: /)
    expect(altered.stdout).toMatch(/hint: /)
    raw('DELETE FROM entries; INSERT INTO entries SELECT * FROM saved; DELETE FROM entries WHERE version = 6')
    expect(await here.planfold('replay', 'one', '--json')).toMatchObject({ exit: 1 })
    expect(await here.json('replay', 'one')).toMatchObject({
      ok: false,
      entries: 5,
      fault: { type: 'chain', kind: 'missing', version: 6, position: null },
    })
    raw('DELETE FROM entries; INSERT INTO entries SELECT * FROM saved; DROP TABLE saved')
    expect(await here.planfold('replay', 'one')).toMatchObject({ exit: 0 })
    expect(await here.planfold('check')).toMatchObject({ exit: 0 })
  })

  it('asks for a plan, and for one that is there', async () => {
    await lived('one', 'hello')
    expect(await here.planfold('replay')).toMatchObject({ exit: 2 })
    expect(await here.planfold('replay', 'none')).toMatchObject({ exit: 2, stderr: expect.stringMatching(/hint: /) })
    expect(await here.planfold('compare', 'one')).toMatchObject({ exit: 2 })
  })

  const traced = spawnSync('strace', ['-V']).status === 0
  it.skipIf(!traced)(
    'starts no process, opens no connection, and writes to no file outside the state folder',
    async () => {
      await lived('one', 'hello')
      const log = join(here.folder, '.planfold', 'trace')
      const calls = 'trace=execve,connect,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat'
      const env = { PATH: process.env.PATH, HOME: here.folder, PLANFOLD_AS: 'ana@example.com' }
      const said = spawnSync('strace', ['-f', '-qq', '-e', calls, '-o', log, process.execPath, MAIN, 'replay', 'one'], {
        cwd: here.folder,
        env,
        encoding: 'utf8',
      })
      expect(said).toMatchObject({ status: 0, stdout: expect.stringContaining('the same again') })
      const lines = (await here.read('.planfold/trace')).split('\n').filter(line => !/ = -1 E/.test(line))
      expect(lines.filter(line => /execve\(/.test(line))).toHaveLength(1)
      expect(lines.filter(line => /connect\(/.test(line))).toEqual([])
      const writes = lines.filter(line => /O_WRONLY|O_RDWR|creat\(|unlink|rename|mkdir/.test(line))
      expect(writes.filter(line => !/"[^"]*\.planfold\/planfold\.db(-wal|-shm)?"|"\/dev\//.test(line))).toEqual([])
    },
  )
})

describe('planfold compare', () => {
  it('shows how two lives differed, in a hundred columns', async () => {
    await lived('one', 'hello')
    await lived('two', 'moin')
    const said = await here.planfold('compare', 'one', 'two')
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout.split('\n').filter(line => line.length > 100)).toEqual([])
    expect(said.stdout).toMatch(/^say .*outputs word$/m)
    expect(said.stdout).toMatch(/^flaky +completed +2 .* completed +1 .*attempts$/m)
    expect(await here.json('compare', 'one', 'two')).toMatchObject({
      a: { name: 'one', status: 'completed', retries: 1, failures: 1 },
      b: { name: 'two', status: 'completed', retries: 0, failures: 0 },
      definition: { same: false },
      files: [{ path: 'one.txt' }, { path: 'two.txt' }],
    })
  })
})
