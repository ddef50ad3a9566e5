// Asks for a rollback or an undo on the built package and carries it out; when one is under way already, finishes that one. One
// that was stopped, because nobody knows whether a compensation happened, is asked for again, by force.
//
//   node rollback-driver.mjs WORKSPACE PLAN ORDER.json-text      prints {"end": …}

import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const { compose, trusted } = await import(pathToFileURL(`${dist}/index.js`).href)

export async function goBack({ workspace, name, order, environment }, say) {
  const caller = trusted('crash test')
  const { engine, worker, close } = await compose({ cwd: workspace, environment, caller })

  const { plan } = await engine.ask({ type: 'find', reference: name })
  const events = async () => {
    const entries = await engine.ask({ type: 'entries', plan, limit: 10_000 })
    return entries.flatMap(entry => entry.events).filter(({ type }) => type.startsWith('rollback.'))
  }
  const asked = JSON.parse(order)
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
  say({ end: { status, tasks, check, last } })
  await close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [workspace, name, order] = process.argv.slice(2)
  await goBack({ workspace, name, order, environment: process.env }, value =>
    process.stdout.write(`${JSON.stringify(value)}\n`),
  )
}
