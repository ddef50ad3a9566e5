// Random bytes out of a pool: each is handed out once.

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { pooled } from './serve.ts'

test('every byte that was drawn is handed out once and stays as it is, over many draws', () => {
  let next = 0
  const asked: number[] = []
  const random = pooled(bytes => {
    asked.push(bytes)
    return Buffer.from(Uint32Array.from({ length: bytes / 4 }, () => next++).buffer)
  })
  const drawn = Array.from({ length: 1_500 }, () => random(4))
  expect(drawn.map(bytes => Buffer.from(bytes).readUInt32LE())).toEqual(drawn.map((_, at) => at))
  expect(asked).toEqual([4_096, 4_096])
})

test('with real chance, six bytes are never the same twice', () => {
  const random = pooled(randomBytes)
  const drawn = new Set(Array.from({ length: 5_000 }, () => Buffer.from(random(6)).toString('hex')))
  expect(drawn.size).toBe(5_000)
})

test('whoever wants a secret gets it from the source, whole and fresh', () => {
  const asked: number[] = []
  const random = pooled(bytes => {
    asked.push(bytes)
    return new Uint8Array(bytes).fill(7)
  })
  expect([...random(32)]).toEqual(Array.from({ length: 32 }, () => 7))
  expect(asked).toEqual([32])
})
