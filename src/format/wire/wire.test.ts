// A body that does not fit is told where and why, in words a person can follow, whatever it holds.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { parsePlan } from '../plan/parse.ts'
import { wire } from './wire.ts'

const shape = wire(
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('note'), text: z.string() }),
    z.strictObject({ type: z.literal('claim'), task: z.string().exactOptional() }),
  ]),
)
const faults = (value: unknown) => {
  const read = shape.read(value)
  return read.ok ? [] : read.faults
}

test('a kind nobody knows is told with those that are known', () => {
  expect(faults({ type: 'nothing' })).toEqual([
    { path: 'type', message: `unknown value "nothing" for 'type'`, hint: 'write one of: note, claim' },
  ])
  expect(faults({ type: 'notes' })[0]?.hint).toBe("did you mean 'note'?")
})

test('a key that belongs to another kind is not offered as what was meant', () => {
  expect(faults({ type: 'claim', text: 'x' })).toEqual([
    { path: 'text', message: "unknown key 'text'", hint: 'it does not go with the rest: leave it out' },
  ])
})

test('a value that cannot be made into text is told as well', () => {
  expect(faults({ type: 'note', text: { toString: '' } })).toEqual([
    { path: 'text', message: "'text' must be text, not a map", hint: 'for example: text: some text' },
  ])
  expect(parsePlan('{"planfold": 1, "title": {"toString": "", "valueOf": 1}, "tasks": []}').ok).toBe(false)
})
