import { afterEach, beforeEach, expect, it } from 'vitest'
import { newPlace, type Place } from '../../place.fixture.ts'
import { schema } from './schema.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

it('prints the schema of plan documents, or with --http the document of the service', async () => {
  const plan = await here.say(context => schema(context))
  expect([plan.exit, JSON.parse(plan.stdout).title]).toEqual([0, 'Planfold plan'])
  const http = await here.say(context => schema(context, { http: true }))
  const { openapi, paths } = JSON.parse(http.stdout)
  expect([http.exit, openapi]).toEqual([0, '3.1.0'])
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(['/plans', '/plans/{plan}', '/engine/orders', '/openapi.json']),
  )
})
