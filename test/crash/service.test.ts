// `planfold serve` killed again and again under load: what it acknowledged is there once, what got no answer is asked again
// under the same key and is there once, whoever listens hears the journal and nothing else, and the plans inside go on.

import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Random } from '../../sim/random.ts'
import { lastingPort } from '../e2e/serve.fixture.ts'
import { commandIn } from './command.ts'
import { makeFolder, until } from './harness.ts'
import { type JournalEntry, readJournal, readPlans } from './kill-loop/journal.ts'
import { Ledger, readLedger } from './kill-loop/ledger.ts'
import { ALL } from './kill-points.ts'

const KILLS = Number(process.env.PLANFOLD_KILLS ?? (ALL ? 200 : 3))
const SEED = Number(process.env.PLANFOLD_SEED ?? (ALL ? Math.floor(Date.now() / 1_000) % 1_000_000 : 1))
const WRITERS = 6
const MAIN = join(process.env.PLANFOLD_DIST ?? resolve(import.meta.dirname, '../../dist'), 'cli/main.js')

interface Service {
  readonly address: string
  kill(): Promise<void>
}

async function serve(workspace: string, port: number): Promise<Service> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(workspace, '..'),
    PLANFOLD_AS: 'service',
  }
  const argv = [MAIN, 'serve', '--no-auth', '--port', String(port), '--log-level', 'silent', '--json']
  const child = spawn(process.execPath, argv, { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [said, isOver] = ['', false]
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = new Promise<void>(done => {
    child.once('exit', () => {
      isOver = true
      done()
    })
  })
  const address = await until('the service to listen', () => {
    if (isOver) throw new Error(`the service ended:\n${said}`)
    return /"address":"([^"]+)"/.exec(said)?.[1]
  })
  return {
    address,
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Somebody who listens to everything, and comes back with the id of the last event that arrived whole. */
class Listener {
  readonly heard: { readonly id: string; readonly event: unknown }[] = []
  #last = '0'

  /** Until the stream is cut off. */
  async follow(address: string, stop?: AbortSignal): Promise<void> {
    try {
      const answer = await fetch(`${address}/events?after=0&progress=false`, {
        headers: { 'last-event-id': this.#last },
        signal: stop,
      })
      let rest = ''
      for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + chunk).split('\n\n')
        rest = frames.pop() ?? ''
        for (const frame of frames) this.#take(frame)
      }
    } catch {}
  }

  #take(frame: string): void {
    const field = (name: string) =>
      frame
        .split('\n')
        .find(line => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const [id, data] = [field('id'), field('data')]
    if (id === undefined) return
    this.#last = id
    if (data === undefined) return
    this.heard.push({ id, event: (JSON.parse(data) as { event?: unknown }).event ?? frame })
  }
}

interface Write {
  readonly name: string
  readonly path: string
  readonly body: unknown
}

/** Plans that begin at once, notes, and tasks of one draft. Each has a name of its own, which is its key too. */
function makeWrite(count: number, random: Random, plans: readonly string[]): Write {
  const kind = random.pick(['plan', 'note', 'note', 'note', 'task', 'task', 'task'] as const)
  const name = `${kind}-${count}`
  if (kind === 'task') return { name, path: '/tasks', body: { plan_id: 'draft', title: name, task_type: 'load' } }
  const plan = plans.length === 0 ? 'draft' : random.pick(plans)
  if (kind === 'note') return { name, path: `/plans/${plan}/notes`, body: { text: name } }
  const task = (id: string, more: object) => ({
    id,
    ...more,
    run: ['bash', 'task.sh', name, id, 'push', `0.0${random.between(1, 9)}`],
  })
  const tasks = [task('a', { effect: 'idempotent' }), task('b', { effect: 'pure', needs: ['a'] })]
  return { name, path: '/plans?start=true', body: { planfold: 1, name, tasks } }
}

