// Live progress for one client: a little at a time, the newest first kept, and never ahead of what it has heard.

import { describe, expect, test } from 'vitest'
import { name, numberedPlanId } from '../../testing/index.ts'
import { outputTick, progressTick, TickQueue } from './progress-events.ts'
import { DOTTED } from './sse.ts'

const plan = numberedPlanId(1)
const facts = { name: 'p', session: null }
const line = (text: string) =>
  outputTick({ plan, task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 0, text, seq: 1 }, facts)
const said = (text: string) =>
  outputTick({ plan, task: name('a'), visit: 1, attempt: 1, stream: 'engine', at: 0, text, seq: 1 }, facts)
const far = (version: number, position: number) => {
  const counts = { total: 2, done: 1, ended: 1, ratio: 0.5, successRate: 1, counts: {} as never }
  const now = { version, revision: 1, status: 'active' as const, progress: counts, running: [], waiting: [] }
  return progressTick('plan.progress', plan, facts, now, '', position)
}
const dataOf = (text: string | null) =>
  text === null
    ? null
    : JSON.parse(
        text
          .split('\n')
          .find(row => row.startsWith('data: '))!
          .slice('data: '.length),
      )

test('what an agent has spent so far is told in numbers too, and only where we say it', () => {
  const text = 'x/y answered; spent so far: 2 calls, 2000 tokens in, 100 out, cost unknown\n'
  expect(dataOf(said(`began\n${text}`).text(DOTTED))).toMatchObject({
    spent: { calls: 2, input_tokens: 2000, output_tokens: 100, cost_usd: null },
  })
  expect(dataOf(line(text).text(DOTTED))).not.toHaveProperty('spent')
})

describe('what waits for a client', () => {
  test('how far a plan has come is told only to whoever has heard of the entry, and only as of last', () => {
    const queue = new TickQueue(
      () => 0,
      () => {},
    )
    queue.offerProgress(far(4, 9))
    queue.offerProgress(far(5, 10))
    expect(queue.takeProgress(DOTTED, 9)).toBeNull()
    expect(dataOf(queue.takeProgress(DOTTED, 10))).toMatchObject({ version: 5, done: 1, total: 2 })
    expect(queue.takeProgress(DOTTED, 10)).toBeNull()
  })

  test('lines come as fast as they can be looked at; of too many the last are kept', () => {
    let now = 0
    const queue = new TickQueue(
      () => now,
      () => {},
    )
    for (let at = 0; at < 70; at++) queue.offerOutput(line(`line ${at}`))
    const taken: { text: string; gap?: true }[] = []
    const take = () => {
      for (let text = queue.takeOutput(DOTTED); text !== null; text = queue.takeOutput(DOTTED)) taken.push(dataOf(text))
    }
    take()
    expect(taken.length).toBe(40)
    expect(taken.slice(0, 2)).toEqual([
      expect.objectContaining({ text: 'line 20', gap: true }),
      expect.not.objectContaining({ gap: true }),
    ])
    now = 100
    take()
    expect(taken.length).toBe(44)
    now = 1_100
    take()
    expect(taken.map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, at) => `line ${at + 20}`))
    queue.close()
  })
})
