// What can go wrong with a server, caused on a real one: a plain sentence, what to do, and never a password.

import { connect, createServer, type Socket } from 'node:net'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { plan, task } from '../../../testing/index.ts'
import { given, must } from '../../store.contract.ts'
import { StoreBusy, StoreFull, StoreRefused } from '../../store.ts'
import { ask, setup, startServer, WITH_PASSWORD } from '../postgres.fixture.ts'
import { plainError } from './errors.ts'

const SECRET = 'hunter2'
/** The name of its database, in a statement. */
const quoted = (url: string) => `"${new URL(url.replace('@/', '@x/')).pathname.slice(1)}"`

const server = await startServer()
afterAll(() => server?.stop())

describe.skipIf(server === null)('postgres: what goes wrong', () => {
  async function refusedAt(url: (name: string) => string, prepare = '', before = '') {
    const { open, url: own, name } = await setup(server!)
    const again = (text: string) => ask(own, text.replaceAll('$database', name))
    if (prepare !== '') await again(prepare)
    try {
      await open({}, { url: url(name), appendUrl: undefined, patienceMs: 50 })
    } catch (error) {
      const { message, hint } = error as Error & { hint: string }
      expect(JSON.stringify([message, hint, error])).not.toContain(SECRET)
      return { error, message: message.replaceAll(name, 'NAME'), hint }
    } finally {
      if (before !== '') await again(before)
    }
    throw new Error('it was opened')
  }
  const as = (user: string) => (name: string) => server!.url(name).replace('planfold@', `${user}:${SECRET}@`)

  it('nothing listens, or the host is not known', async () => {
    const closed = await refusedAt(name => `postgres://ana:${SECRET}@127.0.0.1:1/${name}`)
    expect(closed.error).toBeInstanceOf(StoreBusy)
    expect(closed.message).toBe(
      'the database postgres://ana@127.0.0.1:1/NAME cannot be reached: nothing listens at this address',
    )
    const unknown = await refusedAt(name => `postgres://ana:${SECRET}@nowhere.invalid/${name}`)
    expect(unknown.message).toMatch(/cannot be reached: its host is not known$/)
  })

  it('the address is none', async () => {
    expect(await refusedAt(() => `postgres://ana:${SECRET}@[x/y`)).toMatchObject({
      message: 'the address of the database cannot be read',
      hint: expect.stringContaining('postgres://'),
    })
  })

  it('there is no such database', async () => {
    const { message, hint } = await refusedAt(() => as('planfold')('nosuch'))
    expect([message, hint]).toEqual([
      expect.stringMatching(/nosuch.* does not exist$/),
      expect.stringMatching(/createdb/),
    ])
  })

  it.skipIf(process.env.PLANFOLD_TEST_DATABASE !== undefined)('the password is wrong, or there is none', async () => {
    const make = `CREATE ROLE ${WITH_PASSWORD} LOGIN PASSWORD 'other'`
    const drop = `DROP ROLE ${WITH_PASSWORD}`
    const wrong = await refusedAt(as(WITH_PASSWORD), make, drop)
    expect(wrong.message).toMatch(/refused the password$/)
    expect(wrong.hint).toMatch(/PGPASSWORD.*\.pgpass/)
    const none = await refusedAt(name => server!.url(name).replace('planfold@', `${WITH_PASSWORD}@`), make, drop)
    expect(none.message).toMatch(/asks for a password, and there is none$/)
  })

  it('the server lets no more connections in', async () => {
    const limited = await refusedAt(as('crowded'), 'CREATE ROLE crowded LOGIN CONNECTION LIMIT 0', 'DROP ROLE crowded')
    expect(limited.message).toMatch(/as many connections as it allows/)
  })

  it('the user has no rights there', async () => {
    const stranger = await refusedAt(as('stranger'), 'CREATE ROLE stranger LOGIN', 'DROP ROLE stranger')
    expect(stranger.error).toBeInstanceOf(StoreRefused)
    expect(stranger.message).toMatch(/refuses a right to this user: permission denied for/)
    expect(stranger.hint).toMatch(/command `migrate`/)
  })

  it('it is older than PostgreSQL 14', async () => {
    const number = String((await ask(server!.url('postgres'), 'SHOW server_version_num'))[0]!.server_version_num)
    const older = `13${number.slice(2)}`
    const old = createServer(store => {
      const behind: Socket = connect(server!.address)
      store.on('error', () => {}).pipe(behind)
      behind
        .on('error', () => {})
        .on('data', bytes => {
          store.write(Buffer.from(bytes.toString('latin1').replaceAll(number, older), 'latin1'))
        })
      behind.on('close', () => store.destroy())
      store.on('close', () => behind.destroy())
    })
    await new Promise<void>(resolve => old.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void old.close())
    const { port } = old.address() as { port: number }
    const { message, hint } = await refusedAt(name => server!.through(port, server!.url(name)))
    expect([message, hint]).toEqual([expect.stringMatching(/is PostgreSQL 13/), 'use PostgreSQL 14 or newer'])
  })

  describe('while the store is open:', () => {
    async function opened() {
      const { open, url } = await setup(server!)
      const store = await open({}, { url, appendUrl: undefined, patienceMs: 50 })
      const id = await given(store, plan('first', task('a')))
      const noted = async () =>
        await must(store, id, { type: 'note', text: 'x' }).then(
          () => null,
          (error: unknown) => error as Error & { hint?: string },
        )
      return { url, store, noted }
    }

    it('the disk is full', async () => {
      const { url, noted } = await opened()
      await ask(
        url,
        `CREATE FUNCTION planfold.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON planfold.entries EXECUTE FUNCTION planfold.full()`,
      )
      const error = await noted()
      await ask(url, 'DROP FUNCTION planfold.full CASCADE')
      expect(error).toBeInstanceOf(StoreFull)
      expect(error?.message).toMatch(/^the disk of the database '.*' is full$/)
      expect(await noted()).toBeNull()
    })

    it('it became a replica, which can only be read', async () => {
      const { url, store, noted } = await opened()
      const set = (value: string) =>
        ask(
          url,
          `ALTER DATABASE ${quoted(url)} SET default_transaction_read_only = ${value};
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
      await set('on')
      const error = await noted()
      expect(error).toBeInstanceOf(StoreRefused)
      expect([error?.message, error?.hint]).toEqual([
        expect.stringMatching(/can only be read: it is a replica/),
        'name the primary server',
      ])
      expect((await store.plans({})).items).toHaveLength(1)
      const reset = url.replace('?', '?options=-c%20default_transaction_read_only%3Doff&')
      await ask(
        reset,
        `ALTER DATABASE ${quoted(url)} RESET default_transaction_read_only;
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      )
      expect(await noted()).toBeNull()
    })

    it('a statement takes longer than it allows', async () => {
      const { url, noted } = await opened()
      const holder = ask(url, 'BEGIN; LOCK planfold.heads; SELECT pg_sleep(0.5); COMMIT')
      await ask(
        url,
        `ALTER DATABASE ${quoted(url)} SET statement_timeout = '50ms';
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'planfold'`,
      )
      const error = await noted()
      await holder
      await ask(url, `ALTER DATABASE ${quoted(url)} RESET statement_timeout`)
      expect(error).toBeInstanceOf(StoreBusy)
      expect([error?.message, error?.hint]).toEqual([
        expect.stringMatching(/ended a statement that took longer than it allows$/),
        expect.stringMatching(/statement_timeout/),
      ])
    })
  })
})

it('what the driver throws is put into words, or passed on when it is our fault', () => {
  const of = (code: string, message = 'm') => plainError(Object.assign(new Error(message), { code }), 'the database x')
  expect(of('ETIMEDOUT').message).toBe('the database x cannot be reached: it did not answer in time')
  expect(of('57P01').message).toBe('the database x cannot be reached: it is shutting down')
  expect(of('XX001').name).toBe('StoreDamaged')
  expect(of('42601', 'syntax error').message).toBe('the database refused a statement: syntax error (SQLSTATE 42601)')
  const ours = new TypeError('x is not a function')
  expect(plainError(ours, 'the database x')).toBe(ours)
})