test(`${KILLS} kills of the service under load: nothing acknowledged is lost or doubled, listeners hear the journal, plans go on`, {
  timeout: 600_000 + KILLS * 15_000,
}, async () => {
  const random = new Random(`service/${SEED}`)
  const base = makeFolder()
  const workspace = join(base, 'work')
  const ledger = new Ledger(workspace)
  onTestFinished(() => ledger.close())
  const acknowledged = new Map<string, string>()
  const doubtful: Write[] = []
  const listener = new Listener()
  const port = await lastingPort()
  let count = 0
  const send = async (address: string, { name, path, body }: Write): Promise<boolean> => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': name }
    const text = JSON.stringify(body)
    try {
      const answer = await fetch(`${address}${path}`, { method: 'POST', headers, body: text })
      const made = (await answer.json()) as { readonly id?: string; readonly version?: number }
      if (answer.status !== 201) throw new Refused(`seed ${SEED}: ${name}: ${answer.status} ${JSON.stringify(made)}`)
      acknowledged.set(name, String(made.id ?? made.version))
      return true
    } catch (error) {
      // No answer, or half of one: nobody knows whether it was written.
      if (error instanceof Refused) throw error
      return false
    }
  }
  for (let round = 0; round < KILLS; round++) {
    const service = await serve(workspace, port)
    const heard = listener.follow(service.address)
    if (round === 0) expect(await send(service.address, { name: 'draft', path: '/plans', body: DRAFT })).toBe(true)
    const plans = [...acknowledged.keys()].filter(name => name.startsWith('plan'))
    for (const write of doubtful.splice(0)) expect(await send(service.address, write), write.name).toBe(true)
    const goal = acknowledged.size + random.between(3, 30)
    let isDying = false
    const writing = Array.from({ length: WRITERS }, async () => {
      for (;;) {
        const write = makeWrite(++count, random, plans)
        if (!(await send(service.address, write))) {
          doubtful.push(write)
          return
        }
        if (acknowledged.size < goal || isDying) continue
        isDying = true
        await pause(random.between(0, 60))
        await service.kill()
      }
    })
    await Promise.all(writing)
    await heard
  }
  const service = await serve(workspace, port)
  const stop = new AbortController()
  const heard = listener.follow(service.address, stop.signal)
  for (const write of doubtful.splice(0)) expect(await send(service.address, write), write.name).toBe(true)
  const active = () => readPlans(workspace).filter(({ status }) => status === 'active')
  // As long as one after the other ends nothing hangs, however slow the machine is. A task that was lost ten times asks a person.
  for (let left = active(); left.length > 0; ) {
    await answerLost(service.address)
    const names = left.map(({ name }) => name)
    const fewer = () => (active().length < names.length ? [active()] : null)
    left = (await until(`one of ${names.length} plans to end (${names.slice(0, 5).join(', ')})`, fewer, 120_000))[0]!
  }
  const journal = readJournal(workspace)
  await until('the last event', () => listener.heard.at(-1)?.id === String(journal.at(-1)?.position))
  stop.abort()
  await heard
  await service.kill()

  expect(listener.heard, `seed ${SEED}`).toEqual(announced(journal))
  const stored = namesIn(journal)
  // Everything that was ever written got its answer in the end, and stands there once.
  expect([...stored.keys()].sort()).toEqual([...acknowledged.keys()].sort())
  expect([...stored].filter(([, times]) => times !== 1)).toEqual([])
  expect(acknowledged.size).toBeGreaterThan(KILLS * 3)
  const ids = new Map(readPlans(workspace).map(({ name, id }) => [name, id]))
  for (const [name, id] of acknowledged) if (name.startsWith('plan')) expect([name, ids.get(name)]).toEqual([name, id])
  expectPlansDone(workspace, journal, ledger.file)
  for (const argv of [
    ['doctor', 'store', '--read-data'],
    ['audit', 'verify', '--all'],
  ])
    expect((await commandIn(workspace)(argv)).code).toBe(0)
  rmSync(base, { recursive: true, force: true })
})

/** Says, as a person would, that it did not happen; whatever else is asked is a fault. */
async function answerLost(address: string): Promise<void> {
  const { items } = (await (await fetch(`${address}/inbox`)).json()) as { items: readonly Asked[] }
  for (const { name, task, asked } of items) {
    expect(asked.evidence?.reason).toContain('this is the 10th time in this visit')
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${address}/plans/${name}/tasks/${task}/retry`, { method: 'POST', headers, body: '{}' })
    expect(answer.ok, await answer.text()).toBe(true)
  }
}

interface Asked {
  readonly name: string
  readonly task: string
  readonly asked: { readonly evidence?: { readonly reason: string } }
}

const DRAFT = { name: 'draft', goal_id: 'g', steps: [] }
class Refused extends Error {}

/** What a stream that missed nothing tells: each event once, the last of an entry under its position. */
function announced(journal: readonly JournalEntry[]): readonly { readonly id: string; readonly event: unknown }[] {
  return journal.flatMap(({ position, events }) =>
    events.map((event, at) => ({ id: at === events.length - 1 ? `${position}` : `${position}.${at}`, event })),
  )
}

/** How often each write stands in the journal. */
function namesIn(journal: readonly JournalEntry[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  const add = (name: unknown): void => {
    times.set(String(name), (times.get(String(name)) ?? 0) + 1)
  }
  for (const { name, events } of journal) {
    for (const event of events) {
      if (event.type === 'plan.created') add(name)
      if (event.type === 'note.added') add(event.text)
      if (event.type === 'task.added')
        for (const { title } of event.tasks as readonly { readonly title: string }[]) add(title)
    }
  }
  return times
}

/** Every plan that was started came to its end, and no task of it ran again after it was done. */
function expectPlansDone(workspace: string, journal: readonly JournalEntry[], file: string): void {
  const ledger = readLedger(file)
  const started = readPlans(workspace).filter(({ name }) => name.startsWith('plan'))
  expect(started.filter(({ status }) => status !== 'completed')).toEqual([])
  const begun = ledger.filter(({ what }) => what === 'begin').map(({ key, attempt }) => `${key} ${attempt}`)
  expect(begun.length).toBe(new Set(begun).size)
  for (const { plan, events } of journal) {
    for (const { type, task, visit, attempt } of events) {
      if (type !== 'attempt.succeeded') continue
      const mine = ledger.filter(({ key }) => key === `${plan}/${task}/${visit}`)
      expect(
        mine.some(({ what }) => what === 'effect'),
        `${plan}/${task}`,
      ).toBe(true)
      expect(mine.filter(line => line.attempt > (attempt ?? 0))).toEqual([])
    }
  }
}
