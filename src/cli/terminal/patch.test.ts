import { describe, expect, it } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { changeKind } from '../text/rollback-result.ts'
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

describe('what happened to a path', () => {
  const file = (sha256: string, mode = 0o644): TreeEntry => ({
    type: 'file',
    mode,
    size: sha256.length,
    sha256: sha256 as Sha256,
  })
  const folder: TreeEntry = { type: 'directory', mode: 0o755 }
  const link: TreeEntry = { type: 'link', target: 'a' }
  it.each([
    [null, file('a'), 'added', '1 byte'],
    [link, null, 'removed', 'link to a'],
    [file('a'), file('bb'), 'changed', '1 → 2 bytes'],
    [file('a'), file('a', 0o755), 'mode', '644 → 755'],
    [file('a'), file('bb', 0o755), 'changed', '1 → 2 bytes, mode 644 → 755'],
    [folder, { type: 'directory', mode: 0o700 } as const, 'mode', '755 → 700'],
    [file('a'), folder, 'changed', '1 byte → folder'],
    [link, { type: 'link', target: 'b' } as const, 'changed', 'link to a → link to b'],
  ] as const)('%o → %o', (before, after, happened, how) => {
    expect(changeKind({ path: 'x', before, after })).toEqual({ happened, how })
  })
})
