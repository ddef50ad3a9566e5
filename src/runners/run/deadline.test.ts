import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TIMEOUT_DEFAULT_MS } from '../../domain/limits.ts'
import { startDeadline } from './run-runner.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a deadline longer than a timer can count is kept', () => {
  const passed = vi.fn()
  const days = 24 * 60 * 60_000
  startDeadline(28 * days, passed)
  vi.advanceTimersByTime(28 * days - 1)
  expect(passed).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(passed).toHaveBeenCalledOnce()
})

test('zero, negative and absurd times are never instant', () => {
  for (const ms of [0, -1, Number.NaN]) {
    const passed = vi.fn()
    startDeadline(ms, passed)
    vi.advanceTimersByTime(TIMEOUT_DEFAULT_MS - 1)
    expect(passed).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(passed).toHaveBeenCalledOnce()
  }
})

test('a stopped deadline does not pass', () => {
  const passed = vi.fn()
  startDeadline(10, passed)()
  vi.advanceTimersByTime(20)
  expect(passed).not.toHaveBeenCalled()
})
