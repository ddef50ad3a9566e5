// `planfold bisect … -- COMMAND`: which commit, which setting, which input is the first bad one? A binary search whose every try is
// a task of a plan of its own, so it can be killed and asked again. Commits are tried in a scratch worktree.

import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Composed } from '../../../compose.ts'
import type { PlanId, PlanName, TaskName } from '../../../domain/id.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import {
  type Bisection,
  type BisectStep,
  type BisectVerdict,
  type CommitLine,
  type GitAnswer,
  judgeProbe,
  nextProbe,
  startBisection,
} from '../../../workspace/git/git.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { CliError, EXIT, usage } from '../../exit.ts'
import { submit } from '../../order.ts'
import { shortEnd } from '../../text/wait-text.ts'

// A bisection as a plan: one task for each try, added by a revision when it is known what to try next, and a last task that takes
// the answer. The journal holds every verdict, so whoever asks the same question again goes on where it stood.

interface Question {
  readonly over: 'commits' | 'toggles' | 'inputs'
  /** In order: all before the first bad one are good. */
  readonly candidates: readonly Candidate[]
}

type Candidate =
  | ({ readonly type: 'commit' } & CommitLine)
  | { readonly type: 'toggle'; readonly name: string; readonly value: string }
  | { readonly type: 'input'; readonly input: string }

interface Asked {
  readonly question: Question
  readonly command: readonly string[]
  readonly timeoutMs?: number
  /** Where commits are checked out. */
  readonly scratch: string
}

/** One try that has ended. */
interface Probed {
  readonly task: TaskName
  readonly index: number
  readonly exit: number
}

const ANSWER = 'answer' as TaskName
/** The command says so when it cannot tell. */
const EXIT_SKIP = 125

/** The same question has the same name, so that it is found again. */
function nameOf({ question, command, timeoutMs = 0 }: Omit<Asked, 'scratch'>): PlanName {
  const said = JSON.stringify([question, command, timeoutMs])
  return `bisect-${createHash('sha256').update(said).digest('hex').slice(0, 12)}` as PlanName
}

function verdictOf(exit: number): BisectVerdict {
  return exit === 0 ? 'good' : exit === EXIT_SKIP ? 'skip' : 'bad'
}

/** Where the search stands after these tries, in order. Null when they do not belong to it. */
function searched({ question }: Asked, probed: readonly Probed[]): Bisection<Candidate> | null {
  let state = startBisection(question.candidates, { last: question.over === 'commits' ? 'known' : 'unknown' })
  for (const { index, exit } of probed) {
    const step = nextProbe(state)
    if (step.status !== 'probe' || step.index !== index) return null
    state = judgeProbe(state, verdictOf(exit))
  }
  return state
}

/** The plan with these tries, by index, in the order in which they are made. */
function definitionOf(asked: Asked, indexes: readonly number[]): PlanDefinition {
  const probes = indexes.map((index, at) => probeTask(asked, index, at + 1))
  const answer: TaskDefinition = {
    id: ANSWER,
    title: 'The first bad one',
    action: { type: 'external' },
    instruction: 'Is answered by planfold bisect; nobody needs to claim it.',
    needs: probes.map(({ id }) => id),
  }
  return {
    name: nameOf(asked),
    title: `Find the first bad one of ${asked.question.candidates.length} ${asked.question.over}`,
    // Tries write nothing that anybody would want back.
    policy: { checkpoints: { files: 'declared', before: 'never' } },
    concurrency: 1,
    tasks: [...probes, answer],
  }
}

const probeName = (number: number): TaskName => `probe-${number}` as TaskName

