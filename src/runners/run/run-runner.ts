// Runs a command as one attempt: its own session without a terminal, a short environment, bounded output, bounded time. However it ends,
// nothing of its process tree is alive when the attempt returns.
//
//   start ──▶ running ──exit───────────────────────▶ end the rest of the tree ──▶ drain pipes ──▶ exited
//                └──signal or deadline──▶ ask, then kill the tree ──▶ exit ──┘               └─▶ interrupted

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS } from '../../domain/limits.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { CommandLine } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import { shortageKindOf } from '../../domain/shortage.ts'
import {
  environmentFailure,
  inheritedEnvironment,
  personalEnvironment,
  VALUE_MAX_BYTES,
} from '../../safety/environment.ts'
import type { Directory } from '../../safety/files/directory.ts'
import { openGate, type PathGate } from '../../safety/files/path-gate.ts'
import { type Answer, codeOf, failure, failureOf } from '../../safety/safety-refusal.ts'
import { beyondOf, runsOutside, type SandboxedCommand, sandboxCommand } from '../../safety/sandbox/command-sandbox.ts'
import type { Wrapped } from '../../safety/sandbox/sandbox.ts'
import { type Boxed, type BoxedExit, MOUNT_REPLACED, spawnBoxed } from '../../safety/sandbox/sandboxed-process.ts'
import type { Attempt, AttemptMark, Ended, Outcome, ProcessTree, Runner, RunnerTools, Stop } from '../runner.ts'
import { OutputTap } from './output.ts'
import { startOf } from './process-table.ts'
import { leftoverLine, sandboxHint } from './sandbox-hint.ts'

// A started child process with its two ends: its exit, and later the end of its pipes. Listeners are attached at once, because a quick
// child may end before any later moment, and Node discards unread output.

interface ChildOptions {
  readonly argv: readonly string[]
  /** Null: it stays open, for a dialogue with the child. */
  readonly stdin: string | undefined | null
  readonly env: { readonly [name: string]: string }
  /** An open directory, so that a replaced path cannot lead the child elsewhere; needed only until the start. */
  readonly cwd: Directory
  /** The command in its sandbox; null without one. */
  readonly wrapped: Wrapped | null
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void
}

export interface Child {
  readonly leader: NonNullable<AttemptMark['leader']>
  readonly process: ChildProcess
  readonly exited: Promise<BoxedExit>
  /** Stops waiting for the exit of a process that cannot be killed. */
  giveUp(): void
  /** Reads the rest of the pipes for a bounded time, and closes them. */
  drain(): Promise<void>
}

const DRAIN_STEPS = 10
const DRAIN_STEP_MS = 100

