import { describe, expect, it } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { paint } from '../terminal/paint.ts'
import { changeKind, resultLines } from './rollback-result.ts'

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

describe('how a rollback ended', () => {
  const stopped = {
    type: 'rollback.stopped',
    failure: { class: 'logic', message: 'the disk is full', retryable: false },
    changes: null,
  } as never
  const told = { name: 'p', ended: stopped, status: 'failed' } as const
  it('is told of what was wanted: a rollback, or the undo of one', () => {
    const first = (what: string) => resultLines({ ...told, what }, paint(false))[0]
    expect(first('rolled back to cp')).toBe('✖ p was not rolled back: the disk is full')
    expect(first('the last rollback was undone')).toBe('✖ p: the last rollback was not undone: the disk is full')
  })
  it('names what remains as what a task did, and why as the failure of its undo step', () => {
    const ended = { type: 'rollback.finished', paths: 0, changes: null } as never
    const lines = resultLines(
      { ...told, what: 'rolled back to cp', ended, failed: [{ task: 'c', why: 'exit 1' }] },
      paint(false),
    )
    expect(lines[1]).toBe('  remains  what c did, because its undo step failed (exit 1); undo it manually')
  })
})
