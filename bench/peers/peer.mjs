// One peer in a process of its own: `node peer.mjs bullmq chain 10000 ADDRESS`. Each does the same work as Planfold's candidate: steps
// that do nothing and give about a hundred bytes, each durable before the next begins. Prints one line of JSON. A run counts only
// when every step was carried out.

const RESULT = { answer: 42, text: 'x'.repeat(70) }
const WIDE = 64
const PLANS_AT_ONCE = 16
const PLAN_STEPS = 10
const WARM = 1_000

// Restate's library takes this from Node 22.
Promise.withResolvers ??= function withResolvers() {
  const settled = {}
  settled.promise = new Promise((resolve, reject) => Object.assign(settled, { resolve, reject }))
  return settled
}

const [who, shape, count, address] = process.argv.slice(2)
const steps = Number(count)
let ran = 0
const noop = async () => {
  ran++
  return RESULT
}

const peers = { bullmq, dbos, restate }
const { run, close } = await peers[who](address)
if (shape === 'lane') await lane()
else await once()

async function once() {
  await run('chain', WARM)
  const before = ran
  const began = performance.now()
  await run(shape, steps)
  const seconds = (performance.now() - began) / 1_000
  // The two ends of a fan-out are steps too.
  if (ran - before < steps) throw new Error(`${who} carried out ${ran - before} of ${steps} steps`)
  console.log(JSON.stringify({ who, shape, steps, perSecond: Math.round(steps / seconds) }))
  await close()
  process.exit(0)
}

/** Stays warm, and answers each message with how many milliseconds its steps took. */
async function lane() {
  process.on('message', async ({ shape, steps }) => {
    const before = ran
    const began = performance.now()
    await run(shape, steps)
    const ms = performance.now() - began
    if (ran - before < steps) throw new Error(`${who} carried out ${ran - before} of ${steps} steps`)
    process.send({ ms })
  })
  process.once('disconnect', () => process.exit(0))
  process.send('ready')
}

/** A few at a time. */
async function inTurns(jobs, width) {
  const queue = [...jobs]
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job()
    }),
  )
}

/** Jobs in Redis that syncs each write; a step of a chain adds the next one when it is done. */
async function bullmq(port) {
  const { FlowProducer, Queue, QueueEvents, Worker } = await import('bullmq')
  const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null }
  const name = `steps-${process.pid}`
  const [queue, flows, events] = [
    new Queue(name, { connection }),
    new FlowProducer({ connection }),
    new QueueEvents(name, { connection }),
  ]
  const waiting = new Map()
  const worker = new Worker(
    name,
    async job => {
      const result = await noop()
      const { chain, left } = job.data
      if (chain !== undefined && left > 1) await queue.add('step', { chain, left: left - 1 })
      else if (chain !== undefined) setImmediate(() => waiting.get(chain)())
      return result
    },
    { connection, concurrency: WIDE },
  )
  await Promise.all([worker.waitUntilReady(), events.waitUntilReady()])
  let made = 0
  const chain = length =>
    new Promise((resolve, reject) => {
      const id = made++
      waiting.set(id, resolve)
      queue.add('step', { chain: id, left: length }).catch(reject)
    })
  return {
    run: async (kind, length) => {
      if (kind === 'chain') return await chain(length)
      if (kind === 'many')
        return await inTurns(
          Array.from({ length: length / PLAN_STEPS }, () => () => chain(PLAN_STEPS)),
          PLANS_AT_ONCE,
        )
      const children = Array.from({ length }, (_, at) => ({ name: `t${at}`, queueName: name, data: {} }))
      const { job } = await flows.add({ name: 'last', queueName: name, data: {}, children })
      await job.waitUntilFinished(events)
    },
    close: async () => await Promise.all([worker.close(true), queue.close(), flows.close(), events.close()]),
  }
}

/** Steps of workflows in PostgreSQL. */
async function dbos(url) {
  const { DBOS } = await import('@dbos-inc/dbos-sdk')
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error', runAdminServer: false })
  const step = at => DBOS.runStep(noop, { name: `t${at}` })
  const chain = DBOS.registerWorkflow(
    async length => {
      for (let at = 0; at < length; at++) await step(at)
    },
    { name: 'chain' },
  )
  const fanOut = DBOS.registerWorkflow(
    async length => {
      await step('first')
      for (let from = 0; from < length; from += WIDE)
        await Promise.all(Array.from({ length: Math.min(WIDE, length - from) }, (_, at) => step(from + at)))
      await step('last')
    },
    { name: 'fanOut' },
  )
  await DBOS.launch()
  return {
    run: async (kind, length) => {
      if (kind === 'chain') await chain(length)
      else if (kind === 'fan-out') await fanOut(length)
      else
        await inTurns(
          Array.from({ length: length / PLAN_STEPS }, () => () => chain(PLAN_STEPS)),
          PLANS_AT_ONCE,
        )
    },
    close: () => DBOS.shutdown(),
  }
}

/** Steps of handlers that a Restate server calls. */
async function restate(ports) {
  const { endpoint, service, RestatePromise } = await import('@restatedev/restate-sdk')
  const { createServer } = await import('node:http2')
  const [ingress, admin] = ports.split(',')
  const plans = service({
    name: 'plans',
    handlers: {
      chain: async (ctx, length) => {
        for (let at = 0; at < length; at++) await ctx.run(`t${at}`, noop)
        return length
      },
      fanOut: async (ctx, length) => {
        await ctx.run('first', noop)
        for (let from = 0; from < length; from += WIDE)
          await RestatePromise.all(
            Array.from({ length: Math.min(WIDE, length - from) }, (_, at) => ctx.run(`t${from + at}`, noop)),
          )
        await ctx.run('last', noop)
        return length
      },
    },
  })
  const server = createServer(endpoint().bind(plans).http2Handler())
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const registered = await fetch(`http://127.0.0.1:${admin}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${server.address().port}`, force: true }),
  })
  if (!registered.ok) throw new Error(`not registered: ${await registered.text()}`)
  const call = async (handler, length) => {
    const response = await fetch(`http://127.0.0.1:${ingress}/plans/${handler}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(length),
    })
    if (!response.ok) throw new Error(await response.text())
    await response.text()
  }
  return {
    run: async (kind, length) => {
      if (kind !== 'many') return await call(kind === 'chain' ? 'chain' : 'fanOut', length)
      await inTurns(
        Array.from({ length: length / PLAN_STEPS }, () => () => call('chain', PLAN_STEPS)),
        PLANS_AT_ONCE,
      )
    },
    close: () => server.close(),
  }
}
