import { describe, expect, it } from 'vitest'
import { patchOf } from './patch.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)

describe('a patch', () => {
  it('holds the lines that differ, with their places', () => {
    expect(patchOf(bytes('one\ntwo\nthree\n'), bytes('one\nTWO\nthree\n'))).toEqual({
      type: 'text',
      lines: ['@@ -1,3 +1,3 @@', ' one', '-two', '+TWO', ' three'],
    })
    expect(patchOf(bytes(''), bytes('new\n'))).toEqual({ type: 'text', lines: ['@@ -0,0 +1,1 @@', '+new'] })
    expect(patchOf(bytes('gone'), bytes(''))).toEqual({
      type: 'text',
      lines: ['@@ -1,1 +0,0 @@', '-gone', '\\ No newline at end of file'],
    })
  })

  it('of what is no text only says so', () => {
    expect(patchOf(Buffer.from([0xff]), bytes('x'))).toEqual({ type: 'binary', why: 'binary, 1 → 1 byte' })
    expect(patchOf(bytes('a\0b'), bytes(''))).toMatchObject({ type: 'binary' })
  })
})
