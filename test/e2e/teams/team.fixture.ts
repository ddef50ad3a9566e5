// A team of the built command: services and workers, each in a process of its own, on one database and one folder.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connect, type RemoteEngine } from '../../../src/client/client.ts'
import { ask, type Server } from '../../../src/stores/postgres/postgres.fixture.ts'
import type { Entry } from '../../../src/stores/store.ts'
import { jsonBy, MAIN, type Place } from '../planfold.fixture.ts'

/** Everything, and not the part of it that the ordinary run can afford. */
export const ALL = process.env.PLANFOLD_TEAMS === '1'

export interface Member {
  readonly pid: number
  /** What it wrote so far. */
  readonly said: () => string
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<{ readonly exit: number | null; readonly signal: NodeJS.Signals | null }>
}

export interface Service extends Member {
  readonly client: RemoteEngine
  readonly address: string
}

export interface Team {
  readonly folder: string
  readonly url: string
  worker(...argv: readonly string[]): Promise<Member>
  service(...argv: readonly string[]): Promise<Service>
  readonly json: Place['json']
  rows(sql: string): Promise<readonly Record<string, unknown>[]>
}

let teams = 0

export async function team(server: Server): Promise<Team> {
  if (!existsSync(MAIN)) throw new Error(`there is no ${MAIN}: run npm run build first`)
  const name = `team_${process.pid}_${++teams}`
  await ask(server.url('postgres'), `CREATE DATABASE ${name}`)
  const url = server.url(name)
  const folder = mkdtempSync(join(tmpdir(), 'planfold-team-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    PLANFOLD_AS: 'ana@example.com',
    PLANFOLD_DATABASE: url,
  }

  const begin = (argv: readonly string[]) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = { stdout: '', stderr: '' }
    const ended = new Promise<Awaited<Member['ended']>>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exit, signal) => resolve({ exit, signal }))
    })
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text
      })
    return { child, said, ended }
  }
  /** With its first line, by which it says that it is ready. */
  const startMember = async (argv: readonly string[]) => {
    const { child, said, ended } = begin([...argv, '--json'])
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const line = await firstLine(child, ended, said)
    const member: Member = {
      pid: child.pid!,
      said: () => said.stdout + said.stderr,
      kill: signal => child.kill(signal),
      ended,
    }
    return { member, data: (JSON.parse(line) as { data: Record<string, string> }).data }
  }
  const planfold: Place['planfold'] = async (...argv) => {
    const { said, ended } = begin(argv)
    const { exit } = await ended
    return { exit, ...said }
  }
  return {
    folder,
    url,
    json: jsonBy(planfold),
    rows: sql => ask(url, sql),
    worker: async (...argv) => (await startMember(['worker', ...argv])).member,
    service: async (...argv) => {
      const { member, data } = await startMember(['serve', '--port', '0', '--no-auth', ...argv])
      const address = data.address!
      return { ...member, address, client: connect({ url: address }) }
    },
  }
}

async function firstLine(
  { stdout }: ChildProcess,
  ended: Promise<unknown>,
  said: { readonly stdout: string; readonly stderr: string },
): Promise<string> {
  const line = new Promise<string>(resolve => {
    const look = () => said.stdout.includes('\n') && resolve(said.stdout.slice(0, said.stdout.indexOf('\n')))
    stdout!.on('data', look)
  })
  const over = ended.then(() => {
    throw new Error(`it ended at its start:\n${said.stdout}${said.stderr}`)
  })
  return await Promise.race([line, over])
}

// Plans whose tasks write, so that doing something twice, or half, shows in the files.

/** Each in a file of its own: begun and, a while later, ended. A command that is cut in between leaves the half of it. */
export const TASKS = ['first', 'left', 'right', 'last']

export function writingPlan(name: string, seconds: number): string {
  const task = (id: string, needs: string) => {
    const file = `out/${name}/${id}`
    const run = `mkdir -p ${file}; echo begun ${id} >> ${file}/text; sleep ${seconds}; echo ended ${id} >> ${file}/text`
    return `  - { id: ${id}, needs: [${needs}], effect: workspace, write: ["${file}/**"], run: ${JSON.stringify(run)} }`
  }
  return `planfold: 1
name: ${name}
tasks:
${task('first', '')}
${task('left', 'first')}
${task('right', 'first')}
${task('last', 'left, right')}
`
}

/** Null when it has written nothing. */
export function textOf({ folder }: Team, plan: string, task: string): string | null {
  const file = join(folder, 'out', plan, task, 'text')
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

/** All entries of the store, oldest first. */
export async function journal(engine: RemoteEngine): Promise<readonly Entry[]> {
  const end = await engine.ask({ type: 'position' })
  const entries: Entry[] = []
  const stop = new AbortController()
  for await (const entry of engine.watch({ after: 0, signal: stop.signal })) {
    entries.push(entry)
    if (entry.position >= end) break
  }
  return entries
}

/** The same choices for the same seed. */
export function chooser(seed: number) {
  let state = seed
  const part = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  return {
    among: <T>(all: readonly T[]): T => all[Math.floor(part() * all.length)]!,
    between: (low: number, high: number) => low + part() * (high - low),
  }
}

export const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
