// Drives a plan on the built package, as the CLI does, and quicker to start: makes it, starts it, approves its gates, and says
// on its output what it was told is durable. Whatever it printed must be in the journal after any crash (promise P03).
//
//   node driver.mjs WORKSPACE DEFINITION.json      one JSON value a line: ack …, parked …, end …
//
// CRASH_VERDICT=done|again is the one decision a person makes about a parked task.

import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const { compose, trusted } = await import(pathToFileURL(`${dist}/index.js`).href)

export async function drive({ workspace, definition: file, environment }, say) {
  const definition = JSON.parse(readFileSync(file, 'utf8'))
  const caller = trusted('crash test')
  const { engine, worker, close } = await compose({ cwd: workspace, environment, caller })

  const submit = async (plan, order) => {
    const submitted = await engine.submit(plan, order)
    if (!submitted.ok) throw new Error(submitted.refusal.message)
    say({ ack: submitted.version })
    return submitted
  }

  const found = await engine.ask({ type: 'find', reference: definition.name })
  const plan = found?.plan ?? (await submit(null, { type: 'create', definition })).plan
  const watching = new AbortController()
  const watched = (async () => {
    for await (const entry of engine.watch({ plan, after: 0, signal: watching.signal }))
      say({ seen: entry.version, hash: entry.hash })
  })()

  const { status } = await engine.ask({ type: 'summary', plan })
  if (status === 'draft') await submit(plan, { type: 'start' })
  if (status === 'paused') await submit(plan, { type: 'resume' })
  say({ driving: process.pid })

  let verdict = environment.CRASH_VERDICT
  let driven
  let parked = []
  for (;;) {
    driven = await worker.drive(plan, { stop: new AbortController().signal })
    if (driven.status !== 'rested' || driven.rest !== 'waiting') break
    const { waiting } = await engine.ask({ type: 'summary', plan })
    parked = waiting.filter(({ asks }) => asks.type === 'unknown-outcome')
    const gates = waiting.filter(({ asks }) => asks.type === 'approval')
    for (const { task } of gates)
      await submit(plan, { type: 'decide', task, verdict: 'approved', rationale: 'the harness says yes' })
    if (parked.length > 0 && verdict !== undefined) {
      for (const { task } of parked)
        await submit(plan, { type: 'decide', task, verdict, rationale: 'the recorder knows' })
      verdict = undefined
      continue
    }
    if (gates.length === 0) break
  }
  const summary = await engine.ask({ type: 'summary', plan })
  const board = await engine.ask({ type: 'board', plan })
  const check = await engine.ask({ type: 'check', readData: true })
  watching.abort()
  await watched
  await close()
  say({
    end: {
      plan,
      driven,
      status: summary.status,
      parked: summary.waiting.filter(({ asks }) => asks.type === 'unknown-outcome'),
      tasks: Object.fromEntries(board.map(card => [card.name, card.status])),
      outputs: Object.fromEntries(board.map(card => [card.name, card.outputs])),
      check,
    },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [workspace, definition] = process.argv.slice(2)
  await drive({ workspace, definition, environment: process.env }, value =>
    process.stdout.write(`${JSON.stringify(value)}\n`),
  )
}
