// The document says what the table does, and is one by its own specification.

import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentOf } from './answers.fixture.ts'
import { ROUTES } from './routes/all.ts'
import { type Served, served } from './server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

describe('the OpenAPI document', () => {
  test('is one by its own specification', async () => {
    const { status, body } = await service.ask('GET', '/openapi.json')
    expect(status).toBe(200)
    const checked = await new Validator().validate(body)
    expect(checked.errors ?? []).toEqual([])
    expect(checked.valid).toBe(true)
  })

  test('has every route, and says of each who may call it and what can go wrong', () => {
    const document = documentOf(ROUTES)
    const told = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-right': right }]) => `${method.toUpperCase()} ${path} ${right}`),
    )
    const table = ROUTES.map(({ method, path, right }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')} ${right}`)
    expect(told.sort()).toEqual(table.sort())
  })
})
