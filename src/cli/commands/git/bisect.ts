// `planfold bisect … -- COMMAND`: which commit, which setting, which input is the first bad one? The search is a plan of its own
// (operations/bisection.ts), so it can be interrupted and continued; this file reads the options and prints each probe and the result.

import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Composed } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import {
  type Bisected,
  type BisectQuestion,
  bisectionName,
  type Candidate,
  candidateLabel,
  commitsQuestion,
  type ProbeReport,
  bisect as search,
  verdictOf,
} from '../../../operations/bisection.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, printNote, refused, usage, withState } from '../../command.ts'
import { shortEnd } from '../../text/wait-text.ts'

export interface BisectOptions {
  readonly good?: string
  readonly bad?: string
  readonly toggle?: readonly string[]
  readonly inputs?: string
  readonly timeout?: number
  readonly again?: boolean
  readonly keep?: boolean
}

export async function bisect(context: Context, command: readonly string[], options: BisectOptions): Promise<number> {
  const ways = [options.good ?? options.bad, options.toggle, options.inputs].filter(way => way !== undefined)
  if (ways.length !== 1) throw usage('say what to search: --good and --bad, --toggle, or --inputs', HINT)
  return await withState(context, { create: true }, async composed => {
    const question = await questionOf(context, composed, options)
    const { again, keep } = options
    const files = await Promise.all(command.map(word => hashOf(resolve(context.cwd, word))))
    const asked = { question, command, files, timeoutMs: options.timeout }
    const scratch = join(await realpath(composed.stateDir), 'work', bisectionName(asked))
    const stop = new AbortController()
    const unlisten = context.onSignal(() => stop.abort())
    try {
      const room = {
        engine: composed.engine,
        git: composed.git,
        drive: (plan: Parameters<typeof composed.worker.drive>[0]) =>
          composed.worker.drive(plan, { stop: stop.signal }),
        stop: stop.signal,
        tell: (tried: ProbeReport) => tellTry(context, tried),
      }
      const done = await search(room, { ...asked, scratch, again, keep })
      if (done.status === 'interrupted') {
        printNote(context, `interrupted after ${numberOf(done.tries, 'test')}; run the same command again to continue`)
        return EXIT.interrupted
      }
      if (done.status !== 'ended') throw haltedAs(done)
      if (done.left !== null) printNote(context, `${scratch} stays: ${done.left.message}`)
      tell(context, question, done)
      return done.end.status === 'found' ? EXIT.done : EXIT.failed
    } finally {
      unlisten()
    }
  })
}

async function hashOf(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() !== true || found.size > SCRIPT_BYTES_MAX) return null
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

const SCRIPT_BYTES_MAX = 10_000_000
const HINT = 'for instance: planfold bisect --good v1.2 --bad HEAD -- npm test'

