import { expect, it, vi } from 'vitest'
import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import { NoticeWait } from './drive.ts'
import { cardOf, summaryOf } from './text/cards.fixture.ts'

const engineOf = (summary: object, notify: readonly object[]) =>
  ({
    ask: async ({ type }: { type: string }) => (type === 'summary' ? summary : { definition: { notify } }),
  }) as unknown as Composed['engine']

const saidOf = async (summary: object, notify: readonly object[]): Promise<readonly string[]> => {
  vi.useFakeTimers()
  try {
    const said: string[] = []
    const wait = new NoticeWait(engineOf(summary, notify), 'p' as PlanId, text => said.push(text))
    wait.touch()
    await vi.advanceTimersByTimeAsync(1_500)
    wait.touch()
    await vi.advanceTimersByTimeAsync(1_500)
    expect(said).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    wait.touch()
    await vi.advanceTimersByTimeAsync(10_000)
    wait.close()
    return said
  } finally {
    vi.useRealTimers()
  }
}

it('a drive that only waits until people are told says so once, and no other does', async () => {
  const hook = [{ run: ['sleep'] }]
  const ended = summaryOf([cardOf('a', 'completed')], { status: 'completed', endedAt: 1 })
  expect(await saidOf(ended, hook)).toEqual(['the plan has finished; waiting until notifications are sent'])
  expect(await saidOf(ended, [])).toEqual([])
  expect(await saidOf(summaryOf([cardOf('a', 'running')], { status: 'active' }), hook)).toEqual([])
  const rests = summaryOf([cardOf('a', 'waiting')], { status: 'blocked' })
  expect(await saidOf(rests, hook)).toEqual(['nothing more can start; waiting until notifications are sent'])
})
