// Planfold is killed while an agent works, at points that are spread over the whole of the run: the n-th of all that can be seen of it from
// outside, be it a write of the journal, of the gateway or of the log, or a request of the model. Each point has a world of its own.
//
//   run, killed at its n-th event ──▶ nothing lives, nothing is written any more ──▶ run again ──▶ done, no recorded call asked twice
// Needs the extras: agents, models

import type { ChildProcess } from 'node:child_process'
import { type FSWatcher, readdirSync, readFileSync, rmSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import type { AgentStep } from '../../src/extras/agents/agent-script.ts'
import { exchangeKey } from '../../src/extras/models/wire.ts'
import type { TrialResult } from './task-trials.ts'
import { FIX, lastLines, openWorld, type Staged, type Trial, type World } from './task-world.ts'

/** It leaves something behind that writes on and on: it has to end with Planfold. */
const WRITER = `nohup sh -c 'while sleep 0.1; do echo "// on and on" >> sum.js; done' >/dev/null 2>&1 </dev/null & node test.js`
const STEPS: readonly AgentStep[] = [...FIX.slice(0, -2), { shell: WRITER }, ...FIX.slice(-1)]
/** The store, where every write of the journal is seen. */
const JOURNAL = /\.db-wal$/
/** How long is looked whether something still writes. */
const LOOK_MS = 400
const GONE_MS = 3_000
const BURST_MS = 5
/** A model takes its time, so that a call can be found open. */
const ANSWER_MS = 40

export interface Killed extends TrialResult {
  readonly kills: number
  readonly takenUp: number
}

/** With a plan of its own, it is killed at writes of the journal only; with `kills: null`, at each of them. */
export async function killTrial(trial: Trial, wanted: number | null, staged?: Staged): Promise<Killed> {
  const whole = await killAt(trial, Number.POSITIVE_INFINITY, staged)
  if (whole.fault !== null) return { faults: [`without a kill: ${whole.fault}`], told: '', kills: 0, takenUp: 0 }
  const kills = wanted ?? whole.events
  const faults: string[] = []
  const stages = new Map<string, number>()
  let takenUp = 0
  let begunAnew = 0
  for (let point = 1; point <= kills; point++) {
    let at = Math.max(1, Math.round((whole.events * point) / (kills + 1)))
    let one = await killAt(trial, at, staged)
    // Runs differ a little: one that ended before its n-th event is killed at an earlier one.
    for (; one.stage === null && one.fault === null && at > 1; one = await killAt(trial, at, staged))
      at = Math.floor(at * 0.9)
    if (one.fault !== null) faults.push(`killed at event ${at} of ${whole.events} (${one.stage}): ${one.fault}`)
    stages.set(one.stage ?? 'never', (stages.get(one.stage ?? 'never') ?? 0) + 1)
    if (one.isTakenUp) takenUp++
    else if (one.hadSession) begunAnew++
  }
  const told = [...stages].map(([stage, times]) => (times === 1 ? stage : `${times}× ${stage}`)).join(', ')
  return {
    ...{ faults, kills, takenUp },
    told: `${kills} kills over ${whole.events} events (${told}); ${takenUp} conversations taken up, ${begunAnew} begun anew`,
  }
}

interface KilledOnce {
  readonly events: number
  /** Where it was; null when it had ended by itself before. */
  readonly stage: string | null
  readonly isTakenUp: boolean
  /** There was a conversation to take up. */
  readonly hadSession: boolean
  readonly fault: string | null
}

async function killAt(trial: Trial, point: number, staged: Staged | undefined): Promise<KilledOnce> {
  rmSync(trial.folder, { recursive: true, force: true })
  let events = 0
  let child: ChildProcess | null = null
  let below: readonly Process[] = []
  let stage: string | null = null
  let stageNow = () => ''
  let last = 0
  /** One write is told several times. */
  const onWrite = (): void => {
    const isBurst = performance.now() - last < BURST_MS
    last = performance.now()
    if (!isBurst) onEvent()
  }
  const onEvent = (): void => {
    events++
    if (events < point || stage !== null || child === null || child.exitCode !== null) return
    stage = stageNow()
    below = descendants(child.pid!)
    child.kill('SIGKILL')
  }
  let answered = 0
  const world = await openWorld(trial, {
    steps: STEPS,
    staged,
    answersAfterMs: ANSWER_MS,
    onAsked: () => {
      if (staged === undefined) onEvent()
    },
    onAnswered: () => {
      answered++
      if (staged === undefined) onEvent()
    },
  })
  const watching = watchState(world.root, onWrite, staged === undefined ? /./ : JOURNAL)
  const session = join(world.root, '.planfold/agents')
  const fault = (text: string): KilledOnce => ({ events, stage, isTakenUp: false, hadSession: false, fault: text })
  try {
    stageNow = () => stageOf(world, session, answered)
    const started = world.start('run', 'plan.yaml')
    child = started.child
    const run = await started.ended
    watching.close()
    if (stage === null) {
      const isDone = run.code === 0 && world.isFixed()
      return { events, stage, isTakenUp: false, hadSession: false, fault: isDone ? null : lastLines(run.out) }
    }
    const left = await lastOf(world, below)
    if (left > 0) return fault(`${left} processes lived on`)
    const before = writtenIn(trial.folder)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    if (writtenIn(trial.folder) !== before) return fault('something was written after it')
    const hadSession = hasSession(session)
    const asked = world.model.requests.length
    const paid = new Set(
      world
        .recorded()
        .filter(({ response }) => response.status < 400)
        .map(({ request }) => keyOf(request.body)),
    )
    // Killed between its last entry and its own end: there is nothing to go on with, and `run` would begin another plan.
    if (await isCompleted(world)) {
      const ended = world.isFixed() ? null : 'it was completed, and is not repaired'
      return { events, stage: 'plan completed', isTakenUp: false, hadSession: false, fault: ended }
    }
    const again = await world.run('run', 'plan.yaml')
    if (again.code !== 0 || !world.isFixed()) return fault(`it was not done afterwards: ${lastLines(again.out)}`)
    const later = world.model.requests.slice(asked)
    const twice = later.filter(({ body }) => paid.has(keyOf(JSON.parse(body) as never))).length
    if (twice > 0) return fault(`${twice} recorded calls were paid twice`)
    if ((await lastOf(world, [])) > 0) return fault('processes lived on after its end')
    const repeated = await againAfterSuccess(world)
    if (repeated !== null) return fault(repeated)
    const isTakenUp = (await world.run('log', 'repair', '--output')).out.includes('took up conversation')
    const isTold = later.some(({ messages }) => messages.some(({ text }) => text.includes('You were interrupted')))
    return { events, stage, isTakenUp: isTakenUp || isTold, hadSession, fault: null }
  } finally {
    watching.close()
    await world.close()
  }
}

/** Which attempt began after its visit had succeeded; null for none. */
async function againAfterSuccess(world: World): Promise<string | null> {
  const { items = [] } = await world.ask<{ readonly items: readonly Entry[] }>('log', 'repair', '--limit', '500')
  const succeeded = new Set<string>()
  for (const { type, task, text } of items) {
    if (type === 'task.reopened') succeeded.clear()
    if (type === 'attempt.started' && succeeded.has(task ?? '')) return `${task} was done again: ${text}`
    if (type === 'attempt.succeeded') succeeded.add(task ?? '')
  }
  return null
}

interface Entry {
  readonly type: string
  readonly task: string | null
  readonly text: string
}

async function isCompleted(world: World): Promise<boolean> {
  const { code, out } = await world.run('status', 'repair', '--json')
  return code === 0 && (JSON.parse(out) as { data: { status: string } }).data.status === 'completed'
}

/** The same request as far as the model is concerned, by the rule of the gateway. */
const keyOf = (body: never): string => exchangeKey({ path: '/', body })

/** In the words of the report: which call it was at, or what came before and after them. */
function stageOf(world: World, sessions: string, answered: number): string {
  const asked = world.model.requests.length
  if (asked > answered) return `call ${asked} open`
  if (answered > 0) return `after call ${answered}`
  return hasSession(sessions) ? 'conversation begun' : 'before the conversation'
}

function hasSession(sessions: string): boolean {
  try {
    return readdirSync(sessions, { recursive: true }).some(name => String(name).endsWith('session.json'))
  } catch {
    return false
  }
}

/** Tells of every write in the state folder, in new folders too; not in the homes of agents, where they write as they like. */
function watchState(root: string, onEvent: () => void, files: RegExp): { close(): void } {
  const watchers = new Map<string, FSWatcher>()
  const add = (folder: string): void => {
    if (watchers.has(folder) || folder.endsWith('/home')) return
    try {
      watchers.set(
        folder,
        watch(folder, (_, name) => {
          if (folder === root && name !== '.planfold') return
          look(folder)
          if (files.test(name ?? '')) onEvent()
        }),
      )
      look(folder)
    } catch {
      // It is gone already.
    }
  }
  const look = (folder: string): void => {
    try {
      for (const entry of readdirSync(folder, { withFileTypes: true }))
        if (entry.isDirectory() && (folder !== root || entry.name === '.planfold')) add(join(folder, entry.name))
    } catch {
      // It is gone already.
    }
  }
  add(root)
  return {
    close() {
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}

interface Process {
  readonly pid: number
  /** A number may be given again; together with its beginning it is one process only. */
  readonly began: string
}

function processes(): readonly (Process & { readonly parent: number })[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      // A zombie has ended; nobody has asked for its exit code yet.
      return fields[0] === 'Z' ? [] : [{ pid: Number(name), parent: Number(fields[1]), began: fields[19]! }]
    } catch {
      return []
    }
  })
}

/** It, and all that it started, as far down as there are any. */
function descendants(pid: number): readonly Process[] {
  const all = processes()
  const found = all.filter(one => one.pid === pid)
  for (const one of found) found.push(...all.filter(({ parent }) => parent === one.pid))
  return found
}

/** How many are still there when they have had time to end. */
async function lastOf(world: World, started: readonly Process[]): Promise<number> {
  const until = performance.now() + GONE_MS
  for (;;) {
    const now = processes()
    const left = started.filter(one => now.some(({ pid, began }) => pid === one.pid && began === one.began))
    const number = left.length + world.alive().length
    if (number === 0 || performance.now() > until) return number
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** Every file with its length and the time of its last change. */
function writtenIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => {
      const path = join(entry.parentPath, entry.name)
      const { size, mtimeMs } = statSync(path)
      return `${path} ${size} ${mtimeMs}`
    })
    .sort()
    .join('\n')
}
