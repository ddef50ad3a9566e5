// The entry point of a document pool thread: runs one job at a time and answers each with one message.

import { isDeepStrictEqual } from 'node:util'
import { parentPort } from 'node:worker_threads'
import { checkBody } from '../body.ts'
import { LIMITS } from '../limits.ts'
import type { Route } from '../route.ts'
import { listRoutes } from '../routes/route-list.ts'
import { JOBS } from './document-jobs.ts'
import type { BodyInput, BodyOutput, Reply, Request } from './document-pool.ts'

parentPort?.on('message', async ({ job, input }: Request) => {
  parentPort?.postMessage(await replyTo(job, input))
})

async function replyTo(job: Request['job'], input: string): Promise<Reply> {
  try {
    const value = JSON.parse(input) as never
    return job === 'read-body' ? exactly(await readBody(value)) : { text: JSON.stringify(await JOBS[job](value)) }
  } catch (error) {
    return { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

let routes: ReturnType<typeof listRoutes> | null = null

async function readBody({ method, path, text, limits }: BodyInput): Promise<BodyOutput> {
  routes ??= listRoutes()
  const route = (await routes).find(one => one.method === method && one.path === path) as
    | Route<unknown, unknown>
    | undefined
  return route === undefined ? { unknownRoute: true } : checkBody(route.body, text, { ...LIMITS, ...limits })
}

/** Sends JSON text, unless the schema produced a value that JSON cannot represent. */
function exactly(value: BodyOutput): Reply {
  const text = JSON.stringify(value)
  return isDeepStrictEqual(JSON.parse(text), value) ? { text } : { value }
}
