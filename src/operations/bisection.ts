// Bisection as a plan: finds the first bad commit, setting or input. One task per try, added by a revision once the next candidate is
// known, and a last task for the answer. The journal holds every verdict, so asking the same question again continues the search. Commits
// are checked out in a scratch worktree, the folder of the plan, because a sandbox would hide any other.
//
//   find the plan ──► next try ──► add its task, check out its commit ──► drive, judge ──► …
//                        └──► nothing left to try ──► record the answer, remove the scratch worktree

import { createHash } from 'node:crypto'
import type { PlanId, PlanName, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Failure } from '../domain/result.ts'
import type { Shortage } from '../domain/shortage.ts'
import type { Driven, Order, Submitted } from '../engine/engine.ts'
import {
  type Bisection,
  type BisectStep,
  type BisectVerdict,
  type CommitLine,
  type Git,
  type GitAnswer,
  judgeProbe,
  nextProbe,
  startBisection,
} from '../workspace/git/git.ts'
import type { PlanTarget } from './find-target.ts'
import { reportOrder } from './report-task.ts'
import type { CallerEngine } from './run-plan.ts'

export interface BisectQuestion {
  readonly over: 'commits' | 'toggles' | 'inputs'
  /** In order: all before the first bad one are good. */
  readonly candidates: readonly Candidate[]
}

export type Candidate =
  | ({ readonly type: 'commit' } & CommitLine)
  | { readonly type: 'toggle'; readonly name: string; readonly value: string }
  | { readonly type: 'input'; readonly input: string }

export interface BisectAsk {
  readonly question: BisectQuestion
  readonly command: readonly string[]
  /** The hash of the file that each word of the command names: another script makes another question. */
  readonly files?: readonly (string | null)[]
  readonly timeoutMs?: number
  readonly scratch: string
  /** Start over, whatever is known already. */
  readonly again?: boolean | undefined
  /** Leave the last commit checked out. */
  readonly keep?: boolean | undefined
}

export interface Probed {
  readonly task: TaskName
  readonly index: number
  readonly exit: number
}

const ANSWER = 'answer' as TaskName
/** The command cannot tell, is not executable, or was not found: nothing was tested. */
const EXITS_UNTESTED: ReadonlySet<number> = new Set([125, 126, 127])
/** Part of the plan's name, so that plans of earlier versions of the search are not continued. */
const SEARCH_VERSION = 3

/** The same question gives the same name, so that its plan is found again. */
export function bisectionName({ question, command, files, timeoutMs = 0 }: Omit<BisectAsk, 'scratch'>): PlanName {
  const key = JSON.stringify([SEARCH_VERSION, question, command, files, timeoutMs])
  return `bisect-${createHash('sha256').update(key).digest('hex').slice(0, 12)}` as PlanName
}

export function verdictOf(exit: number): BisectVerdict {
  return exit === 0 ? 'good' : EXITS_UNTESTED.has(exit) ? 'skip' : 'bad'
}

/** The state of the search after these tries, in order. Null if they do not belong to it. */
function searched({ question }: BisectAsk, probed: readonly Probed[]): Bisection<Candidate> | null {
  const first = question.over === 'commits' ? ({ first: 'unknown' } as const) : {}
  let state = startBisection(question.candidates, { last: 'unknown', ...first })
  for (const { index, exit } of probed) {
    const step = nextProbe(state)
    if (step.status !== 'probe' || step.index !== index) return null
    const verdict = verdictOf(exit)
    // If the good commit cannot be tested, the user's word counts.
    state = judgeProbe(state, verdict === 'skip' && index === 0 && question.over === 'commits' ? 'good' : verdict)
  }
  return state
}