/** In its own session, without a terminal. An error says why it could not be started. */
export async function startChild(options: ChildOptions): Promise<Child | Error> {
  const [file = '', ...args] = options.argv
  const stdin = options.stdin === undefined ? 'ignore' : 'pipe'
  let child: ChildProcess
  let boxed: Boxed | null = null
  try {
    if (options.wrapped !== null) {
      boxed = spawnBoxed(options.wrapped, { stdin })
      child = boxed.child
    } else {
      // The child changes its directory before exec, while it still has our descriptors.
      const cwd = options.cwd.at(null).toString()
      child = spawn(file, args, { cwd, env: options.env, detached: true, stdio: [stdin, 'pipe', 'pipe'] })
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error
    throw error
  }
  if (child.pid === undefined) return (await once(child, 'error'))[0] as Error
  let giveUp = () => {}
  const exited = new Promise<BoxedExit>(resolve => {
    if (boxed === null) child.once('exit', (exit, signal) => resolve({ exit, signal }))
    else void boxed.exited.then(resolve)
    giveUp = () => resolve({ exit: null, signal: null })
  })
  let open = true
  const closed = new Promise<void>(resolve => child.once('close', () => resolve())).then(() => {
    open = false
  })
  child.stdout?.on('data', chunk => options.onOutput('stdout', chunk))
  child.stderr?.on('data', chunk => options.onOutput('stderr', chunk))
  // A child may close its input early.
  child.stdin?.on('error', () => {})
  if (options.stdin !== null) child.stdin?.end(options.stdin)
  return {
    leader: { pid: child.pid, start: startOf(child.pid), ...(boxed === null ? {} : { isWall: true as const }) },
    process: child,
    exited,
    giveUp,
    // In steps, so that a late timer does not win over output that is already there.
    async drain() {
      for (let step = 0; open && step < DRAIN_STEPS; step++) {
        await Promise.race([closed, sleep(DRAIN_STEP_MS, null, { ref: false })])
      }
      child.stdout?.destroy()
      child.stderr?.destroy()
      child.unref()
    },
  }
}

// A command line as argv and as text for people. A list is passed without a shell; a script is one argument of `sh -eu -c`, shown as it was
// written.

function argvOf(command: CommandLine): readonly string[] {
  return 'argv' in command ? command.argv : ['/bin/sh', '-eu', '-c', command.script]
}

/** Disables core dumps, which would be written into the workspace. */
export function withoutCore(argv: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', 'ulimit -c 0; exec "$@"', 'sh', ...argv]
}

function shownCommand(command: CommandLine): string {
  return 'argv' in command ? command.argv.map(quoted).join(' ') : command.script
}

/** Quoted for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

// A timer beyond the limit of Node's timers, which never fires at once by accident: zero, negative and absurd durations become the default.

const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls back once after `ms`; returns how to stop it. */
export function startDeadline(ms: number, passed: () => void): () => void {
  let left = ms > 0 ? Math.min(ms, TIMEOUT_MAX_MS) : TIMEOUT_DEFAULT_MS
  let timer: NodeJS.Timeout
  const step = () => {
    const now = Math.min(left, TIMER_MAX_MS)
    left -= now
    timer = setTimeout(() => (left > 0 ? step() : passed()), now)
  }
  step()
  return () => clearTimeout(timer)
}

// The environment of a task's process: the inherited allow list, the plan's variables, and our marks last, so that nothing can override
// them. Inputs are JSON in PLANFOLD_INPUTS, never part of a command.

export function childEnvironment(attempt: Attempt, tools: RunnerTools): Answer<{ readonly [name: string]: string }> {
  const refused = environmentFailure(attempt.env)
  if (refused !== null) return { ok: false, failure: refused }
  const inputs = JSON.stringify(attempt.inputs)
  if (Buffer.byteLength(inputs) > VALUE_MAX_BYTES) {
    const message = `the inputs are ${Buffer.byteLength(inputs)} bytes of JSON; a process can be handed ${VALUE_MAX_BYTES}`
    return { ok: false, failure: failure('logic', message, 'write large values to a file and hand over its path') }
  }
  const marks = {
    PLANFOLD_PLAN: attempt.plan,
    PLANFOLD_TASK: attempt.task,
    PLANFOLD_INPUTS: inputs,
    PLANFOLD_OWNER: tools.owner,
    PLANFOLD_KEY: attempt.key,
    PLANFOLD_ATTEMPT: String(attempt.attempt),
    ...(attempt.tried === undefined ? {} : { PLANFOLD_TRY: attempt.tried }),
    ...(tools.traceparent === undefined ? {} : { TRACEPARENT: tools.traceparent }),
    // Empty at first: scripts run with `sh -eu`, where an unset variable is an error.
    PLANFOLD_FEEDBACK: environmentText(attempt.feedback ?? ''),
  }
  const isPersonal = attempt.action.type === 'run' && tools.sandbox === undefined
  const inherited = (isPersonal ? personalEnvironment : inheritedEnvironment)(tools.environment)
  return { ok: true, value: { ...inherited, ...attempt.env, ...tools.secrets, ...marks } }
}

/** The feedback of a person, as far as an environment can hold it. */
function environmentText(text: string): string {
  const bytes = Buffer.from(text.replaceAll('\0', ''))
  if (bytes.length <= VALUE_MAX_BYTES) return bytes.toString('utf8')
  const cut = bytes.subarray(0, VALUE_MAX_BYTES - 8).toString('utf8')
  return `${cut.replace(/\uFFFD$/, '')}…`
}

// Why a command could not be started, with a hint.

export function spawnFailure(error: Error, argv: readonly string[]): Failure {
  const code = codeOf(error)
  const failure = startFailure(error, argv)
  return code === null || code.startsWith('ERR_') ? failure : { ...failure, code: `errno:${code}` }
}

function startFailure(error: Error, argv: readonly string[]): Failure {
  const name = JSON.stringify((argv[0] ?? '').slice(0, 200))
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return failure('logic', `command not found: ${name}`, 'install it, or add its folder to PATH')
    case 'EACCES':
    case 'EPERM':
      return failure('logic', `${name} may not be executed`, 'give it its exec bit, or run it with its interpreter')
    case 'ENOEXEC':
      return failure('logic', `${name} is not a program`, 'begin it with a #! line, or run it with its interpreter')
    case 'E2BIG':
      return failure('logic', `the arguments of ${name} are too long`, 'hand large values over in a file or by stdin')
    case 'ERR_INVALID_ARG_VALUE':
    case 'ERR_INVALID_ARG_TYPE':
      return failure('logic', `the command ${name} contains an empty name or a NUL byte`, 'correct the arguments')
    case 'EAGAIN':
    case 'ENOMEM':
      return {
        ...failure(
          'resource',
          `starting ${name}: the system is short of processes or memory`,
          'free some and try again',
        ),
        shortage: 'processes',
      }
    default:
      return failureOf(`starting ${name}`, error) ?? failure('unknown', `${name}: ${error.message}`)
  }
}

