// One candidate of the service benchmark in a process of its own: `service-process.ts bare FOLDER`, a bare Hono handler over the
// same SQLite settings with one durable write a POST; anything else is handed to the `planfold` command. Prints its port.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { DatabaseSync } from '@photostructure/sqlite'
import { Hono } from 'hono'

if (process.argv[2] === 'bare') bare(process.argv[3]!)
else await import('../src/cli/main.ts')

function bare(folder: string): void {
  const database = new DatabaseSync(join(folder, 'bare.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE plans (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT')
  database.exec('CREATE TABLE tasks (id TEXT PRIMARY KEY, plan_id TEXT NOT NULL, body TEXT NOT NULL) STRICT')
  const addPlan = database.prepare('INSERT INTO plans VALUES (?, ?)')
  const addTask = database.prepare('INSERT INTO tasks VALUES (?, ?, ?)')
  const plan = database.prepare('SELECT body FROM plans WHERE id = ?')
  // Keeps it open: statements alone do not.
  process.once('exit', () => database.close())
  const app = new Hono()
  app.post('/plans', async context => {
    const body = { id: randomUUID(), status: 'draft', ...(await context.req.json()) }
    addPlan.run(body.id, JSON.stringify(body))
    return context.json(body, 201)
  })
  app.get('/plans/:id', context => {
    const row = plan.get(context.req.param('id')) as { body: string } | undefined
    return row === undefined ? context.json({ error: 'not found' }, 404) : context.json(JSON.parse(row.body))
  })
  app.post('/tasks', async context => {
    const body = { id: randomUUID(), status: 'pending', ...(await context.req.json()) }
    addTask.run(body.id, body.plan_id, JSON.stringify(body))
    return context.json(body, 201)
  })
  serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(JSON.stringify({ port })))
}
