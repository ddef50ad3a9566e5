// Plans in PostgreSQL with the built command: a person's commands, workers and a service, each a process of its own.
// Needs the extras: postgres

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/client.ts'
import { ask, startServer, WITH_PASSWORD } from '../../src/stores/postgres/postgres.fixture.ts'
import { type Place, place, type Started } from './planfold.fixture.ts'
import { lastingPort } from './serve.fixture.ts'

// Of its own: a role and a database are made that no other test may meet.
const server = await startServer({ own: true })
afterAll(async () => {
  if (database !== '') await ask(server!.url('postgres'), `DROP DATABASE ${database} WITH (FORCE)`)
  server?.stop()
})

let environment: { readonly [name: string]: string } = {}
let database = ''

beforeAll(async () => {
  if (server === null) return
  database = `e2e_teams_${process.pid}`
  await ask(server.url('postgres'), `CREATE DATABASE ${database}`)
  const made = await place()
  const { roles } = (await made.json('migrate', '--database', server.url(database))) as {
    roles: { status: 'made'; faces: string; append: string; isNew: boolean }
  }
  // The users of a server that the tests share have passwords that were told to somebody else; such a server asks for none.
  environment =
    roles.isNew || server.url('').includes('host=')
      ? { PLANFOLD_DATABASE: roles.faces, PLANFOLD_DATABASE_APPEND: roles.append }
      : { PLANFOLD_DATABASE: server.url(database) }
  await made.remove()
})

async function workspace(): Promise<Place> {
  const made = await place(environment)
  onTestFinished(() => made.remove())
  return made
}

/** Until the test has ended. */
async function started(at: Place, says: string, ...argv: readonly string[]): Promise<Started> {
  const one = at.start(...argv)
  onTestFinished(async () => {
    one.kill('SIGKILL')
    await one.ended
  })
  await one.until(says)
  return one
}
const worker = (at: Place, ...argv: readonly string[]) => started(at, 'labels: ', 'worker', ...argv)

async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isTrue()); await setTimeout(20))
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`)
}

const rested = async (name: string, status = 'completed') =>
  await until(`${name} to be ${status}`, async () => {
    const [row] = await ask(server!.url(database), `SELECT status FROM planfold.plans WHERE name = '${name}'`)
    return row?.status === status
  })

const plan = (name: string, tasks: string, more = '') => `planfold: 1\nname: ${name}\n${more}tasks:\n${tasks}`

/** Its first task runs until there is a file `go`. */
const waiting = (name: string) =>
  plan(
    name,
    `  - { id: slow, run: "cat /proc/sys/kernel/random/uuid >> began; while ! test -e go; do sleep 0.05; done", write: [began], effect: workspace }
  - { id: end, needs: [slow], run: "echo end >> end", write: [end] }
`,
    'place: [gpu]\n',
  )

const GATE = (name: string) =>
  plan(
    name,
    `  - { id: ask, gate: approval }
  - { id: say, needs: [ask], run: "echo said > said", write: [said] }
`,
  )

describe.skipIf(server === null)('plans in PostgreSQL', () => {
  test('run to their end, are rolled back, and forth again', async () => {
    const at = await workspace()
    await at.write(
      'plan.yaml',
      plan(
        'whole',
        `  - { id: one, run: "echo one > one", write: [one] }
  - { id: two, needs: [one], run: "cat one > two", write: [two] }
