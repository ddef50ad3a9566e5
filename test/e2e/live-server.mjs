// A service of the built package in a process of its own, with limits as the test wants them. It tells its port, says how much memory
// it holds when asked, takes other limits for whoever comes next, and writes entries of a given size at full speed when told to.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist, folder, limitsText] = process.argv.slice(2)
const from = path => import(pathToFileURL(join(dist, path)).href)
const { compose } = await from('compose.js')
const { trusted } = await from('engine/roles.js')
const { LIMITS } = await from('server/limits.js')
const { Live } = await from('server/live/hub.js')
const { openGuard } = await from('server/auth/guard.js')
const { openMeter } = await from('server/monitoring/metrics.js')
const { listRoutes } = await from('server/routes/route-list.js')
const { serve } = await from('server/serve.js')

const environment = { PATH: process.env.PATH, HOME: folder }
const composed = await compose({ cwd: folder, environment, dir: join(folder, '.planfold'), caller: trusted('server') })
const { engine, worker, feed, now, root, stateDir } = composed
const limits = { ...LIMITS, ...JSON.parse(limitsText) }
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: (...said) => console.error(...said) }
const monotonic = () => performance.now()
const live = new Live({ feed, log, limits, now, monotonic })
const stopping = new AbortController().signal
const rooms = {
  engine,
  worker,
  guard: openGuard(),
  log,
  meter: openMeter('0'),
  live,
  limits,
  routes: await listRoutes(),
  now,
}
const rest = { random: randomBytes, root, stateDir, version: '0', stopping }
const serving = await serve({ ...rooms, ...rest }, { host: '127.0.0.1', port: 0, monotonic })

process.on('message', async message => {
  if (message === 'memory') {
    process.send({ ...(await settled()), streams: live.count })
    return
  }
  if (message === 'streams') {
    process.send({ streams: live.count })
    return
  }
  if (message.limits !== undefined) {
    process.send(Object.assign(limits, message.limits))
    return
  }
  const { plan, entries, chars } = message
  const note = async at => {
    const text = `${at} ${'ü'.repeat(chars / 2)}${'x'.repeat(chars / 2)}`
    const noted = await engine.submit(plan, { type: 'note', text }, 'server')
    if (!noted.ok) throw new Error(noted.refusal.message)
  }
  // A few at a time, which share their commit.
  for (let at = 0; at < entries; at += 5) await Promise.all([0, 1, 2, 3, 4].map(more => note(at + more)))
  process.send({ written: entries })
})
const GC_ROUNDS_MAX = 20
const GC_REST_MS = 50
const SAME_BYTES = 200_000

/** What is held, and what the system has lent. Buffers are freed in the background, some only by the collection after the one that
 * found them, and their pages go back later still: so it collects and rests until neither number moves. */
async function settled() {
  let last = null
  for (let round = 0; round < GC_ROUNDS_MAX; round++) {
    globalThis.gc()
    await new Promise(resolve => setTimeout(resolve, GC_REST_MS))
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
    // What a socket waits to write is among the buffers, and not among what is called external.
    const next = { rss, held: heapUsed + external + arrayBuffers }
    const isSame = key => last !== null && Math.abs(next[key] - last[key]) < SAME_BYTES
    if (isSame('rss') && isSame('held')) return next
    last = next
  }
  return last
}

process.once('disconnect', () => process.exit())
process.send({ port: serving.port })
