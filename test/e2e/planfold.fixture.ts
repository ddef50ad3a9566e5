// The built command in a folder of its own: `planfold('run', 'plan.yaml')` runs it to its end and answers with what it said.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built package; another folder while several people build at once. */
export const MAIN = join(
  process.env.PLANFOLD_DIST === undefined
    ? fileURLToPath(new URL('../../dist', import.meta.url))
    : resolve(process.env.PLANFOLD_DIST),
  'cli/main.js',
)

export interface Said {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Place {
  readonly folder: string
  planfold(...argv: readonly string[]): Promise<Said>
  /** The data of a JSON answer, which must be one envelope. */
  json(...argv: readonly string[]): Promise<unknown>
  /** Starts it and hands over the process; `until` resolves when its output holds the text. */
  start(...argv: readonly string[]): Started
  write(file: string, text: string): Promise<void>
  read(file: string): Promise<string>
  files(): Promise<readonly string[]>
  remove(): Promise<void>
}

export interface Started {
  until(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Said>
}

export const environmentIn = (folder: string, more: { readonly [name: string]: string }) => ({
  PATH: process.env.PATH,
  HOME: folder,
  TZ: 'UTC',
  LANG: 'C.UTF-8',
  PLANFOLD_AS: 'ana@example.com',
  ...more,
})

export const jsonBy =
  (planfold: Place['planfold']): Place['json'] =>
  async (...argv) => {
    const { stdout, stderr } = await planfold(...argv, '--json')
    if (stderr !== '') throw new Error(stderr)
    const envelope = JSON.parse(stdout) as { planfold: number; data?: unknown; error?: unknown }
    if (envelope.planfold !== 1) throw new Error(`no envelope: ${stdout}`)
    return envelope.data ?? envelope
  }

/** `more` is added to the environment. */
export async function place(more: { readonly [name: string]: string } = {}): Promise<Place> {
  if (!existsSync(MAIN)) throw new Error(`there is no ${MAIN}: run npm run build first`)
  const folder = await mkdtemp(join(tmpdir(), 'planfold-e2e-'))
  const env = environmentIn(folder, more)

  const start: Place['start'] = (...argv) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = { stdout: '', stderr: '' }
    const listeners = new Set<() => void>()
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text
        for (const listener of listeners) listener()
      })
    }
    const ended = new Promise<Said>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', exit => resolve({ exit, ...said }))
    })
    return {
      ended,
      kill: signal => child.kill(signal),
      until: async text => {
        const heard = new Promise<void>(resolve => {
          const listener = (): void => {
            if (!(said.stdout + said.stderr).includes(text)) return
            listeners.delete(listener)
            resolve()
          }
          listeners.add(listener)
          listener()
        })
        const over = ended.then(({ stdout, stderr }) => {
          if (!(stdout + stderr).includes(text))
            throw new Error(`it ended without saying '${text}':\n${stdout}${stderr}`)
        })
        await Promise.race([heard, over])
      },
    }
  }
  const planfold: Place['planfold'] = (...argv) => start(...argv).ended
  return {
    folder,
    start,
    planfold,
    json: jsonBy(planfold),
    write: (file, text) => writeFile(join(folder, file), text),
    read: file => readFile(join(folder, file), 'utf8'),
    files: async () => (await readdir(folder)).sort(),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** A plan with most kinds of tasks: an edit, commands, a retry, an approval and work for an agent. */
export const GREETING = `planfold: 1
name: hello
title: A greeting
tasks:
  - { id: greet, edit: [{ file: hello.txt, create: "hello\\n" }] }
  - { id: count, needs: [greet], run: "wc -c < hello.txt; printf 'evil \\\\033[31m'", effect: pure, outputs: { text: { stdout: text } } }
  - { id: flaky, run: "test -e tried || { touch tried; exit 75; }", effect: pure, retry: { attempts: 3, backoff: 10ms..20ms } }
  - { id: review, title: "Good enough?", needs: [count, flaky], gate: approval }
  - { id: agent, title: "Write the report", needs: [review] }
  - { id: last, needs: [agent], run: ["true"], effect: pure }
`
