// The search for the first bad one: a plan that is found again, goes on where it stood, and says why when it cannot.

import { beforeEach, expect, it } from 'vitest'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import type { Attempt } from '../runners/runner.ts'
import { openGit } from '../workspace/git/open-git.ts'
import { type BisectAsk, type BisectQuestion, bisect, bisectionName, candidateLabel } from './bisection.ts'

const inputs = (...words: readonly string[]): BisectQuestion => ({
  over: 'inputs',
  candidates: words.map(input => ({ type: 'input', input })),
})
const EIGHT = inputs('1', '2', '3', '4', '5', '6', '7', '8')
/** What a try is made with: the input that stands for `{}`. */
const inputOf = ({ action }: Attempt): number =>
  action.type === 'run' && 'argv' in action.command ? Number(action.command.argv[1]) : 0

let judge: (input: number) => number
let tried: number[]
let stop: AbortController
let room: ReturnType<typeof setup>
beforeEach(() => {
  judge = input => (input >= 6 ? 1 : 0)
  tried = []
  stop = new AbortController()
  room = setup(async attempt => {
    tried.push(inputOf(attempt))
    return exited(judge(inputOf(attempt)))
  })
})
async function search(question: BisectQuestion, more: Partial<BisectAsk> = {}) {
  const { root, environment } = room.rooms
  const told: string[] = []
  const done = await bisect(
    {
      engine: room.engine,
      git: openGit({ root, scratch: root, environment }),
      drive: async plan => await room.worker.drive(plan, { stop: stop.signal }),
      stop: stop.signal,
      tell: ({ number, verdict, candidate }) => void told.push(`${number} ${verdict} ${candidateLabel(candidate)}`),
    },
    { question, command: ['try', '{}'], scratch: root, ...more },
  )
  return { done, told }
}

it('the first bad one is found in few tries, and the answer is in the journal', async () => {
  const { done, told } = await search(EIGHT)
  expect(done).toMatchObject({ status: 'ended', end: { status: 'found', index: 5 }, left: null })
  expect(told[0]).toBe('1 bad 8')
  expect(tried.length).toBeLessThanOrEqual(4)
  if (done.status !== 'ended' || done.plan === null) throw new Error(done.status)
  expect(await room.engine.ask({ type: 'task', plan: done.plan.plan, task: name('answer') })).toMatchObject({
    status: 'completed',
    outputs: { status: 'found', index: 5, culprit: '6' },
  })
})

it('the same question is answered from the journal, another one and one asked afresh are not', async () => {
  const first = await search(EIGHT)
  const count = tried.length
  const second = await search(EIGHT)
  expect([second.done, second.told, tried.length]).toEqual([first.done, [], count])
  expect(bisectionName({ question: EIGHT, command: ['try'] })).not.toBe(bisectionName({ question: EIGHT, command: [] }))
  const third = await search(EIGHT, { again: true })
  expect(third.done).toMatchObject({ status: 'ended', end: { index: 5 } })
  expect(tried.length).toBe(2 * count)
})

it('nothing is bad, or what cannot be judged leaves several', async () => {
  judge = () => 0
  expect((await search(EIGHT)).done).toMatchObject({ end: { status: 'clean' } })
  judge = input => (input === 8 ? 1 : 125)
  expect((await search(inputs('7', '8'))).done).toMatchObject({ end: { status: 'narrowed', suspects: [{}, {}] } })
})

it('interrupted, it goes on from there', async () => {
  const good = judge
  judge = input => {
    if (tried.length === 2) stop.abort()
    return good(input)
  }
  expect((await search(EIGHT)).done).toMatchObject({ status: 'interrupted' })
  stop = new AbortController()
  judge = good
  expect((await search(EIGHT)).done).toMatchObject({ status: 'ended', end: { index: 5 } })
})

it('a try that cannot be run at all is told, and made again', async () => {
  const good = judge
  judge = () => 127
  expect((await search(EIGHT)).done).toMatchObject({ status: 'not-judged', task: 'probe-1' })
  judge = good
  expect((await search(EIGHT)).done).toMatchObject({ status: 'ended', end: { index: 5 } })
})

it('a plan whose tries are others is not taken for the search', async () => {
  const plan = bisectionName({ question: EIGHT, command: ['try', '{}'] })
  const action = { type: 'run', command: { argv: ['try', '4'] } } as const
  const probe = { id: name('probe-1'), inputs: { index: 3 }, action }
  const answer = { id: name('answer'), action: { type: 'external' }, needs: [name('probe-1')] } as const
  await room.drive(await room.define({ name: plan, tasks: [probe, answer] }))
  expect((await search(EIGHT)).done).toEqual({ status: 'strange', name: plan })
})
