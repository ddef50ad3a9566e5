// Plans with http and db tasks, run whole: real servers on the loopback, a real database, a real store.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Event } from '../../../domain/event.ts'
import { eachPlace } from '../../place.fixture.ts'
import { approve } from '../people/approve.ts'
import { inbox } from '../people/inbox.ts'
import { set } from '../policy/secrets.ts'
import { rollback } from '../undo/rollback.ts'
import { log } from './log.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'

const place = eachPlace()

const SECRET = 'tok_Zx81qLk+9/vT==mQ7wE2'
const json = () => ({ json: true, environment: { XDG_CONFIG_HOME: join(place.folder, '..', 'none'), API_KEY: SECRET } })
const start = async (text: string) => {
  await place.write('p.yaml', text)
  return await place.say(context => run(context, 'p.yaml', { start: true }), json())
}

async function site(answer: RequestListener): Promise<{ readonly port: number; readonly heard: string[] }> {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers['idempotency-key'] ?? ''}`.trim())
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, heard }
}

/** What the journal says of the network. */
async function reached(): Promise<readonly string[]> {
  const said = await place.say(context => log(context, 'p', undefined, {}), json())
  const { items } = (JSON.parse(said.stdout) as { data: { items: { type: Event['type']; text: string }[] } }).data
  return items.filter(({ type }) => type === 'network.decided').map(({ text }) => text)
}

describe('http', () => {
  it('an answer flows on, `expect` knows its status, and the journal says where it went', async () => {
    const { port } = await site((_, response) => {
      response.setHeader('content-type', 'application/json')
      response.end('{"version": "1.2.3"}')
    })
    const said = await start(`planfold: 1
name: p
policy: { network: ["http://127.0.0.1:${port}"] }
tasks:
  - { id: ask, http: "http://127.0.0.1:${port}/version", expect: status == 200 && outputs.json.version.startsWith('1.') }
  - { id: use, needs: [ask], effect: pure, run: [echo, "\${{ tasks.ask.outputs.json.version }}"], outputs: { said: stdout } }
`)
    expect(said.stderr).toBe('')
    expect(said.stdout).toContain('"completed"')
    expect(said.stdout).toContain('1.2.3')
    expect(await reached()).toEqual([
      expect.stringContaining(`asked for 127.0.0.1:${port} (GET /version): allowed by http://127.0.0.1:${port}`),
    ])
  })

  it('a redirect to the metadata service is refused, and journaled', async () => {
    const { port } = await site((_, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' })
      response.end()
    })
    const said = await start(`planfold: 1
name: p
policy: { network: ["http://127.0.0.1:${port}", "*"] }
tasks: [{ id: ask, http: "http://127.0.0.1:${port}/" }]
`)
    expect(said.stdout).toContain('169.254.169.254:80 is not allowed')
    const told = (await reached()).join('\n')
    expect(told).toContain(`asked for 127.0.0.1:${port} (GET /): allowed`)
    expect(told).toContain('asked for 169.254.169.254:80 (GET /latest/meta-data/): not allowed (it is link-local')
  })

  it('without a rule a private address is refused, also where the plan says nothing of the network', async () => {
    const { port, heard } = await site((_, response) => response.end())
    const said = await start(`planfold: 1\nname: p\ntasks: [{ id: ask, http: "http://127.0.0.1:${port}/" }]\n`)
    expect(said.stdout).toContain('it is this machine, and no rule names the address')
    expect(heard).toEqual([])
  })

  it('what must not be sent twice waits for a person, who sees it with secrets by their names; with a key nobody is asked', async () => {
    const { port, heard } = await site((_, response) => {
      response.writeHead(201)
      response.end()
    })
    await place.say(context => set(context, 'API', { env: 'API_KEY' }), json())
    const release = (more: string) =>
      `http: { method: POST, url: "http://127.0.0.1:${port}/releases", headers: { authorization: "Bearer \${{ secrets.API }}" }, json: { tag: v1 }${more} }, secrets: [API], expect: status == 201`
    const said = await start(`planfold: 1
name: p
policy: { network: ["http://127.0.0.1:${port}"] }
tasks:
  - { id: keyed, ${release(', key: auto')} }
  - { id: once, needs: [keyed], ${release('')} }
`)
    expect(said.stderr).toBe('')
    expect(heard).toEqual([expect.stringMatching(/^POST \/releases [0-9a-f-]+\/keyed\/1$/)])
    expect(said.stdout).toContain('waiting')
    const shown = await place.say(context => inbox(context, {}), { environment: json().environment })
    expect(shown.stdout).toContain('authorization: Bearer ${{ secrets.API }}')
    expect(shown.stdout).toContain('sends a request that must not be repeated')
    await place.say(context => approve(context, 'p', 'once', {}), json())
    await place.say(context => resume(context, 'p', {}), json())
    expect(heard.length).toBe(2)
    expect(heard[1]).toBe('POST /releases')
    const whole = await place.say(context => log(context, 'p', undefined, { output: true }), json())
    expect(whole.stdout).not.toContain(SECRET)
  })
})

