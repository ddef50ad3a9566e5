import { expect, it } from 'vitest'
import { troubleOf } from './trouble.ts'

it('what is thrown and is no trouble of the store is a bug of ours: its text is told to the log only, with the id of the request', () => {
  const logged: object[] = []
  const log = { error: (what: object) => logged.push(what) } as never
  const { problem } = troubleOf(new TypeError('x is undefined'), { log }, 'r-1')
  expect(problem).toMatchObject({
    status: 500,
    detail: 'this is a bug in Planfold; as far as known, it changed nothing',
    hint: 'tell us, with the request id r-1',
  })
  expect(JSON.stringify(problem)).not.toContain('undefined')
  expect(logged).toEqual([{ id: 'r-1', error: expect.stringContaining('TypeError: x is undefined\n    at ') }])
})
