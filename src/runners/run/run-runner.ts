// Runs a command as one attempt: its own session without a terminal, a short environment, bounded output, bounded time.
// Whatever way it ends, nothing of its process tree lives on when the answer is given.
//
//   start ──▶ running ──exit───────────────────────▶ end the rest of the tree ──▶ drain pipes ──▶ exited
//                └──signal or deadline──▶ ask, then kill the tree ──▶ exit ──┘               └─▶ interrupted

import { setTimeout as sleep } from 'node:timers/promises'
import { numberOf } from '../../domain/number-of.ts'
import { shortageKindOf } from '../../domain/shortage.ts'
import { openGate } from '../../safety/path-gate.ts'
import { codeOf } from '../../safety/refused.ts'
import type { Attempt, AttemptMark, Ended, Outcome, ProcessTree, Runner, RunnerTools } from '../runner.ts'
import { type Child, type Exit, startChild } from './child.ts'
import { childEnvironment } from './child-environment.ts'
import { argvOf, shownCommand } from './command.ts'
import { startDeadline } from './deadline.ts'
import { OutputTap } from './output-tap.ts'
import { spawnFailure } from './spawn-failure.ts'

export interface RunOptions {
  readonly tree: ProcessTree
  /** How long an interrupted command may tidy up before it is killed. */
  readonly graceMs?: number
}

const GRACE_DEFAULT_MS = 2_000

export function runRunner(options: RunOptions): Runner {
  return {
    action: 'run',
    async preview(attempt) {
      return { text: attempt.action.type === 'run' ? shownCommand(attempt.action.command) : '' }
    },
    async attempt(attempt, tools, stop) {
      if (attempt.action.type !== 'run') throw new TypeError(`not a run action: ${attempt.action.type}`)
      if (stop.aborted) return { type: 'interrupted' }
      const environment = childEnvironment(attempt, tools)
      if (!environment.ok) return { type: 'failed', failure: environment.failure, begun: false }
      const gate = await openGate(tools)
      if (!gate.ok) return { type: 'failed', failure: gate.failure, begun: false }
      const cwd = await gate.value.directory(attempt.definition.cwd ?? '.')
      await gate.value.close()
      if (!cwd.ok) return { type: 'failed', failure: cwd.failure, begun: false }
      const argv = argvOf(attempt.action.command)
      tools.log(
        'engine',
        Buffer.from(
          `$ ${shownCommand(attempt.action.command)}  (in ${attempt.definition.cwd ?? '.'}; ${tools.about})\n`,
        ),
      )
      const taps = { stdout: new OutputTap('stdout', tools.log), stderr: new OutputTap('stderr', tools.log) }
      const child = await startChild({
        argv,
        stdin: attempt.action.stdin,
        env: environment.value,
        cwd: cwd.value,
        onOutput: (stream, chunk) => taps[stream].write(chunk),
      })
      await cwd.value.close()
      if (child instanceof Error) return { type: 'failed', failure: spawnFailure(child, argv), begun: false }
      const ending = await follow(child, attempt, tools, stop.signal, options)
      taps.stdout.end()
      taps.stderr.end()
      return ending.why === 'interrupted' ? { type: 'interrupted' } : outcomeOf(ending, taps)
    },
  }
}

interface Ending {
  readonly why: 'exited' | 'interrupted' | 'timed out'
  readonly exit: Exit
}

/** Stays until the child and everything it started is gone. */
async function follow(
  child: Child,
  attempt: Attempt,
  tools: RunnerTools,
  signal: AbortSignal,
  { tree, graceMs = GRACE_DEFAULT_MS }: RunOptions,
): Promise<Ending> {
  const mark: AttemptMark = { owner: tools.owner, key: attempt.key, attempt: attempt.attempt, leader: child.leader }
  let why: Ending['why'] = 'exited'
  let ended: Promise<Ended> | null = null
  const finish = (because: 'interrupted' | 'timed out') => {
    if (ended !== null || child.process.exitCode !== null || child.process.signalCode !== null) return
    why = because
    ended = tree.endAttempt(mark, { graceMs })
    // A process that may not or cannot be killed must not hold us for ever.
    void ended.then(({ left }) => left > 0 && child.giveUp())
  }
  const interrupt = () => finish('interrupted')
  const stopDeadline = startDeadline(attempt.timeoutMs, () => finish('timed out'))
  signal.addEventListener('abort', interrupt, { once: true })
  if (signal.aborted) interrupt()

  const exit = await child.exited
  stopDeadline()
  signal.removeEventListener('abort', interrupt)
  const { left } = await (ended ?? endLeft(tree, mark, tools))
  if (left > 0)
    tools.log('engine', Buffer.from(`${numberOf(left, 'process', 'processes')} of this attempt could not be ended\n`))
  await child.drain()
  return { why, exit }
}

const LOOK_TRIES = 20
const LOOK_AGAIN_MS = 100

/** It has exited, and how is known: want of file handles must not lose that, so what it left behind is looked for again. */
async function endLeft(tree: ProcessTree, mark: AttemptMark, tools: RunnerTools): Promise<Ended> {
  for (let tries = 1; ; tries++) {
    try {
      return await tree.endAttempt(mark)
    } catch (error) {
      if (shortageKindOf(codeOf(error) ?? '') !== 'open-files') throw error
      if (tries === 1) tools.log('engine', Buffer.from('no file handles are left to look for what it left behind\n'))
      if (tries === LOOK_TRIES) return { ended: 0, left: 0 }
      await sleep(LOOK_AGAIN_MS)
    }
  }
}

function outcomeOf({ why, exit }: Ending, taps: { readonly stdout: OutputTap; readonly stderr: OutputTap }): Outcome {
  return {
    type: 'exited',
    ...exit,
    timedOut: why === 'timed out',
    stdout: taps.stdout.text(),
    stderr: taps.stderr.text(),
    truncated: taps.stdout.truncated || taps.stderr.truncated,
  }
}