export interface RunOptions {
  readonly tree: ProcessTree
  /** How long a command may take to end, after an interruption or its timeout, before it is killed. */
  readonly graceMs?: number
}

const GRACE_DEFAULT_MS = 2_000

/** Tasks that run at the same time replace files; a file is rarely replaced in the milliseconds of a mount, and hardly thrice in a row. */
const MOUNT_TRIES_MAX = 3

export function runRunner(options: RunOptions): Runner {
  return {
    action: 'run',
    about: {
      does: 'runs a command or a script',
      effects: ['workspace', 'unsafe'],
      risks: ['a command does what its program does; a sandbox limits it to its write scope and network'],
      dryRun: 'the command, with values filled in',
      uses: ['sandbox', 'network'],
    },
    async preview(attempt) {
      return { text: attempt.action.type === 'run' ? shownCommand(attempt.action.command) : '' }
    },
    async attempt(attempt, tools, stop) {
      for (let tries = 1; ; tries++) {
        const outcome = await runOnce(attempt, tools, stop, options)
        const isReplaced = outcome.type === 'failed' && outcome.failure.code === MOUNT_REPLACED
        if (!isReplaced || tries === MOUNT_TRIES_MAX) return outcome
        tools.log('engine', Buffer.from('a file was replaced while the sandbox was made; it is made again\n'))
      }
    },
  }
}

async function runOnce(attempt: Attempt, tools: RunnerTools, stop: Stop, options: RunOptions): Promise<Outcome> {
  if (attempt.action.type !== 'run') throw new TypeError(`not a run action: ${attempt.action.type}`)
  if (stop.aborted) return { type: 'interrupted' }
  const denied = tools.refuses?.(attempt.action.command) ?? null
  if (denied !== null) return { type: 'failed', failure: denied, begun: false }
  const environment = childEnvironment(attempt, tools)
  if (!environment.ok) return { type: 'failed', failure: environment.failure, begun: false }
  const gate = await openGate(tools)
  if (!gate.ok) return { type: 'failed', failure: gate.failure, begun: false }
  const secrets = Object.values(tools.secrets ?? {})
  const written = argvOf(attempt.action.command)
  const argv = secrets.length === 0 || runsOutside(written) ? written : withoutCore(written)
  const { cwd: folder = '.' } = attempt.definition
  const cwd = await gate.value.directory(folder)
  const isLinkRefused = cwd.ok && attempt.action.links === 'refuse'
  const linked = isLinkRefused ? await linkFault(gate.value, folder, written.at(-1) ?? '') : null
  await gate.value.close()
  if (!cwd.ok) return { type: 'failed', failure: cwd.failure, begun: false }
  if (linked !== null) {
    await cwd.value.close()
    return { type: 'failed', failure: linked, begun: false }
  }
  const wrapped = await shut(attempt, tools, argv, environment.value)
  if (wrapped !== null && !wrapped.ok) {
    await cwd.value.close()
    return { type: 'failed', failure: wrapped.failure, begun: false }
  }
  tools.log(
    'engine',
    Buffer.from(`$ ${shownCommand(attempt.action.command)}  (in ${attempt.definition.cwd ?? '.'}; ${tools.about})\n`),
  )
  const taps = {
    stdout: new OutputTap('stdout', tools.log, secrets),
    stderr: new OutputTap('stderr', tools.log, secrets),
  }
  const child = await startChild({
    argv,
    stdin: attempt.action.stdin,
    env: environment.value,
    cwd: cwd.value,
    wrapped: wrapped?.value ?? null,
    onOutput: (stream, chunk) => taps[stream].write(chunk),
  })
  await cwd.value.close()
  if (child instanceof Error) {
    await wrapped?.value.close()
    return { type: 'failed', failure: spawnFailure(child, argv), begun: false }
  }
  const ending = await follow(child, attempt, tools, stop, options)
  await wrapped?.value.close(ending.exit.exit !== 0)
  taps.stdout.end()
  taps.stderr.end()
  if (ending.why === 'interrupted') return { type: 'interrupted' }
  if (ending.exit.failure !== undefined) return { type: 'failed', failure: ending.exit.failure, begun: false }
  const outcome = { ...outcomeOf(ending, taps), ...(await beyondOf(wrapped?.value)) }
  if (wrapped === null)
    return tools.sandbox === undefined || runsOutside(written) ? outcome : { ...outcome, unheld: true }
  if (ending.exit.leftover !== undefined) tools.log('engine', Buffer.from(leftoverLine(ending.exit.leftover)))
  const { HOME: home } = environment.value
  const hint = sandboxHint(outcome, {
    isOwn: tools.sandbox?.own !== undefined,
    isRequired: tools.sandbox?.isRequired === true,
    home,
    write: tools.write,
  })
  return hint === null ? outcome : { ...outcome, sandboxHint: hint }
}

