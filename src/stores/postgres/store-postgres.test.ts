import { afterAll, describe, it } from 'vitest'
import { storeContract } from '../store.contract.ts'
import { setup, startServer } from './postgres.fixture.ts'

const server = await startServer()

if (server === null)
  describe('postgres', () => {
    it.skip('there is no PostgreSQL here: install it, or set PLANFOLD_TEST_DATABASE', () => {})
  })
else {
  console.log(`PostgreSQL ${server.version}`)
  afterAll(() => server.stop())
  storeContract('postgres', options => setup(server, options))
}
