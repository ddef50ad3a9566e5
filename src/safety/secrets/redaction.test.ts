// What a task prints of a secret, however it writes it and wherever the writing is cut.

import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byteStreamRedactor, redactJson, redactor, streamRedactor } from './redaction.ts'

const PARTS = { parts: true }
const SECRET = `ghp_7Qz/+x&"k'9 Lm=€v$2Tn`
const TOKEN = 'npm_AbCdEf0123456789xyzKLMNOPQRSTUVWX'

/** As programs write them; none of these is made by the code under test. */
const WRITTEN: { readonly [how: string]: (secret: string) => string } = {
  'as it is': secret => secret,
  'in the middle of words': secret => `before${secret}after`,
  JSON: secret => JSON.stringify({ token: secret }),
  'JSON in JSON': secret => JSON.stringify({ body: JSON.stringify({ token: secret }) }),
  'JSON with escaped slashes': secret => JSON.stringify(secret).replaceAll('/', '\\/'),
  'Unicode escapes': secret => [...secret].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  'a query': secret => new URLSearchParams({ a: secret }).toString(),
  'a part of an address': secret => `https://example.org/${encodeURIComponent(secret)}/x`,
  'twice in an address': secret => encodeURIComponent(encodeURIComponent(secret)),
  'every byte of an address': secret => [...Buffer.from(secret)].map(byte => `%${byte.toString(16)}`).join(''),
  base64: secret => Buffer.from(secret).toString('base64'),
  'base64 behind one byte': secret => Buffer.from(`x${secret}`).toString('base64'),
  'base64 behind two bytes': secret => Buffer.from(`ab${secret}cd`).toString('base64'),
  'a basic authorization': secret => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  'base64 for addresses': secret => Buffer.from(`_${secret}`).toString('base64url'),
  'base64 twice': secret => Buffer.from(Buffer.from(secret).toString('base64')).toString('base64'),
  'base64 of UTF-16': secret => Buffer.from(secret, 'utf16le').toString('base64'),
  'base64 in lines': secret => Buffer.from(`${secret}${secret}`).toString('base64').replace(/.{24}/g, '$&\n'),
  hexadecimal: secret => Buffer.from(secret).toString('hex'),
  'hexadecimal in capitals': secret => Buffer.from(secret).toString('hex').toUpperCase(),
  'hexadecimal with colons': secret =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/..(?=.)/g, '$&:'),
  'hexadecimal with blanks': secret =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/..(?=.)/g, '$& '),
  'a C array': secret => [...Buffer.from(secret)].map(byte => `0x${byte.toString(16)}`).join(', '),
  'escaped bytes': secret => [...Buffer.from(secret)].map(byte => `\\x${byte.toString(16)}`).join(''),
  'a list of numbers': secret => JSON.stringify([...Buffer.from(secret)]),
  'what Buffer prints': secret => JSON.stringify(Buffer.from(secret)),
  backwards: secret => [...secret].reverse().join(''),
  'in capitals': secret => secret.toUpperCase(),
  'in small letters': secret => secret.toLowerCase(),
  HTML: secret => secret.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`),
  'numbers for HTML': secret => [...secret].map(one => `&#${one.codePointAt(0)};`).join(''),
  'quoted for a shell': secret => `'${secret.replaceAll("'", "'\\''")}'`,
  'the first ten characters': secret => `${secret.slice(0, 10)}…`,
  'the last ten characters': secret => `…${secret.slice(-10)}`,
  'ten in the middle': secret => secret.slice(5, 15),
  'in two lines': secret => `${secret.slice(0, 12)}\n${secret.slice(12)}`,
  'spaced out': secret => [...secret].join(' '),
  'a dump by od -c': secret => execFileSync('od', ['-An', '-c', '-w64'], { input: secret, encoding: 'utf8' }),
  'a dump by od -b': secret => execFileSync('od', ['-An', '-b', '-w64'], { input: secret, encoding: 'utf8' }),
  'a dump by od -tx1': secret => execFileSync('od', ['-An', '-tx1', '-w64'], { input: secret, encoding: 'utf8' }),
  'a printf %q of a shell': secret =>
    execFileSync('bash', ['-c', 'printf %q "$1"', 'bash', secret], { encoding: 'utf8' }),
}

describe.each(Object.entries(WRITTEN))('%s', (_, written) => {
  test.each([SECRET, TOKEN])('is found whole and in any parts: %s', secret => {
    const text = written(secret)
    const clean = redactor([secret], PARTS)(text)
    expect(clean).toContain('[redacted]')
    // What is left says too little: what stands around it, and less than eight characters in a row.
    const few = written('').length + 8 * Math.max(1, text.length / secret.length)
    expect(clean.split('[redacted]').filter(({ length }) => length >= few)).toEqual([])
    for (const size of [1, 2, 3, 7, 16]) {
      const stream = streamRedactor([secret], PARTS)
      const parts = text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
      expect(parts.map(part => stream.next(part)).join('') + stream.end()).toBe(clean)
    }
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
      const stream = byteStreamRedactor([SECRET, TOKEN], PARTS)
      const out: Buffer[] = []
      let at = 0
      for (const size of [...sizes, whole.length + 1]) {
        out.push(stream.next(whole.subarray(at, at + size)))
        at += size
      }
      out.push(stream.end())
      expect(Buffer.concat(out).toString('utf8')).toBe(redactor([SECRET, TOKEN], PARTS)(whole.toString('utf8')))
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
