// The only place that starts the git program. A repository is foreign content, and git runs commands from its configuration: hooks,
// fsmonitor, filters, textconv, merge drivers, helpers, ssh, uploadpack. None of them may run. So: an argument vector without a shell, a
// listed environment, our settings over those of the repository, no transport, a timeout, and bounded output.

import { spawn } from 'node:child_process'
import { findProgram } from '../../safety/find-program.ts'
import { refuse } from '../../safety/safety-refusal.ts'

export interface GitRun {
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  readonly stdin?: Uint8Array | string
  readonly timeoutMs?: number
  readonly outputMaxBytes?: number
  /** Exit codes that are answers; others are failures. */
  readonly codes?: readonly number[]
  /** For output over the limit: refuse (default), or return what was read so far. */
  readonly cutOff?: 'refuse' | 'keep'
}

export interface GitOutput {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
  readonly cutOff: boolean
}

export const line = (output: GitOutput): string => output.stdout.toString('utf8').replace(/\n$/, '')

export function fields(output: GitOutput): readonly string[] {
  const text = output.stdout.toString('latin1')
  if (text === '') return []
  return (text.endsWith('\0') ? text.slice(0, -1) : text).split('\0')
}

export async function runGit(args: readonly string[], run: GitRun): Promise<GitOutput> {
  const output = await start([...SETTINGS, ...args], run)
  const codes = run.codes ?? [0]
  if (!codes.includes(output.code)) complain(args, output)
  return output
}

/** Settings that override those of the repository. Each disables a way to run a command. */
const SETTINGS: readonly string[] = [
  '--no-pager',
  '--literal-pathspecs',
  '--no-replace-objects',
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'core.pager=cat',
    'core.editor=false',
    'sequence.editor=false',
    'core.sshCommand=false',
    'core.askPass=',
    'credential.helper=',
    'core.fsync=all',
    'core.quotePath=false',
    'core.warnAmbiguousRefs=false',
    'safe.bareRepository=explicit',
    'protocol.allow=never',
    'protocol.ext.allow=never',
    'submodule.recurse=false',
    'diff.ignoreSubmodules=dirty',
    'status.submoduleSummary=false',
    'commit.gpgSign=false',
    'tag.gpgSign=false',
    'log.showSignature=false',
    'i18n.commitEncoding=UTF-8',
    'gc.auto=0',
    'maintenance.auto=false',
  ].flatMap(setting => ['-c', setting]),
]

const TIMEOUT_MS = 60_000
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024
const STDERR_MAX = 8 * 1024

function start(argv: readonly string[], run: GitRun): Promise<GitOutput> {
  return new Promise((resolve, reject) => {
    const program = findProgram('git', { path: run.env.PATH, outside: [run.cwd], usual: 'no' })
    if (program === null) return reject(missing())
    const child = spawn(program, argv, { cwd: run.cwd, env: run.env, stdio: ['pipe', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    const max = run.outputMaxBytes ?? OUTPUT_MAX_BYTES
    let bytes = 0
    let stderr = ''
    let ended: 'late' | 'long' | null = null
    const end = (why: 'late' | 'long') => {
      ended ??= why
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => end('late'), run.timeoutMs ?? TIMEOUT_MS)
    child.stdout.on('data', (chunk: Buffer) => {
      if (bytes < max) chunks.push(chunk.subarray(0, max - bytes))
      bytes += chunk.length
      if (bytes > max) end('long')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < STDERR_MAX) stderr += chunk.toString('utf8')
    })
    // A git that exits early closes its input; its exit code is the answer.
    child.stdin.on('error', () => {})
    child.on('error', error => {
      clearTimeout(timer)
      reject('code' in error && error.code === 'ENOENT' ? missing() : error)
    })
    child.on('close', code => {
      clearTimeout(timer)
      try {
        if (ended === 'late') {
          refuse(
            'transient',
            `git ${shownArgs(argv)} did not end in time`,
            'check whether another program locks the repository',
          )
        }
        if (ended === 'long' && run.cutOff !== 'keep') {
          refuse(
            'resource',
            `git ${shownArgs(argv)} answered with more than ${max} bytes`,
            'work on fewer paths at once',
          )
        }
        const stdout = Buffer.concat(chunks)
        resolve({ code: ended === 'long' ? 0 : (code ?? 128), stdout, stderr, cutOff: ended === 'long' })
      } catch (error) {
        reject(error)
      }
    })
    child.stdin.end(run.stdin ?? '')
  })
}

function missing(): Error {
  try {
    refuse('logic', 'there is no git program on the PATH, outside the workspace', 'install git 2.38 or newer')
  } catch (error) {
    return error as Error
  }
}

function shownArgs(argv: readonly string[]): string {
  return argv[SETTINGS.length] ?? argv[0] ?? ''
}

export function complain(args: readonly string[], output: GitOutput): never {
  const stderr = output.stderr.trim().split('\n').slice(-3).join(' ').slice(0, 600)
  const what = `git ${args[0] ?? ''} said: ${stderr === '' ? `exit ${output.code}` : stderr}`
  if (/dubious ownership/.test(stderr)) {
    const hint = 'if you trust it: git config --global --add safe.directory <the folder>'
    refuse('policy', 'the repository belongs to another user of this machine', hint)
  }
  if (/not a git repository|cannot use bare repository|safe\.bareRepository/.test(stderr)) {
    const hint = 'run it inside the working tree of a repository, or make one with git init'
    refuse('logic', 'there is no repository with a working tree here', hint)
  }
  if (/\.lock'?: File exists/.test(stderr)) {
    const lock = /'([^']+\.lock)'/.exec(stderr)?.[1] ?? 'the lock file'
    const hint = `wait for the other git; if none runs, a killed one left ${lock} behind: remove that file`
    refuse('transient', 'another git process locks the repository, or one was killed there', hint)
  }
  refuse('logic', what, 'nothing more was done; look at the repository with git status')
}