async function questionOf(context: Context, { git }: Composed, options: BisectOptions): Promise<BisectQuestion> {
  if (options.toggle !== undefined) {
    const candidates = options.toggle.map(each => {
      const [name = '', ...value] = each.split('=')
      if (value.length === 0 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw usage(`'${each}' is not NAME=VALUE`, 'write it like CACHE=on')
      return { type: 'toggle', name, value: value.join('=') } as const
    })
    return { over: 'toggles', candidates }
  }
  if (options.inputs !== undefined) {
    const lines = (await readFile(resolve(context.cwd, options.inputs), 'utf8')).split(/\r?\n/)
    const candidates = lines.filter(line => line !== '').map(input => ({ type: 'input', input }) as const)
    if (candidates.length === 0) throw usage(`there is no input in ${options.inputs}`, 'write one on each line')
    return { over: 'inputs', candidates }
  }
  if (options.good === undefined) throw usage('missing --good', 'name a commit that is good: --good COMMIT')
  const question = await commitsQuestion(git, { good: options.good, bad: options.bad ?? 'HEAD' })
  if (!question.ok) throw haltedAs({ status: 'git', failure: question.failure })
  if (question.value.candidates.length === 1)
    throw usage('the good and the bad commit are the same', 'name an older one with --good')
  return question.value
}

function tellTry(context: Context, { number, verdict, exit, candidate, remaining }: ProbeReport): void {
  const why = verdict === 'skip' ? `; not tested: exit ${exit}` : ''
  printNote(
    context,
    `${String(number).padStart(3)}  ${verdict.padEnd(4)}  ${escapeForTerminal(candidateLabel(candidate))}  (${remaining} left${why})`,
  )
}

const untestedIn = (candidates: readonly Candidate[], tries: Ended['tries']): ReadonlySet<Candidate> =>
  new Set(tries.flatMap(({ index, exit }) => (verdictOf(exit) === 'skip' ? (candidates[index] ?? []) : [])))

type Ended = Extract<Bisected, { readonly status: 'ended' }>

function tell(context: Context, { over, candidates }: BisectQuestion, done: Ended): void {
  const { end, plan, tries } = done
  const probes = tries.map(({ task, index, exit }) => {
    const candidate = candidates[index]
    const label = candidate === undefined ? '' : candidateLabel(candidate)
    return { task, index, exit, verdict: verdictOf(exit), candidate: label }
  })
  const data = {
    plan: plan?.plan,
    name: plan?.name,
    over,
    candidates: candidates.length,
    status: end.status,
    culprit: end.status === 'found' ? { index: end.index, ...end.culprit } : null,
    suspects: end.status === 'narrowed' ? end.suspects : [],
    probes,
  }
  answer(context, data, () => [
    ...endLines(
      context,
      end,
      untestedIn(candidates, tries),
      `(${numberOf(tries.length, 'test')} of ${numberOf(candidates.length, 'candidate')})`,
    ),
    ...assumed({ over, candidates }, tries),
    ...(over === 'commits' && end.status === 'clean' ? ['the command succeeds with the bad commit, too'] : []),
  ])
}

function endLines(
  { paint }: Context,
  end: Ended['end'],
  untested: ReadonlySet<Candidate>,
  count: string,
): readonly string[] {
  const label = (each: Candidate): string => `  ${escapeForTerminal(candidateLabel(each))}`
  switch (end.status) {
    case 'found':
      return [`${paint.red('the first bad one')} ${count}:`, label(end.culprit), ...untestedLines(untested)]
    case 'narrowed':
      return [
        `the first bad one is among these ${end.suspects.length} ${count}:`,
        ...end.suspects.map(each => `${label(each)}${untested.has(each) ? '  not tested' : ''}`),
        ...untestedLines(new Set([...untested].filter(each => !end.suspects.includes(each)))),
      ]
    case 'good-is-bad':
      return [
        `${paint.red('not good')}: the command fails there, too; name an older commit with --good:`,
        label(end.good),
      ]
    case 'clean':
      return [`${paint.green('nothing is bad')} ${count}`, ...untestedLines(untested)]
    default:
      return end satisfies never
  }
}

const UNTESTED_MAX = 10

/** Where the command could not be run, or could not tell: the answer does not depend on them, if all before the first bad one are good. */
function untestedLines(untested: ReadonlySet<Candidate>): readonly string[] {
  if (untested.size === 0) return []
  const named = [...untested].slice(0, UNTESTED_MAX).map(each => escapeForTerminal(candidateLabel(each)))
  const more = untested.size > UNTESTED_MAX ? ` and ${untested.size - UNTESTED_MAX} more` : ''
  return [`not tested: ${named.join(', ')}${more}`]
}

const ORDER = {
  inputs: 'good ones first, and bad from the first bad one on',
  toggles: 'what one of them breaks stays broken with those after it',
} as const

/** Untested candidates have a known result only when the order means something. */
function assumed({ over, candidates }: BisectQuestion, tries: Ended['tries']): readonly string[] {
  const left = candidates.length - new Set(tries.map(({ index }) => index)).size
  return left === 0 || over === 'commits'
    ? []
    : [`${numberOf(left, 'was', 'were')} not tested: ${over} are assumed to be in order, ${ORDER[over]}`]
}

function haltedAs(done: Exclude<Bisected, { readonly status: 'ended' | 'interrupted' }>): CliError {
  switch (done.status) {
    case 'strange':
      return new CliError(
        EXIT.refused,
        'conflict',
        `the tests in '${done.name}' do not belong to this search`,
        'the plan was changed; start over with --again',
      )
    case 'not-judged':
      return new CliError(
        EXIT.failed,
        'probe-failed',
        `${done.task} could not be tested: ${done.why ?? 'it did not end'}`,
        `see planfold log ${done.name} ${done.task} --output; when it works, run the same command again`,
      )
    case 'git':
      return new CliError(EXIT.refused, 'git', done.failure.message, done.failure.hint)
    case 'held': {
      const { name, pid } = done
      const hint = `follow it: planfold log ${name} --follow`
      return new CliError(EXIT.refused, 'held', `'${name}' is driven by pid ${pid}`, hint)
    }
    case 'lost':
      return new CliError(
        EXIT.refused,
        'lease-lost',
        `the lease on '${done.name}' was lost`,
        'run the same command again',
      )
    case 'short':
      return shortEnd(done.name, done.shortage)
    case 'refused':
      return refused(done.refusal)
    default:
      return done satisfies never
  }
}
