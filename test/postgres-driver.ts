// A process that drives a plan kept in PostgreSQL, to be killed by postgres.test.ts.

import { compose, trusted } from '../src/index.ts'

const [database, folder, plan] = process.argv.slice(2) as [string, string, string]
const { worker, close } = await compose({ cwd: folder, environment: process.env, caller: trusted('worker'), database })
await worker.drive(plan as never, { stop: new AbortController().signal })
await close()
