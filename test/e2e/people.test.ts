// People in the loop: hooks that hang, fail and kill, servers that answer badly, questions across terminals.

import { chmod } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import { jsonBy, type Place } from './planfold.fixture.ts'

let here: Place
const servers: Server[] = []
beforeEach(async () => {
  here = await place()
})
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  await here.remove()
})

interface Told {
  readonly id: string
  readonly kind: string
  readonly task: string | null
  readonly text: string
}

async function hook(script: string): Promise<void> {
  await here.write('hook.sh', `#!/bin/sh\n${script}\n`)
  await chmod(join(here.folder, 'hook.sh'), 0o755)
}
const told = async (): Promise<readonly Told[]> =>
  (await here.read('told.jsonl').catch(() => ''))
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Told)
const plan = (body: string): Promise<void> => here.write('p.yaml', `planfold: 1\nname: p\n${body}`)
async function sent(
  planfold = here.planfold,
): Promise<readonly { readonly kind: string; readonly failure?: string }[]> {
  const { stdout } = await planfold('audit', 'p', '--format', 'jsonl')
  const lines = stdout.split('\n').filter(line => line.includes('notified ') || line.includes('could not notify'))
  return lines.map(line => (JSON.parse(line) as { facts: { kind: string; failure?: string } }).facts)
}
async function serve(
  answer: (nth: number) => { status: number; headers?: Record<string, string>; body?: string } | null,
) {
  const heard: Told[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    heard.push(JSON.parse(body) as Told)
    const said = answer(heard.length)
    if (said !== null) response.writeHead(said.status, said.headers).end(said.body ?? '')
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}
const same = async (): Promise<void> => {
  const { stdout, exit } = await here.planfold('audit', 'replay', 'p')
  expect(exit, stdout).toBe(0)
}

/** Until somebody drives the plan. */
async function driven(): Promise<void> {
  const json = jsonBy((...argv) => here.start(...argv).ended)
  for (let tries = 0; tries < 100; tries++) {
    const summary = (await json('status', 'p')) as { readonly holder: { readonly alive: boolean } | null }
    if (summary.holder?.alive === true) return
  }
  throw new Error('nobody drives the plan')
}

const RECORD = 'cat >> told.jsonl'

describe('a notice', () => {
  it('that was sent by a process killed before it could say so is sent once more, under the same id, and journaled once', async () => {
    await hook(`${RECORD}; test -e killed || { touch killed; kill -9 $PPID; }`)
    await plan('notify: [{ run: [./hook.sh] }]\ntasks: [{ id: review, gate: approval }]\n')
    const killed = await here.start('run', 'p.yaml').ended
    expect(killed.exit).toBe(null)
    expect(await told()).toHaveLength(1)
    // By a process of its own: what only looks at a log that a kill has left cannot be followed by a writer in the same one.
    expect(await sent((...argv) => here.start(...argv).ended)).toEqual([])
    expect((await here.planfold('resume', 'p')).exit).toBe(4)
    const [first, second, ...more] = await told()
    expect(more).toEqual([])
    expect(second).toEqual(first)
    expect(await sent()).toMatchObject([{ kind: 'waiting' }])
    // Its answer ends the plan, and whoever gives it tells so: nobody drives it.
    await here.planfold('approve', 'p', 'review')
    expect((await told()).slice(2)).toMatchObject([{ kind: 'completed' }])
    await same()
  })

  it('of the end is not lost with the process that should have sent it', async () => {
    await hook(`test -e killed && ${RECORD} || { touch killed; kill -9 $PPID; }`)
    await plan('notify: [{ on: [completed], run: [./hook.sh] }]\ntasks: [{ id: a, run: ["true"], effect: pure }]\n')
    expect((await here.start('run', 'p.yaml').ended).exit).toBe(null)
    expect(await told()).toEqual([])
    const ended = await here.planfold('resume', 'p')
    expect(ended.stderr).toContain('is completed')
    expect(await told()).toMatchObject([{ kind: 'completed', task: null }])
    await here.planfold('resume', 'p')
    expect(await told()).toHaveLength(1)
  })

  it('whose hook hangs delays neither the plan nor whoever stops it', async () => {
    await hook('sleep 600')
    await plan(`notify: [{ run: [./hook.sh] }]
tasks:
  - { id: review, gate: approval }
  - { id: one, run: ["true"], effect: pure }
  - { id: two, needs: [one], run: ["true"], effect: pure }
  - { id: last, needs: [two], run: ["true"], effect: pure }
`)
    const running = here.start('run', 'p.yaml')
    await running.until('last completed')
    running.kill('SIGINT')
    const { exit, stdout } = await running.ended
    expect(exit, stdout).toBe(130)
    expect(await sent()).toEqual([])
  })

  it('reaches a server that is busy at first; one that redirects or is gone is told of in the journal', async () => {
    const busy = await serve(nth => (nth === 1 ? { status: 503 } : { status: 204 }))
    const elsewhere = await serve(() => ({ status: 200 }))
    const moved = await serve(() => ({ status: 302, headers: { location: elsewhere.url } }))
    await plan(`notify: [{ webhook: "${busy.url}" }, { webhook: "${moved.url}" }]
tasks: [{ id: review, title: "Prüfen \\u202egnp ✓", gate: approval }]
`)
    expect((await here.planfold('run', 'p.yaml')).exit).toBe(4)
    expect(busy.heard).toHaveLength(2)
    expect(busy.heard[0]).toEqual(busy.heard[1])
    expect(busy.heard[0]).toMatchObject({ title: 'Prüfen \\u{202e}gnp ✓', task: 'review' })
    expect([moved.heard.length, elsewhere.heard.length]).toEqual([1, 0])
    const failures = (await sent()).map(({ failure = null }) => failure)
    expect(failures).toContain('answered 302; redirects are not followed')
    expect(failures).toContain(null)
    await same()
  })

  it('of a question reaches people once, whether somebody drives the plan or nobody does', async () => {
    await hook(RECORD)
    await plan('notify: [{ run: [./hook.sh] }]\ntasks: [{ id: work }]\n')
    await here.planfold('run', 'p.yaml')
    await here.planfold('ask', 'p', 'work', 'first?')
    const driver = here.start('run', 'p.yaml', '--wait')
    await driven()
    const asked = here.planfold('ask', 'p', 'work', 'second?')
    await driver.until('second?')
    await driver.until('notified ')
    await asked
    driver.kill('SIGINT')
    await driver.ended
    expect((await told()).map(({ text }) => text)).toEqual([
      'ana@example.com, at work, asks: first?',
      'ana@example.com, at work, asks: second?',
    ])
    expect(await sent()).toHaveLength(2)
    await same()
  })
})

describe('an agent that asks', () => {
  it('waits for the answer that a person gives in another terminal', async () => {
    await plan('tasks: [{ id: work }]\n')
    await here.planfold('run', 'p.yaml')
    const asking = here.start('ask', 'p', 'work', 'Which \u202eregion?', '--field', 'region:choice:eu,us', '--wait')
    await asking.until('waits in the inbox')
    const { items } = (await here.json('inbox')) as { items: readonly { id: string }[] }
    const { id } = items[0]!
    expect((await here.planfold('--as', 'bo', 'inbox', 'answer', id, 'region=eu')).exit).toBe(0)
    expect(await asking.ended).toMatchObject({ exit: 0, stdout: 'region=eu\n' })
  })
})
