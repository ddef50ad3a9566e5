import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault, readJson } from './body.ts'
import { LIMITS } from './limits.ts'
import { isProblem } from './problem.ts'

test.each([
  ['{"priority":NaN}', 12],
  ['{"a": 1,\n "prio": }', 18],
  ['{"a": 1,}', 8],
  ['{"a" 1}', 5],
  ['[1 2]', 3],
  ['[1}', 2],
  ['{"a": "x\ny"}', 8],
  ['{"a": "\\q"}', 8],
  ['{"a": 1} x', 9],
  ['01', 0],
  ['{"a": tru}', 6],
  ['{"a": "x', 8],
  ['', 0],
])('%j stops being JSON at %d', (text, at) => {
  expect(jsonFault(text)).toBe(at)
})

test('what is JSON ends only with the text', () => {
  fc.assert(fc.property(fc.json(), text => void expect(jsonFault(text)).toBe(text.length)))
})

test('a fault lies where JSON.parse says it does, whenever it says so', () => {
  const broken = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', 'x', ',', '}', '"', ':', '\n'))
  fc.assert(
    fc.property(broken, ([json, where, sign]) => {
      const at = where % (json.length + 1)
      const text = json.slice(0, at) + sign + json.slice(at + 1)
      try {
        JSON.parse(text)
      } catch (error) {
        const told = /position (\d+)/.exec(String(error))
        const found = jsonFault(text)
        expect(found).toBeLessThanOrEqual(text.length)
        // Inside a word or a number, where it begins is as good.
        if (told !== null && /[^\w.+-]/.test(text[Number(told[1]) - 1] ?? ' ')) expect(found).toBe(Number(told[1]))
      }
    }),
  )
})

test('the problem names line and column', () => {
  const read = readJson('{\n  "a": 1,\n  "prio": }\n}', LIMITS)
  expect(isProblem(read) ? read.problem.detail : '').toBe('the body is not JSON at line 3, column 11')
})
