// A bisection as a plan: one task for each try, added by a revision when it is known what to try next, and a last task that takes
// the answer. The journal holds every verdict, so whoever asks the same question again goes on where it stood.

import { createHash } from 'node:crypto'
import type { PlanName, TaskName } from '../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import {
  type Bisection,
  type BisectVerdict,
  type CommitLine,
  judgeProbe,
  nextProbe,
  startBisection,
} from '../workspace/git/git.ts'

export interface Question {
  readonly over: 'commits' | 'toggles' | 'inputs'
  /** In order: all before the first bad one are good. */
  readonly candidates: readonly Candidate[]
}

export type Candidate =
  | ({ readonly type: 'commit' } & CommitLine)
  | { readonly type: 'toggle'; readonly name: string; readonly value: string }
  | { readonly type: 'input'; readonly input: string }

export interface Asked {
  readonly question: Question
  readonly command: readonly string[]
  readonly timeoutMs?: number
  /** Where commits are checked out. */
  readonly scratch: string
}

/** One try that has ended. */
export interface Probed {
  readonly task: TaskName
  readonly index: number
  readonly exit: number
}

export const ANSWER = 'answer' as TaskName
/** The command says so when it cannot tell. */
const EXIT_SKIP = 125

/** The same question has the same name, so that it is found again. */
export function nameOf({ question, command, timeoutMs = 0 }: Omit<Asked, 'scratch'>): PlanName {
  const said = JSON.stringify([question, command, timeoutMs])
  return `bisect-${createHash('sha256').update(said).digest('hex').slice(0, 12)}` as PlanName
}

export function verdictOf(exit: number): BisectVerdict {
  return exit === 0 ? 'good' : exit === EXIT_SKIP ? 'skip' : 'bad'
}

/** Where the search stands after these tries, in order. Null when they do not belong to it. */
export function searched({ question }: Asked, probed: readonly Probed[]): Bisection<Candidate> | null {
  let state = startBisection(question.candidates, { last: question.over === 'commits' ? 'known' : 'unknown' })
  for (const { index, exit } of probed) {
    const step = nextProbe(state)
    if (step.status !== 'probe' || step.index !== index) return null
    state = judgeProbe(state, verdictOf(exit))
  }
  return state
}

/** The plan with these tries, by index, in the order in which they are made. */
export function definitionOf(asked: Asked, indexes: readonly number[]): PlanDefinition {
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

export const probeName = (number: number): TaskName => `probe-${number}` as TaskName

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

export function label(candidate: Candidate): string {
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
