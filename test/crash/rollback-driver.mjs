// Asks for a rollback or an undo on the built package and carries it out; when one is under way already, finishes that one. One
// that was stopped, because nobody knows whether a compensation happened, is asked for again, by force.
//
//   node rollback-driver.mjs WORKSPACE PLAN ORDER.json-text      prints {"end": …}

import { pathToFileURL } from 'node:url'

const [workspace, name, order] = process.argv.slice(2)
const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const { compose } = await import(pathToFileURL(`${dist}/compose.js`).href)
const { trusted } = await import(pathToFileURL(`${dist}/engine/roles.js`).href)
const caller = trusted('crash test')
const { engine, worker, close } = await compose({ cwd: workspace, environment: process.env, caller })

const { plan } = await engine.ask({ type: 'find', reference: name })
const events = async () => {
  const entries = await engine.ask({ type: 'entries', plan, limit: 10_000 })
  return entries.flatMap(entry => entry.events).filter(({ type }) => type.startsWith('rollback.'))
}
const asked = { ...JSON.parse(order) }
const wanted = asked.type === 'undo' ? 'undo' : 'rollback'
for (let tries = 0; tries < 3; tries++) {
  const told = await events()
  const last = told.at(-1)
  const begun = told.findLast(({ type }) => type === 'rollback.started')
  if (last?.type === 'rollback.finished' && begun.kind === wanted) break
  if (last?.type !== 'rollback.started') {
    const submitted = await engine.submit(plan, { ...asked, ...(tries > 0 ? { force: true } : {}) })
    if (!submitted.ok) throw new Error(submitted.refusal.message)
  }
  await worker.drive(plan, { stop: new AbortController().signal })
}
const { status } = await engine.ask({ type: 'summary', plan })
const board = await engine.ask({ type: 'board', plan })
const check = await engine.ask({ type: 'check', readData: true })
const last = (await events()).at(-1)
const tasks = Object.fromEntries(board.map(card => [card.name, card.status]))
process.stdout.write(`${JSON.stringify({ end: { status, tasks, check, last } })}\n`)
await close()
