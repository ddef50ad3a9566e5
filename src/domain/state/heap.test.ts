import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Heap } from './heap.ts'

it('hands out what is live, in order, and drops what is stale when it meets it', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: fc.nat(20), live: fc.boolean() })), items => {
      const heap = new Heap<(typeof items)[number]>((a, b) => a.key < b.key)
      for (const item of items) heap.push(item)
      const popped: number[] = []
      for (let item = heap.pop(({ live }) => live); item !== undefined; item = heap.pop(({ live }) => live))
        popped.push(item.key)
      expect(popped).toEqual(
        items
          .filter(({ live }) => live)
          .map(({ key }) => key)
          .sort((a, b) => a - b),
      )
      expect(heap.size).toBe(0)
    }),
  )
})

it('pushing and popping costs a number of comparisons that grows with the logarithm of its size', () => {
  const cost = (size: number): number => {
    let compared = 0
    const heap = new Heap<number>((a, b) => {
      compared++
      return a < b
    })
    for (let at = 0; at < size; at++) heap.push((at * 7919) % size)
    while (heap.pop(() => true) !== undefined);
    return compared / size
  }
  expect(cost(16_384)).toBeLessThan(cost(1_024) * 1.6)
})

it('an item that goes stale leaves at once when it is first, and when it is met otherwise', () => {
  const heap = new Heap<number>((a, b) => a < b)
  for (const item of [3, 1, 2]) heap.push(item)
  heap.stale(1)
  heap.stale(3)
  expect(heap.size).toBe(2)
  expect([heap.pop(item => item !== 3), heap.pop(item => item !== 3), heap.size]).toEqual([2, undefined, 0])
})