/** Why a path must not be passed to the command: it is absolute, does not exist, or leads through a symbolic link. */
async function linkFault(gate: PathGate, cwd: string, word: string): Promise<Failure | null> {
  if (isAbsolute(word))
    return failure('policy', `${JSON.stringify(word)} is absolute`, 'name a file of the workspace, without a leading /')
  const path = join(cwd, word)
  const folder = await gate.directory(path)
  if (folder.ok) await folder.value.close()
  const file = folder.ok ? null : await gate.read(path)
  if (file === null || (file.ok && file.value !== null)) return null
  return file.ok
    ? failure('logic', `${JSON.stringify(path)} does not exist`, 'name a file of the workspace')
    : file.failure
}

/** The command in its sandbox; null when it runs without one. */
async function shut(
  attempt: Attempt,
  { sandbox, root, stateDir, write, read, log }: RunnerTools,
  argv: readonly string[],
  env: { readonly [name: string]: string },
): Promise<Answer<SandboxedCommand> | null> {
  if (sandbox === undefined || runsOutside(argv)) return null
  const cwd = join(realpathSync(root), attempt.definition.cwd ?? '.')
  return await sandboxCommand(
    sandbox,
    { root, stateDir, cwd, write, argv, env, ...(read === undefined ? {} : { read }) },
    log,
  )
}

interface Ending {
  readonly why: 'exited' | 'interrupted' | 'timed out'
  readonly exit: BoxedExit
}

/** Waits until the child and its whole process tree have ended; what cannot be ended is logged. */
export async function follow(
  child: Child,
  attempt: Attempt,
  tools: RunnerTools,
  stop: Stop,
  { tree, graceMs = GRACE_DEFAULT_MS }: RunOptions,
): Promise<Ending> {
  const { signal } = stop
  const { key, attempt: number, tried } = attempt
  const mark: AttemptMark = { owner: tools.owner, key, attempt: number, tried, leader: child.leader }
  let why: Ending['why'] = 'exited'
  let ended: Promise<Ended> | null = null
  const finish = (because: 'interrupted' | 'timed out') => {
    if (ended !== null || child.process.exitCode !== null || child.process.signalCode !== null) return
    why = because
    ended = tree.endAttempt(mark, { graceMs: Math.min(graceMs, stop.graceMs ?? graceMs) })
    // A process that cannot be killed must not block us for ever.
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

/** The exit is known and must not be lost when file handles run out, so the search for its leftovers is repeated. */
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

function outcomeOf(
  { why, exit }: Ending,
  taps: { readonly stdout: OutputTap; readonly stderr: OutputTap },
): Extract<Outcome, { readonly type: 'exited' }> {
  return {
    type: 'exited',
    exit: exit.exit,
    signal: exit.signal,
    timedOut: why === 'timed out',
    stdout: taps.stdout.text(),
    stderr: taps.stderr.text(),
    truncated: taps.stdout.truncated || taps.stderr.truncated,
    ...(exit.excess === undefined ? {} : { excess: exit.excess }),
  }
}