`,
      ),
    )
    expect(await at.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    expect(await at.read('two')).toBe('one\n')
    expect(await at.planfold('rollback', 'whole', '--to', 'one', '--yes')).toMatchObject({ exit: 0 })
    expect(existsSync(join(at.folder, 'two'))).toBe(false)
    expect(await at.json('status', 'whole')).toMatchObject({ progress: { counts: { completed: 1, ready: 1 } } })
    expect(await at.planfold('undo', 'whole')).toMatchObject({ exit: 0 })
    expect(await at.read('two')).toBe('one\n')
    expect(await at.planfold('doctor', 'store', '--read-data')).toMatchObject({ exit: 0 })
    expect((await at.files()).filter(name => name.endsWith('.db'))).toEqual([])
    expect(existsSync(join(at.folder, '.planfold/planfold.db'))).toBe(false)
  })

  test('go on in a worker when somebody approves from another folder, where they cannot be driven', async () => {
    const [at, elsewhere] = [await workspace(), await workspace()]
    await at.write('plan.yaml', GATE('approved'))
    expect(await at.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
    const refused = await elsewhere.planfold('resume', 'approved')
    expect(refused.exit).toBe(4)
    expect(refused.stdout).toContain(`its files are in ${at.folder} on `)
    await worker(at)
    expect(await elsewhere.planfold('approve', 'approved', 'ask')).toMatchObject({ exit: 0 })
    await rested('approved')
    expect(await at.read('said')).toBe('said\n')
    expect(existsSync(join(elsewhere.folder, 'said'))).toBe(false)
  })

  test('wait for a worker with their labels, and go on in another one when it is killed', async () => {
    const at = await workspace()
    const began = () => (existsSync(join(at.folder, 'began')) ? readFileSync(join(at.folder, 'began'), 'utf8') : '')
    await at.write('plan.yaml', waiting('killed'))
    await worker(at)
    const run = await at.planfold('run', 'plan.yaml')
    expect(run.exit).toBe(4)
    expect(run).toMatchObject({ stderr: '', stdout: expect.stringContaining('killed waiting for another worker') })
    expect(run.stdout).toContain('waits    it wants a worker with the label gpu')
    expect(run.stdout).toContain('Next: planfold log killed --follow')
    expect((await at.planfold('top')).stdout).toContain('1 plan waits for a worker with gpu')
    expect(began()).toBe('')
    const first = await worker(at, '--label', 'gpu')
    await until('the task to begin', () => began() !== '')
    const before = began()
    await worker(at, '--label', 'gpu')
    const { workers } = (await at.json('top')) as { workers: { labels: string[]; plans: number }[] }
    expect(workers.map(({ labels, plans }) => `${labels.at(-1)} ${plans}`).sort()).toEqual(['gpu 0', 'gpu 1', 'x64 0'])
    first.kill('SIGKILL')
    await until('the task to begin again', () => began() !== '' && began() !== before)
    await at.write('go', '')
    await rested('killed')
    // What the first attempt wrote was reverted.
    expect(began()).toMatch(/^[-0-9a-f]{36}\n$/)
    expect(await at.read('end')).toBe('end\n')
  })

  test('give an external task to one of two, who reports it', async () => {
    const [at, elsewhere] = [await workspace(), await workspace()]
    await at.write('plan.yaml', plan('external', '  - { id: write, title: "Write the report" }\n'))
    expect(await at.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
    const { token } = (await elsewhere.json('claim', 'external', 'write')) as { token: string }
    expect((await at.planfold('claim', 'external', 'write')).exit).toBe(3)
    const report = ['done', 'external', 'write', '--token', token, '--output', 'words=12']
    expect(await elsewhere.planfold(...report)).toMatchObject({ exit: 0 })
    await worker(at)
    await rested('external')
  })

  test('are started over HTTP, driven by a worker, and followed by a client', async () => {
    const at = await workspace()
    const port = await lastingPort()
    const service = await started(at, 'programs use the token', 'serve', '--no-drive', '--port', String(port))
    await worker(at)
    const token = (await at.read('.planfold/server/token')).trim()
    const client = connect({ url: `http://127.0.0.1:${port}`, token })
    onTestFinished(() => client.close())
    const made = await client.plans.create({
      name: 'served',
      tasks: [{ id: 'say', run: 'echo said > said', write: ['said'] }],
    })
    if (!made.ok) throw new Error(made.refusal.message)
    expect(await client.plans.execute(made.body.id)).toMatchObject({ ok: true })
    await rested('served')
    expect(await client.plans.get(made.body.id)).toMatchObject({ ok: true, body: { status: 'completed' } })
    expect(await at.read('said')).toBe('said\n')
    const workers = await fetch(`http://127.0.0.1:${port}/workers`, { headers: { authorization: `Bearer ${token}` } })
    expect(await workers.json()).toMatchObject({
      workers: expect.arrayContaining([expect.objectContaining({ concurrency: 4, alive: true })]),
      queue: { due: 0 },
    })
    service.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ exit: 0 })
  })
})

describe.skipIf(server === null)('a database', () => {
  test('and a folder that are both named are an error when they differ', async () => {
    const at = await workspace()
    const said = await at.planfold('list', '--database', 'here', '--dir', 'there')
    expect([said.exit, said.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: --database names the folder .*here, and --dir /),
    ])
    expect(await at.planfold('list', '--database', '.planfold')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('no Planfold state'),
    })
  })

  // A given server may let everybody in.
  test.skipIf(process.env.PLANFOLD_TEST_DATABASE !== undefined)(
    'shows its password neither in the process list nor in what is printed',
    async () => {
      const PASSWORD = 'neverShown'
      const named = (name: string) => server!.url(name)
      const [make, drop] = [
        `CREATE ROLE ${WITH_PASSWORD} SUPERUSER LOGIN PASSWORD '${PASSWORD}'`,
        `DROP ROLE ${WITH_PASSWORD}`,
      ]
      for (const one of [make, `CREATE DATABASE ${WITH_PASSWORD}`]) await ask(named('postgres'), one)
      onTestFinished(async () => {
        for (const one of [`DROP DATABASE ${WITH_PASSWORD} WITH (FORCE)`, drop]) await ask(named('postgres'), one)
      })
      const url = named(WITH_PASSWORD).replace('planfold@', `${WITH_PASSWORD}:${PASSWORD}@`)
      const at = await place()
      onTestFinished(() => at.remove())
      await at.write('plan.yaml', plan('hidden', '  - { id: env, run: "env; ps axww -o args", effect: pure }\n'))
      const said = [
        await at.planfold('run', 'plan.yaml', '--database', url),
        await at.planfold('log', 'hidden', '--output', '--database', url),
        await at.planfold('migrate', '--database', url),
        await at.planfold('nosuch', '--database', url),
        await at.planfold('list', '--json', '--database', url.replace(PASSWORD, `${PASSWORD}2`)),
        await at.planfold('copy', '--from', url, '--to', url),
      ]
      expect(said.map(({ exit }) => exit)).toEqual([0, 0, 0, 2, 3, 3])
      const running = await started(at, 'labels: ', 'worker', '--database', url)
      const { workers } = (await at.json('top', '--database', url)) as { workers: { pid: number }[] }
      const shown = readFileSync(`/proc/${workers[0]!.pid}/cmdline`, 'utf8')
      expect(shown).toContain('planfold worker --database postgres://')
      running.kill('SIGTERM')
      expect(JSON.stringify([...said, await running.ended, shown])).not.toContain(PASSWORD)
      const without = url.replace(`:${PASSWORD}@`, '@')
      expect((await at.planfold('list', '--database', without)).stderr).toContain('asks for a password')
      writeFileSync(join(at.folder, '.pgpass'), `*:*:*:${WITH_PASSWORD}:${PASSWORD}\n`, { mode: 0o600 })
      expect(await at.planfold('list', '--database', without)).toMatchObject({ exit: 0, stderr: '' })
    },
  )
})
