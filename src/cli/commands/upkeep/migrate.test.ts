// `planfold migrate` and what `planfold doctor` says about a database.
// Needs the extras: postgres

import { afterAll, describe, expect, test } from 'vitest'
import { ask, startServer } from '../../../stores/postgres/postgres.fixture.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../../stores/postgres/schema.ts'
import { eachPlace } from '../../place.fixture.ts'
import { doctor } from './doctor.ts'
import { migrate } from './migrate.ts'

const server = await startServer({ own: true })
afterAll(() => server?.stop())
const place = eachPlace()

test('without a database there is nothing to migrate', async () => {
  const said = await place.say(migrate)
  expect([said.exit, said.stderr]).toEqual(['usage', expect.stringContaining('no database')])
})

describe.skipIf(server === null)('a database', () => {
  test('gets its tables and two roles; with one of them, doctor finds the tenants walled off', async () => {
    await ask(server!.url('postgres'), 'CREATE DATABASE made')
    const url = server!.url('made')
    const said = await place.say(migrate, { environment: { PLANFOLD_DATABASE: url } })
    expect(said.exit).toBe(0)
    const faces = /PLANFOLD_DATABASE=(postgres:\/\/planfold_faces:\S+)/.exec(said.stdout)?.[1]
    expect(said.stdout).toMatch(/PLANFOLD_DATABASE_APPEND=postgres:\/\/planfold_append:\S+@/)
    const again = await place.say(migrate, { json: true, database: url })
    expect(JSON.parse(again.stdout)).toMatchObject({
      data: { schema: SCHEMA_VERSION, roles: { status: 'made', isNew: false } },
    })
    const found = async (database: string | undefined) => {
      const { stdout } = await place.say(doctor, { json: true, environment: { PLANFOLD_DATABASE: database ?? '' } })
      const { findings } = (JSON.parse(stdout) as { data: { findings: { part: string; status: string }[] } }).data
      return findings.filter(({ part }) => part === 'database').map(({ status }) => status)
    }
    expect([await found(faces), await found(url), await found(server!.url('nosuch')), await found(undefined)]).toEqual([
      ['ok'],
      ['warning'],
      ['problem'],
      [],
    ])
  })

  test('migrated by two administrators at once is migrated once', async () => {
    await ask(server!.url('postgres'), 'CREATE DATABASE twice')
    const both = [0, 1].map(() => place.say(migrate, { database: server!.url('twice') }))
    expect((await Promise.all(both)).map(({ exit }) => exit)).toEqual([0, 0])
    expect(await ask(server!.url('twice'), 'SELECT number FROM planfold.migrations ORDER BY number')).toEqual(
      MIGRATIONS.map(({ number }) => ({ number })),
    )
  })

  test('by a user who may make no roles: the statements for an administrator', async () => {
    const make = 'CREATE ROLE plain LOGIN; CREATE DATABASE plain OWNER plain'
    for (const one of make.split('; ')) await ask(server!.url('postgres'), one)
    const said = await place.say(migrate, { database: server!.url('plain').replace('planfold@', 'plain@') })
    expect(said.exit).toBe(0)
    expect(said.stdout).toContain('may not make roles')
    await ask(server!.url('plain'), /DO \$roles\$[\s\S]*\$roles\$/.exec(said.stdout)![0])
  })
})
