import { expect, test, vi } from 'vitest'
import { Stopper } from './stop.ts'

test('whoever listens before the stop is told, and once', () => {
  const stop = new Stopper()
  const told = vi.fn()
  stop.signal.addEventListener('abort', told)
  expect(stop.aborted).toBe(false)
  stop.abort()
  stop.abort()
  expect(told).toHaveBeenCalledTimes(1)
  expect([stop.aborted, stop.signal.aborted]).toEqual([true, true])
})

test('whoever asks for the signal after the stop gets one that has fired', () => {
  const stop = new Stopper()
  stop.abort()
  expect(stop.signal.aborted).toBe(true)
  expect(stop.signal).toBe(stop.signal)
})
