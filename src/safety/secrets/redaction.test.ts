// What a task prints of a secret, however it writes it and wherever the writing is cut.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byteStreamRedactor, redaction, redactJson, redactor, streamRedactor } from './redaction.ts'
import { WRITTEN } from './written.fixture.ts'

const PARTS = { parts: true }
const SECRET = `ghp_7Qz/+x&"k'9 Lm=€v$2Tn`
const TOKEN = 'npm_AbCdEf0123456789xyzKLMNOPQRSTUVWX'

/** Getting ready to look for a secret takes longer than looking. */
const REDACTIONS = new Map([SECRET, TOKEN].map(secret => [secret, redaction([secret], PARTS)]))
const BOTH = redaction([SECRET, TOKEN], PARTS)

describe.each(Object.entries(WRITTEN))('%s', (_, written) => {
  test.each([SECRET, TOKEN])('is found whole and in any parts: %s', secret => {
    const text = written(secret)
    const made = REDACTIONS.get(secret)!
    const clean = made.text(text)
    expect(clean).toContain('[redacted]')
    // What is left says too little: what stands around it, and less than eight characters in a row.
    const few = written('').length + 8 * Math.max(1, text.length / secret.length)
    expect(clean.split('[redacted]').filter(({ length }) => length >= few)).toEqual([])
    const cut = (size: number) => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
    for (const size of [1, 2, 3, 16]) {
      const stream = made.stream()
      const out = [...cut(size).map(part => stream.next(Buffer.from(part))), stream.end()]
      expect(Buffer.concat(out).toString('utf8')).toBe(clean)
    }
    const stream = streamRedactor([secret], PARTS)
    expect(
      cut(7)
        .map(part => stream.next(part))
        .join('') + stream.end(),
    ).toBe(clean)
  })
})

test('bytes that come in any parts are cleaned as if they had come at once', () => {
  const piece = fc.oneof(
    fc.constantFrom(SECRET, TOKEN, SECRET.slice(0, 9), TOKEN.slice(3, 14), SECRET.slice(0, 5)),
    fc.string({ maxLength: 12 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 })), (pieces, sizes) => {
      const whole = Buffer.from(pieces.join(''))
      const stream = BOTH.stream()
      const out: Buffer[] = []
      let at = 0
      for (const size of [...sizes, whole.length + 1]) {
        out.push(stream.next(whole.subarray(at, at + size)))
        at += size
      }
      out.push(stream.end())
      expect(Buffer.concat(out).toString('utf8')).toBe(BOTH.text(whole.toString('utf8')))
    }),
  )
})

test('text without a secret comes through at once, byte by byte', () => {
  const stream = byteStreamRedactor([SECRET], PARTS)
  const bytes = Buffer.from([0xff, 0, 10, 65, 0xe3, 0x83])
  expect(stream.next(bytes)).toEqual(bytes)
  expect(stream.next(Buffer.from('installing 12 packages\n')).toString()).toBe('installing 12 packages\n')
  expect(stream.end()).toHaveLength(0)
})

test('short values are found whole, and those of three characters not at all', () => {
  expect(redactor(['pin42'], PARTS)('the pin is pin42, not pin4')).toBe('the pin is [redacted], not pin4')
  expect(redactor(['abc'])('abc')).toBe('abc')
})

test('a long key is found by any line of it', () => {
  const key = `-----BEGIN KEY-----\n${'MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn'.repeat(40)}\n-----END KEY-----`
  const redact = redactor([key], PARTS)
  expect(redact(`x ${key} y`)).toBe('x [redacted] y')
  expect(redact(key.replaceAll('\n', '\\n'))).toBe('[redacted]')
  expect(redact('Z3VS5JJcds3')).toBe('[redacted]')
})

test('all texts of a value are looked at, its keys too', () => {
  expect(redactJson({ [TOKEN]: [1, null, { a: `x${TOKEN}` }], b: 'c' }, redactor([TOKEN]))).toEqual({
    '[redacted]': [1, null, { a: 'x[redacted]' }],
    b: 'c',
  })
})

test('a value is found whatever it begins with, at any place, also when few bytes are left of it without its blanks', () => {
  const secret = fc.string({ minLength: 4, maxLength: 12, unit: 'binary' }).filter(text => !'[redacted]'.includes(text))
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      expect(redactor([value])(`${before}${value}${after}`)).toContain('[redacted]')
    }),
    { numRuns: 50 },
  )
  expect(redactor(['  ab '])('xab')).toBe('x[redacted]')
  expect(redactor(['  abc'])('xabcx')).toBe('x[redacted]x')
  expect(redactor(['abcd'])('xabcd')).toBe('x[redacted]')
})