describe('a download', () => {
  it('is an output like any other file, goes into its scope only, and goes back with a rollback', async () => {
    const { port } = await site((_, response) => response.end('{"cities": ["Lima"]}'))
    const plan = (more: string) => `planfold: 1
name: p
policy: { network: ["http://127.0.0.1:${port}"]${more} }
tasks:
  - { id: before, effect: pure, run: ['true'] }
  - { id: fetch, needs: [before], http: "http://127.0.0.1:${port}/c", outputs: { found: { file: data/cities.json } } }
  - { id: use, needs: [fetch], effect: pure, run: [echo, "\${{ tasks.fetch.outputs.found.cities[0] }}"], outputs: { said: stdout } }
`
    const outside = await start(plan(', write: [src/**]'))
    expect(outside.stderr + outside.stdout).toContain(
      "'fetch' downloads into 'data/cities.json', which is not in the plan's policy.write",
    )
    const said = await start(plan(''))
    expect(said.stdout).toContain('"completed"')
    expect(said.stdout).toContain('Lima')
    expect(await place.read('data/cities.json')).toBe('{"cities": ["Lima"]}')
    await place.say(context => rollback(context, 'p', { to: 'before', yes: true }), json())
    await expect(place.read('data/cities.json')).rejects.toThrow('ENOENT')
  })
})

describe('db', () => {
  const database = () => {
    const open = new DatabaseSync(join(place.folder, 'app.db'))
    open.exec(
      "create table if not exists users (id integer primary key, name text); insert into users (name) values ('ann'), ('bob')",
    )
    open.close()
  }
  const names = () => {
    const open = new DatabaseSync(join(place.folder, 'app.db'))
    const found = open.prepare('select name from users order by id').all()
    open.close()
    return found.map(({ name }) => name)
  }
  const CHANGE = `{ id: change, write: [app.db], db: { url: "sqlite:app.db", execute: "update users set name = ? where id = 1", values: [eve] }`

  it('rows flow on; a change asks first, and is undone by what the plan says', async () => {
    database()
    const said = await start(`planfold: 1
name: p
tasks:
  - { id: count, db: { url: "sqlite:app.db", query: "select count(*) as n from users" }, expect: 'rows[0].n == 2' }
  - { id: show, needs: [count], effect: pure, run: [echo, "\${{ tasks.count.outputs.rows[0].n }} users"], outputs: { said: stdout } }
  - ${CHANGE}, needs: [show], compensate: { db: { url: "sqlite:app.db", execute: "update users set name = ? where id = 1", values: [ann] } } }
`)
    expect(said.stderr).toBe('')
    expect(said.stdout).toContain('2 users')
    expect(names()).toEqual(['ann', 'bob'])
    await place.say(context => approve(context, 'p', 'change', {}), json())
    const done = await place.say(context => resume(context, 'p', {}), json())
    expect(done.stdout).toContain('"completed"')
    expect(names()).toEqual(['eve', 'bob'])
    await place.say(context => rollback(context, 'p', { to: 'show', yes: true }), json())
    expect(names()).toEqual(['ann', 'bob'])
  })

  it('a change that nobody could undo, or of a file in no scope, is refused before anything runs', async () => {
    database()
    const said = await start(`planfold: 1\nname: p\ntasks:\n  - ${CHANGE} }\n`)
    expect(said.stderr + said.stdout).toContain('does not say how to undo that')
    const outside = await start(
      `planfold: 1\nname: p\ntasks:\n  - ${CHANGE.replace('write: [app.db], ', '')}, compensate: { run: 'true' } }\n`,
    )
    expect(outside.stderr + outside.stdout).toContain('is in no write scope')
    expect(names()).toEqual(['ann', 'bob'])
  })
})
