// One process of the resume benchmark, in plain JavaScript on the built package: no loader stands between start and first task.

import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'

const [mode, folder] = process.argv.slice(2)

if (mode === 'raw' || mode === 'raw-make') {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(join(folder, 'raw.db'))
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL')
  if (mode === 'raw-make') {
    db.exec('CREATE TABLE steps (no INTEGER PRIMARY KEY, body TEXT); BEGIN')
    const insert = db.prepare('INSERT INTO steps (body) VALUES (?)')
    for (let at = 0; at < 10_000; at++) insert.run('x'.repeat(100))
    db.exec('COMMIT')
  } else {
    const rows = db.prepare('SELECT no, body FROM steps').all()
    db.prepare('INSERT INTO steps (body) VALUES (?)').run('next')
    process.stdout.write(`${rows.length}\n`)
  }
} else {
  const { systemClock } = await import('../dist/engine/clock.js')
  const { StoreSqlite } = await import('../dist/stores/sqlite/store-sqlite.js')
  const { thisHost } = await import('../dist/stores/host.js')
  const { EngineLocal } = await import('../dist/engine/engine-local.js')
  const { WorkerLocal } = await import('../dist/engine/worker.js')
  const { processTree } = await import('../dist/runners/run/process-tree.js')
  let ran = 0
  const runner = {
    action: 'run',
    async attempt() {
      if (mode === 'planfold') process.stdout.write('next\n')
      else if (++ran === 5_000) process.stdout.write('half\n')
      return mode === 'half' && ran >= 5_000
        ? new Promise(() => {})
        : { type: 'done', outputs: { answer: 42, text: 'x'.repeat(70) } }
    },
  }
  const store = await StoreSqlite.open({ folder, clock: systemClock, host: thisHost(process.pid), newId: randomUUID })
  const rooms = {
    store,
    runners: new Map([['run', runner]]),
    processes: processTree(),
    clock: systemClock,
    random: randomBytes,
    root: folder,
    stateDir: folder,
    environment: {},
    leaseMs: 15_000,
  }
  const engine = new EngineLocal(rooms)
  const worker = new WorkerLocal(rooms)
  if (mode === 'half') {
    // `effect: pure`, so that the attempt in flight at the kill is simply made again.
    const tasks = Array.from({ length: 10_000 }, (_, at) => ({
      id: `t${at}`,
      ...(at === 0 ? {} : { needs: [`t${at - 1}`] }),
      effect: 'pure',
      action: { type: 'run', command: { argv: ['true'] } },
    }))
    const made = await engine.submit(null, { type: 'create', definition: { name: 'long', tasks } }, 'bench')
    await engine.submit(made.plan, { type: 'start' }, 'bench')
  }
  const found = await engine.ask({ type: 'find', reference: 'long' })
  await worker.drive(found.plan, { stop: new AbortController().signal })
}