function probeTask(asked: Asked, index: number, number: number): TaskDefinition {
  const { question, command, timeoutMs, scratch } = asked
  const candidate = question.candidates[index]
  if (candidate === undefined) throw new RangeError(`bug: there is no candidate ${index}`)
  const input = candidate.type === 'input' ? candidate.input : null
  const argv = input === null ? command : command.map(word => word.replaceAll('{}', () => input))
  return {
    id: probeName(number),
    title: label(candidate),
    action: {
      type: 'run',
      command: {
        argv: (question.over === 'commits' ? ['sh', '-c', 'cd -- "$0" && exec "$@"', scratch, ...argv] : argv).map(
          plain,
        ),
      },
    },
    inputs: { index },
    env: environmentOf(question, index),
    // A try that was cut off is made again.
    effect: 'idempotent',
    // Whatever the command says is an answer, unless it could not be run at all.
    expect: 'exit != 126 && exit != 127',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

/** All switches up to this one are on. */
function environmentOf({ candidates }: Question, index: number): { readonly [name: string]: string } {
  const given: [string, string][] = []
  for (const [at, candidate] of candidates.entries()) {
    if (candidate.type === 'toggle' && at <= index) given.push([candidate.name, plain(candidate.value)])
    if (candidate.type === 'input' && at === index) given.push(['PLANFOLD_INPUT', plain(candidate.input)])
  }
  return Object.fromEntries(given)
}

function label(candidate: Candidate): string {
  switch (candidate.type) {
    case 'commit':
      return `${candidate.commit.slice(0, 12)} ${candidate.subject}`.trim()
    case 'toggle':
      return `${candidate.name}=${candidate.value}`
    case 'input':
      return candidate.input
    default:
      return candidate satisfies never
  }
}

/** Text that stays text: nothing in it is taken for a reference. */
const plain = (text: string): string => text.replaceAll('${{', () => '$${{')

export interface BisectOptions {
  readonly good?: string
  readonly bad?: string
  readonly toggle?: readonly string[]
  readonly inputs?: string
  readonly timeout?: number
  readonly again?: boolean
  readonly keep?: boolean
}

type Ended = Exclude<BisectStep<Candidate>, { readonly status: 'probe' }>

export async function bisect(context: Context, command: readonly string[], options: BisectOptions): Promise<number> {
  const ways = [options.good ?? options.bad, options.toggle, options.inputs].filter(way => way !== undefined)
  if (ways.length !== 1) throw usage('say what to search: --good and --bad, --toggle, or --inputs', HINT)
  return await withState(context, { create: true }, async composed => {
    const question = await questionOf(context, composed, options)
    const timeout = options.timeout === undefined ? {} : { timeoutMs: options.timeout }
    const scratch = join(await realpath(composed.stateDir), 'work', nameOf({ question, command, ...timeout }))
    const asked: Asked = { question, command, scratch, ...timeout }
    const search = new Search(context, composed, asked, options)
    try {
      const ended = await search.run()
      if (ended === null) return EXIT.interrupted
      search.tell(ended)
      return ended.status === 'found' ? EXIT.done : EXIT.failed
    } finally {
      search.close()
    }
  })
}

const ORDER = {
  inputs: 'good ones first, and bad from the first bad one on',
  toggles: 'what one of them breaks stays broken with those after it',
} as const

const HINT = 'for instance: planfold bisect --good v1.2 --bad HEAD -- npm test'

async function questionOf(context: Context, { git }: Composed, options: BisectOptions): Promise<Question> {
  if (options.toggle !== undefined) {
    const candidates = options.toggle.map(each => {
      const [name = '', ...value] = each.split('=')
      if (value.length === 0 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw usage(`'${each}' is no variable with a value`, 'write it like CACHE=on')
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
  if (options.good === undefined) throw usage('which commit is good?', 'name one with --good')
  const range = { good: options.good, bad: options.bad ?? 'HEAD' }
  const lines = value(await git.commitsBetween(range))
  if (lines.length === 0) throw usage('the good and the bad commit are the same', 'name an older one with --good')
  return { over: 'commits', candidates: lines.map(line => ({ type: 'commit', ...line }) as const) }
}

function value<T>(answer: GitAnswer<T>): T {
  if (answer.ok) return answer.value
  const { failure } = answer
  throw new CliError(EXIT.refused, 'git', failure.message, failure.hint)
}

class Search {
  readonly #context: Context
  readonly #composed: Composed
  readonly #asked: Asked
  readonly #options: BisectOptions
  readonly #stop = new AbortController()
  readonly #unlisten: () => void
  #plan: { readonly id: PlanId; readonly name: string } | null = null
  #probed: readonly Probed[] = []

  constructor(context: Context, composed: Composed, asked: Asked, options: BisectOptions) {
    this.#context = context
    this.#composed = composed
    this.#asked = asked
    this.#options = options
    this.#unlisten = context.onSignal(() => this.#stop.abort())
  }

  close(): void {
    this.#unlisten()
  }

  /** Null when it was interrupted. */
  async run(): Promise<Ended | null> {
    await this.#open()
    for (;;) {
      this.#probed = await this.#ended()
      const state = searched(this.#asked, this.#probed)
      if (state === null) throw this.#strange()
      const step = nextProbe(state)
      if (step.status !== 'probe') {
        await this.#conclude(step)
        return step
      }
      const { index, candidate, remaining } = step
      const number = this.#probed.length + 1
      await this.#ready(index, candidate, number)
      if (this.#stop.signal.aborted || !(await this.#drive())) {
        printNote(
          this.#context,
          `interrupted after ${numberOf(this.#probed.length, 'try')}; the same command goes on from here`,
        )
        return null
      }
      const last = (await this.#ended())[number - 1]
      if (last === undefined) throw await this.#couldNotRun(probeName(number))
      printNote(
        this.#context,
        `${String(number).padStart(3)}  ${verdictOf(last.exit).padEnd(4)}  ${escapeForTerminal(label(candidate))}  (${remaining} were left)`,
      )
    }
  }

  tell(ended: Ended): void {
    const { question } = this.#asked
    const tries = this.#probed.map(({ task, index, exit }) => {
      const candidate = question.candidates[index]
      return { task, index, exit, verdict: verdictOf(exit), candidate: candidate === undefined ? '' : label(candidate) }
    })
    const data = {
      plan: this.#plan?.id,
      name: this.#plan?.name,
      over: question.over,
      candidates: question.candidates.length,
      status: ended.status,
      culprit: ended.status === 'found' ? { index: ended.index, ...ended.culprit } : null,
      suspects: ended.status === 'narrowed' ? ended.suspects : [],
      probes: tries,
    }
    answer(this.#context, data, () => this.#lines(ended))
  }

  #lines(ended: Ended): readonly string[] {
    const { paint } = this.#context
    const count = `after ${numberOf(this.#probed.length, 'try')} of ${this.#asked.question.candidates.length}`
    switch (ended.status) {
      case 'found':
        return [
          `${paint.red('the first bad one')} ${count}:`,
          `  ${escapeForTerminal(label(ended.culprit))}`,
          ...this.#assumed(),
        ]
      case 'narrowed':
        return [
          `the first bad one is among these ${count}; the others could not be judged:`,
          ...ended.suspects.map(each => `  ${escapeForTerminal(label(each))}`),
          ...this.#assumed(),
        ]
      case 'clean':
        return [`${paint.green('nothing is bad')} ${count}`, ...this.#assumed()]
      default:
        return ended satisfies never
    }
  }

  /** What nobody has tried is known only when the order means something. */
  #assumed(): readonly string[] {
    const { over, candidates } = this.#asked.question
    const left = candidates.length - new Set(this.#probed.map(({ index }) => index)).size
    return left === 0 || over === 'commits'
      ? []
      : [`${numberOf(left, 'was', 'were')} not tried: ${over} are taken to be in order, ${ORDER[over]}`]
  }

  /** Finds the plan of this question again, or makes it. */
  async #open(): Promise<void> {
    const { engine } = this.#composed
    const name = nameOf(this.#asked)
    const rows = (await engine.ask({ type: 'plans', text: name, archived: false, limit: 200 })).items
    const mine = rows
      .filter(row => row.name === name || row.name.startsWith(`${name}-`))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const open = mine.findLast(row => row.status !== 'completed' && row.status !== 'cancelled')
    if (this.#options.again === true) {
      if (open !== undefined)
        await submit(this.#composed, open.id, { type: 'cancel', reason: 'asked again', force: true })
      for (const { id } of mine) await this.#composed.git.removeScratch({ plan: id, path: this.#asked.scratch })
      return
    }
    const known = open ?? mine.findLast(row => row.status === 'completed')
    if (known !== undefined) {
      this.#plan = { id: known.id, name: known.name }
      const holder = (await engine.ask({ type: 'summary', plan: known.id }))?.holder
      if (holder?.alive === true) throw held(known.name, holder.pid)
    }
  }

  /** The tries that have ended, in order. */
  async #ended(): Promise<readonly Probed[]> {
    if (this.#plan === null) return []
    const found = new Map<TaskName, number>()
    for (let after = 0; ; ) {
      const page = (await this.#composed.engine.ask({ type: 'entries', plan: this.#plan.id, after, limit: 500 })) ?? []
      for (const { events } of page) {
        for (const event of events) {
          if (event.type !== 'attempt.succeeded' || event.task === ANSWER) continue
          found.set(event.task, event.result.exit ?? 0)
        }
      }
      const last = page.at(-1)
      if (last === undefined) break
      after = last.version
    }
    const definition = await this.#composed.engine.ask({ type: 'definition', plan: this.#plan.id })
    const probed: Probed[] = []
    for (const { id, inputs } of definition?.definition.tasks ?? []) {
      const exit = found.get(id)
      if (exit !== undefined && id !== ANSWER) probed.push({ task: id, index: Number(inputs?.index), exit })
    }
    return probed
  }

  /** The task of the next try is in the plan, and its commit stands in the scratch folder before it may start. */
  async #ready(index: number, candidate: Candidate, number: number): Promise<void> {
    const composed = this.#composed
    const indexes = [...this.#probed.map(each => each.index), index]
    if (this.#plan === null) {
      const definition = definitionOf(this.#asked, indexes)
      const made = await submit(composed, null, { type: 'create', definition, taken: 'number' })
      this.#plan = { id: made.plan, name: made.name }
    }
    const { id, name } = this.#plan
    if (candidate.type === 'commit') {
      const { commit } = candidate
      value(await composed.git.checkOutScratch({ plan: id, path: this.#asked.scratch, commit }))
    }
    const task = await composed.engine.ask({ type: 'task', plan: id, task: probeName(number) })
    if (task === null) {
      const definition = { ...definitionOf(this.#asked, indexes), name: name as ReturnType<typeof nameOf> }
      await submit(composed, id, { type: 'revise', definition, rationale: `try ${label(candidate)}`.slice(0, 200) })
    }
    const status = (await composed.engine.ask({ type: 'summary', plan: id }))?.status
    if (status === 'draft') await submit(composed, id, { type: 'start' })
    if (status === 'paused') await submit(composed, id, { type: 'resume' })
    if (task?.status === 'failed') await submit(composed, id, { type: 'retry', task: task.name })
  }

  /** False when it was stopped. */
  async #drive(): Promise<boolean> {
    const { id, name } = this.#plan!
    const driven = await this.#composed.worker.drive(id, { stop: this.#stop.signal })
    switch (driven.status) {
      case 'rested':
        return true
      case 'stopped':
        return false
      case 'held':
        throw held(name, driven.holder.pid)
      case 'lost':
        throw new CliError(EXIT.refused, 'lease-lost', `the lease on '${name}' was lost`, 'run the same command again')
      case 'short':
        throw shortEnd(name, driven.shortage)
      default:
        return driven satisfies never
    }
  }

  async #conclude(ended: Ended): Promise<void> {
    if (this.#plan === null) return
    const { id } = this.#plan
    const card = await this.#composed.engine.ask({ type: 'task', plan: id, task: ANSWER })
    if (card !== null && card.status !== 'completed') {
      const outputs =
        ended.status === 'found'
          ? { status: ended.status, index: ended.index, culprit: label(ended.culprit) }
          : { status: ended.status, suspects: ended.status === 'narrowed' ? ended.suspects.map(label) : [] }
      await submit(this.#composed, id, { type: 'report', task: ANSWER, result: { status: 'succeeded', outputs } })
      await this.#drive()
    }
    if (this.#asked.question.over !== 'commits' || this.#options.keep === true) return
    const removed = await this.#composed.git.removeScratch({ plan: id, path: this.#asked.scratch })
    if (!removed.ok) printNote(this.#context, `${this.#asked.scratch} stays: ${removed.failure.message}`)
  }

  async #couldNotRun(task: TaskName): Promise<CliError> {
    const { id, name } = this.#plan!
    const card = await this.#composed.engine.ask({ type: 'task', plan: id, task })
    const why = card?.reason ?? 'it did not end'
    return new CliError(
      EXIT.failed,
      'probe-failed',
      `${task} could not be judged: ${why}`,
      `see planfold log ${name} ${task} --output; when it can be run, the same command goes on`,
    )
  }

  #strange(): CliError {
    const { name } = this.#plan!
    return new CliError(
      EXIT.refused,
      'conflict',
      `the tries in '${name}' are not those of this search`,
      'somebody revised the plan; begin afresh with --again',
    )
  }
}

const held = (name: string, pid: number): CliError =>
  new CliError(EXIT.refused, 'held', `'${name}' is driven by pid ${pid}`, `follow it: planfold log ${name} --follow`)
