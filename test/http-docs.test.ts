// docs/formats/http.md lists every route there is. Written anew with PLANFOLD_WRITE_DOCS=1.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ROUTES } from '../src/server/routes/route-list.ts'
import { routesList } from '../src/server/routes-list.fixture.ts'

const file = resolve(import.meta.dirname, '../docs/formats/http.md')
const PLACE = /(<!-- routes: begin -->\n)[\s\S]*(<!-- routes: end -->)/

test('the document lists every route there is', () => {
  const text = readFileSync(file, 'utf8')
  const listed = text.replace(PLACE, (_, begin: string, end: string) => `${begin}\n${routesList(ROUTES)}\n${end}`)
  if (process.env.PLANFOLD_WRITE_DOCS === '1') writeFileSync(file, listed)
  else
    expect(
      text,
      'write it anew: PLANFOLD_WRITE_DOCS=1 npx vitest run --project unit:whole test/http-docs.test.ts',
    ).toBe(listed)
})