/** The plan with these tries, by index, in order. */
function definitionOf(asked: BisectAsk, indexes: readonly number[]): PlanDefinition {
  const probes = indexes.map((index, at) => probeTask(asked, index, at + 1))
  const answer: TaskDefinition = {
    id: ANSWER,
    title: 'The first bad one',
    action: { type: 'external' },
    instruction: 'Is answered by the search itself; nobody needs to claim it.',
    needs: probes.map(({ id }) => id),
  }
  return {
    name: bisectionName(asked),
    title: `Find the first bad one of ${asked.question.candidates.length} ${asked.question.over}`,
    // Nobody needs to restore what a try writes.
    policy: { checkpoints: { files: 'declared', before: 'never' } },
    concurrency: 1,
    tasks: [...probes, answer],
  }
}

const probeName = (number: number): TaskName => `probe-${number}` as TaskName

function probeTask(asked: BisectAsk, index: number, number: number): TaskDefinition {
  const { question, command, timeoutMs } = asked
  const candidate = question.candidates[index]
  if (candidate === undefined) throw new RangeError(`bug: there is no candidate ${index}`)
  const input = candidate.type === 'input' ? candidate.input : null
  const argv = input === null ? command : command.map(word => word.replaceAll('{}', () => input))
  return {
    id: probeName(number),
    title: candidateLabel(candidate),
    action: {
      type: 'run',
      command: {
        // A program missing in a commit is a result of that commit: the shell turns it into an exit code, and the search goes on.
        argv: (question.over === 'commits' ? ['sh', '-c', 'exec "$@"', 'sh', ...argv] : argv).map(plain),
      },
    },
    inputs: { index },
    env: environmentOf(question, index),
    // An interrupted try is repeated.
    effect: 'idempotent',
    // Every exit code is an answer, unless the command could not be started at all: then no other input would help.
    expect: question.over === 'commits' ? 'exit >= 0' : 'exit != 126 && exit != 127',
    timeoutMs,
  }
}

/** All switches up to this one are on. */
function environmentOf({ candidates }: BisectQuestion, index: number): { readonly [name: string]: string } {
  const given: [string, string][] = []
  for (const [at, candidate] of candidates.entries()) {
    if (candidate.type === 'toggle' && at <= index) given.push([candidate.name, plain(candidate.value)])
    if (candidate.type === 'input' && at === index) given.push(['PLANFOLD_INPUT', plain(candidate.input)])
  }
  return Object.fromEntries(given)
}

