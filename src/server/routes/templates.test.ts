// Templates over HTTP: the stock ones, those saved here, and the plans that are made of them.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Asked, type Served, servedHere } from '../server.fixture.ts'

const service = servedHere()

const ask: Served['ask'] = (...given) => service.ask(...given)
type Body = Asked['body']

const GREET = `planfold-template: 2
name: greet
title: Greets somebody
parameters:
  who: { about: 'whom to greet', required: true }
  loudly: { type: boolean, about: 'in capitals', default: false }
plan:
  name: greet-\${{ params.who }}
  tasks:
    - id: hello
      title: 'Hello \${{ params.who }}'
`

const shelve = async (name: string, text: string): Promise<void> => {
  const folder = join(service.rooms.stateDir, 'templates')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.yaml`), text)
}

describe('templates', () => {
  test('are listed, the stock ones and one’s own; a broken one says why, and not where it lies', async () => {
    await shelve('greet', GREET)
    await shelve('broken', 'planfold-template: 2\nname: broken\nplan: 5\n')
    await shelve('misnamed', GREET)
    const { body } = await ask('GET', '/templates')
    expect(body.next).toBe(null)
    const named = (name: string): Body => body.items.find((one: Body) => one.name === name)
    expect(named('debug')).toMatchObject({ origin: 'stock', fault: null, hides: false })
    expect(named('greet')).toMatchObject({
      origin: 'own',
      title: 'Greets somebody',
      parameters: ['who', 'loudly'],
      fault: null,
    })
    expect(named('broken').fault).toEqual(expect.any(String))
    expect(named('misnamed').fault).toBe("the template in misnamed.yaml calls itself 'greet'")
    expect(JSON.stringify(body)).not.toContain(service.folder)
    const { status, body: broken } = await ask('GET', '/templates/broken')
    expect({ status, line: broken.faults[0].line }).toEqual({ status: 422, line: 3 })
    expect((await ask('GET', '/templates/misnamed')).status).toBe(422)
  })

  test('are shown with their parameters', async () => {
    await shelve('greet', GREET)
    const { body } = await ask('GET', '/templates/greet')
    expect(body).toMatchObject({
      name: 'greet',
      origin: 'own',
      document: GREET,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(body.parameters).toEqual([
      { name: 'who', type: 'string', about: 'whom to greet', required: true, default: null },
      { name: 'loudly', type: 'boolean', about: 'in capitals', required: false, default: false },
    ])
    const { status, body: unknown } = await ask('GET', '/templates/gret')
    expect({ status, hint: unknown.hint }).toEqual({ status: 404, hint: "did you mean 'greet'?" })
    expect((await ask('GET', '/templates/..%2f..%2fpackage')).status).toBe(404)
  })

  test('make plans', async () => {
    await shelve('greet', GREET)
    const { status, body } = await ask('POST', '/templates/greet/plans', {
      values: { who: 'ana' },
      goal_id: 'g',
      start: true,
    })
    expect(status, JSON.stringify(body)).toBe(201)
    expect(body).toMatchObject({ name: 'greet-ana', goal_id: 'g', state: 'active', progress: { total: 1 } })
    expect(body.extra.template).toMatchObject({ name: 'greet', parameters: { who: 'ana', loudly: false } })
    expect((await ask('POST', '/templates/greet/plans', { values: { who: 'ana' }, name: 'other' })).body.name).toBe(
      'other',
    )
  })

  test('tell everything that is missing or wrong with the values at once', async () => {
    await shelve('greet', GREET)
    const before = (await ask('GET', '/plans')).body.items.length
    const { status, body } = await ask('POST', '/templates/greet/plans', { values: { loudly: 'very', whom: 'x' } })
    expect(status).toBe(422)
    expect(body.faults.map((fault: Body) => fault.path).sort()).toEqual(['values.loudly', 'values.who', 'values.whom'])
    expect((await ask('POST', '/templates/greet/plans', { values: { who: 'a' }, name: 'no name' })).status).toBe(422)
    expect((await ask('POST', '/templates/nobody/plans', {})).status).toBe(404)
    expect((await ask('GET', '/plans')).body.items).toHaveLength(before)
  })

  test('are saved from plans, with parameters, and never over another one', async () => {
    await ask('POST', '/plans', {
      planfold: 1,
      name: 'release',
      tasks: [{ id: 'tag', title: 'Tag release 1.2.0', inputs: { version: '1.2.0' } }],
    })
    const sent = { plan_id: 'release', name: 'releasing', parameters: { version: '1.2.0' } }
    const { status, headers, body } = await ask('POST', '/templates', sent)
    expect({ status, location: headers.get('location') }).toEqual({ status: 201, location: '/templates/releasing' })
    expect(body.parameters.map((one: Body) => one.name)).toEqual(['version'])
    // The same again is the same; another one of the name is refused.
    expect((await ask('POST', '/templates', sent)).status).toBe(201)
    expect((await ask('POST', '/templates', { plan_id: 'release', name: 'releasing' })).status).toBe(409)
    expect((await ask('POST', '/templates', { plan_id: 'release', name: 'releasing', replace: true })).status).toBe(201)
    await ask('POST', '/templates', { ...sent, replace: true })
    const { body: plan } = await ask('POST', '/templates/releasing/plans', { values: { version: '2.0.0' } })
    const [task] = (await ask('GET', `/tasks?plan_id=${plan.id}`)).body.items
    expect(task).toMatchObject({ title: 'Tag release 2.0.0', input_data: { version: '2.0.0' } })
  })

  test.each([
    [{ plan_id: 'release', name: '../escape' }, 422],
    [{ plan_id: 'release', name: 'Upper' }, 422],
    [{ plan_id: 'nowhere', name: 'fine' }, 404],
    [{ plan_id: 'release', name: 'fine', parameters: { version: 'not there' } }, 422],
    [{ name: 'fine' }, 422],
  ])('%j is refused', async (sent, expected) => {
    expect((await ask('POST', '/templates', sent)).status).toBe(expected)
  })
})
