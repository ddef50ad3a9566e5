// One process of the resume benchmark, compiled like the package: no loader stands between start and first task.

import { join } from 'node:path'
import { trusted } from '../src/engine/roles.ts'
import type { Runner } from '../src/runners/runner.ts'

const [mode, folder] = process.argv.slice(2) as [string, string]

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
  const { EngineLocal } = await import('../src/engine/engine-local.ts')
  const { WorkerLocal } = await import('../src/engine/loop/worker.ts')
  const { processTree } = await import('../src/runners/run/process-tree.ts')
  const { openRooms, chain } = await import('./candidates.ts')
  let ran = 0
  const runner: Runner = {
    action: 'run',
    async attempt() {
      if (mode === 'planfold') process.stdout.write('next\n')
      else if (++ran === 5_000) process.stdout.write('half\n')
      if (mode === 'half' && ran >= 5_000) await new Promise(() => {})
      return { type: 'done', outputs: { answer: 42, text: 'x'.repeat(70) } }
    },
  }
  const rooms = { ...(await openRooms(folder)), runners: new Map([['run' as const, runner]]), processes: processTree() }
  const engine = new EngineLocal(rooms, trusted('bench'))
  const worker = new WorkerLocal(rooms)
  if (mode === 'half') {
    // `effect: pure`, so that the attempt in flight at the kill is simply made again.
    const definition = chain('long', 10_000)
    const tasks = definition.tasks.map(task => ({ ...task, effect: 'pure' as const }))
    await engine.submit(null, { type: 'create', definition: { ...definition, tasks } })
    await engine.submit('long', { type: 'start' })
  }
  const found = await engine.ask({ type: 'find', reference: 'long' })
  await worker.drive(found!.plan, { stop: new AbortController().signal })
}