export function candidateLabel(candidate: Candidate): string {
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

/** Escapes `${{`. */
const plain = (text: string): string => text.replaceAll('${{', () => '$${{')

/** The good commit and those after it, up to the bad one. Both ends are tested too. */
export async function commitsQuestion(
  git: Pick<Git, 'commitsBetween'>,
  range: { readonly good: string; readonly bad: string },
): Promise<GitAnswer<BisectQuestion>> {
  const lines = await git.commitsBetween({ ...range, withGood: true })
  if (!lines.ok) return lines
  const candidates = lines.value.map(line => ({ type: 'commit', ...line }) as const)
  return { ok: true, value: { over: 'commits', candidates } }
}

export interface BisectRoom {
  readonly engine: CallerEngine
  readonly git: Pick<Git, 'checkOutScratch' | 'removeScratch'>
  /** Drives the plan of the search until it rests or `stop` fires. */
  readonly drive: (plan: PlanId) => Promise<Driven>
  readonly stop: AbortSignal
  readonly tell: (tried: ProbeReport) => void
}

export interface ProbeReport {
  readonly number: number
  readonly verdict: BisectVerdict
  readonly exit: number
  readonly candidate: Candidate
  readonly remaining: number
}

export type BisectEnd =
  | Exclude<BisectStep<Candidate>, { readonly status: 'probe' }>
  | { readonly status: 'good-is-bad'; readonly good: Candidate }

export type Bisected =
  | {
      readonly status: 'ended'
      readonly end: BisectEnd
      readonly plan: PlanTarget | null
      readonly tries: readonly Probed[]
      /** Why the scratch worktree could not be removed. */
      readonly left: Failure | null
    }
  | { readonly status: 'interrupted'; readonly tries: number }
  | Halted

/** Why the search stopped; asking again continues it. */
type Halted =
  /** The plan was revised: its tries are not those of this search. */
  | { readonly status: 'strange'; readonly name: string }
  | { readonly status: 'not-judged'; readonly name: string; readonly task: TaskName; readonly why: string | null }
  | { readonly status: 'git'; readonly failure: Failure }
  | { readonly status: 'held'; readonly name: string; readonly pid: number }
  | { readonly status: 'lost'; readonly name: string }
  | { readonly status: 'short'; readonly name: string; readonly shortage: Shortage }
  | { readonly status: 'refused'; readonly refusal: Refusal }

class SearchHalted extends Error {
  override readonly name = 'SearchHalted'
  readonly why: Halted

  constructor(why: Halted) {
    super(why.status)
    this.why = why
  }
}

export async function bisect(room: BisectRoom, ask: BisectAsk): Promise<Bisected> {
  try {
    return await new Search(room, ask).run()
  } catch (error) {
    if (error instanceof SearchHalted) return error.why
    throw error
  }
}

class Search {
  readonly #room: BisectRoom
  readonly #asked: BisectAsk
  #plan: PlanTarget | null = null
  #probed: readonly Probed[] = []

  constructor(room: BisectRoom, ask: BisectAsk) {
    this.#room = room
    this.#asked = ask
  }

  async run(): Promise<Bisected> {
    await this.#open()
    for (;;) {
      this.#probed = await this.#ended()
      const state = searched(this.#asked, this.#probed)
      if (state === null) throw new SearchHalted({ status: 'strange', name: this.#plan!.name })
      const step = nextProbe(state)
      if (step.status !== 'probe') {
        const isGoodBad = step.status === 'found' && step.index === 0 && this.#asked.question.over === 'commits'
        const end = isGoodBad ? ({ status: 'good-is-bad', good: step.culprit } as const) : step
        const left = await this.#conclude(end)
        return { status: 'ended', end, plan: this.#plan, tries: this.#probed, left }
      }
      const { index, candidate, remaining } = step
      const number = this.#probed.length + 1
      await this.#ready(index, candidate, number)
      if (this.#room.stop.aborted || !(await this.#drive()))
        return { status: 'interrupted', tries: this.#probed.length }
      const last = (await this.#ended())[number - 1]
      if (last === undefined) throw await this.#notJudged(probeName(number))
      this.#room.tell({ number, verdict: verdictOf(last.exit), exit: last.exit, candidate, remaining })
    }
  }

  /** Finds the plan of this question. To start over, cancels it instead and removes the scratch worktrees. */
  async #open(): Promise<void> {
    const { engine, git } = this.#room
    const name = bisectionName(this.#asked)
    const rows = (await engine.ask({ type: 'plans', text: name, archived: false, limit: 200 })).items
    const mine = rows
      .filter(row => row.name === name || row.name.startsWith(`${name}-`))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const open = mine.findLast(row => row.status !== 'completed' && row.status !== 'cancelled')
    if (this.#asked.again === true) {
      if (open !== undefined)
        await this.#submit(open.id, { type: 'cancel', reason: 'a new bisection replaces it', force: true })
      for (const { id } of mine) await git.removeScratch({ plan: id, path: this.#asked.scratch })
      return
    }
    const known = open ?? mine.findLast(row => row.status === 'completed')
    if (known === undefined) return
    this.#plan = { plan: known.id, name: known.name }
    const holder = (await engine.ask({ type: 'summary', plan: known.id }))?.holder
    if (holder?.alive === true) throw new SearchHalted({ status: 'held', name: known.name, pid: holder.pid })
  }

  async #ended(): Promise<readonly Probed[]> {
    if (this.#plan === null) return []
    const { plan } = this.#plan
    const { engine } = this.#room
    const found = new Map<TaskName, number>()
    for (let after = 0; ; ) {
      const page = (await engine.ask({ type: 'entries', plan, after, limit: 500 })) ?? []
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
    const definition = await engine.ask({ type: 'definition', plan })
    const probed: Probed[] = []
    for (const { id, inputs } of definition?.definition.tasks ?? []) {
      const exit = found.get(id)
      if (exit !== undefined && id !== ANSWER) probed.push({ task: id, index: Number(inputs?.index), exit })
    }
    return probed
  }

  /** Adds the task of the next try, and checks out its commit before it can start. */
  async #ready(index: number, candidate: Candidate, number: number): Promise<void> {
    const { engine, git } = this.#room
    const indexes = [...this.#probed.map(each => each.index), index]
    if (this.#plan === null) {
      const definition = definitionOf(this.#asked, indexes)
      const folder = candidate.type === 'commit' ? { folder: this.#asked.scratch } : {}
      const made = await this.#submit(null, { type: 'create', definition, taken: 'number', ...folder })
      this.#plan = { plan: made.plan, name: made.name }
    }
    const { plan, name } = this.#plan
    if (candidate.type === 'commit') {
      const { commit } = candidate
      const there = await git.checkOutScratch({ plan, path: this.#asked.scratch, commit })
      if (!there.ok) throw new SearchHalted({ status: 'git', failure: there.failure })
    }
    const task = await engine.ask({ type: 'task', plan, task: probeName(number) })
    if (task === null) {
      const definition = { ...definitionOf(this.#asked, indexes), name: name as PlanName }
      const rationale = `try ${candidateLabel(candidate)}`.slice(0, 200)
      await this.#submit(plan, { type: 'revise', definition, rationale })
    }
    const status = (await engine.ask({ type: 'summary', plan }))?.status
    if (status === 'draft') await this.#submit(plan, { type: 'start' })
    if (status === 'paused') await this.#submit(plan, { type: 'resume' })
    if (task?.status === 'failed') await this.#submit(plan, { type: 'retry', task: task.name })
  }

  /** False if it was stopped. */
  async #drive(): Promise<boolean> {
    const { plan, name } = this.#plan!
    const driven = await this.#room.drive(plan)
    switch (driven.status) {
      case 'rested':
        return true
      case 'stopped':
        return false
      case 'held':
        throw new SearchHalted({ status: 'held', name, pid: driven.holder.pid })
      case 'lost':
        throw new SearchHalted({ status: 'lost', name })
      case 'short':
        throw new SearchHalted({ status: 'short', name, shortage: driven.shortage })
      case 'elsewhere':
        throw new SearchHalted({ status: 'refused', refusal: { code: 'conflict', message: driven.reason } })
      default:
        return driven satisfies never
    }
  }

  /** Records the answer and removes the scratch worktree; returns why the worktree could not be removed. */
  async #conclude(end: BisectEnd): Promise<Failure | null> {
    if (this.#plan === null) return null
    const { plan } = this.#plan
    const card = await this.#room.engine.ask({ type: 'task', plan, task: ANSWER })
    if (card !== null && card.status !== 'completed') {
      const outputs: JsonObject =
        end.status === 'found'
          ? { status: end.status, index: end.index, culprit: candidateLabel(end.culprit) }
          : { status: end.status, suspects: end.status === 'narrowed' ? end.suspects.map(candidateLabel) : [] }
      await this.#submit(plan, reportOrder(ANSWER, { status: 'done', outputs }))
      await this.#drive()
    }
    const { question, keep, scratch } = this.#asked
    if (question.over !== 'commits' || keep === true) return null
    const removed = await this.#room.git.removeScratch({ plan, path: scratch })
    return removed.ok ? null : removed.failure
  }

  async #notJudged(task: TaskName): Promise<SearchHalted> {
    const { plan, name } = this.#plan!
    const card = await this.#room.engine.ask({ type: 'task', plan, task })
    return new SearchHalted({ status: 'not-judged', name, task, why: card?.reason ?? null })
  }

  async #submit(plan: string | null, order: Order): Promise<Extract<Submitted, { readonly ok: true }>> {
    const done = await this.#room.engine.submit(plan, order)
    if (!done.ok) throw new SearchHalted({ status: 'refused', refusal: done.refusal })
    return done
  }
}
