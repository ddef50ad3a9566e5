import { expect, it } from 'vitest'
import type { FilePreview } from '../../engine/engine.ts'
import type { Context } from '../context.ts'
import { paint } from '../terminal/paint.ts'
import { type Asked, type Preview, previewLines } from './rollback-preview.ts'

const context = { paint: paint(false), now: () => 0 } as unknown as Context

const lines = (preview: Partial<Preview>): readonly string[] => {
  const whole = { kind: 'rollback', to: 2, checkpoint: null, files: [], resets: [], compensate: [], stays: [] }
  const rest = { decisionsLost: [], git: [], kept: [], ...preview }
  return previewLines(context, {
    name: 'demo',
    preview: { ok: true, ...whole, ...rest } as unknown as Preview,
    choiceOf: () => null,
    isKept: () => false,
    isStart: true,
    isRunning: false,
    filesOnly: false,
    only: {},
    command: 'planfold rollback demo',
  } satisfies Asked)
}

const file = (path: string, more: Partial<FilePreview> = {}): FilePreview => ({ path, will: 'restore', ...more })
const edited = (path: string) => file(path, { conflict: 'edited since' })

it.each([
  [[file('a'), file('b'), edited('c')], '3 paths, 1 of them changed since, not by the plan'],
  [[file('a'), edited('b')], '2 paths, 1 of them changed since, not by the plan'],
  [[edited('a'), edited('b')], '2 paths, all of them changed since, not by the plan'],
  [[edited('a')], '1 path, changed since, not by the plan'],
  [[file('a'), file('b', { will: 'leave' })], '1 path, 1 already up to date'],
  [[], 'none to revert'],
])('the sentence about files counts what is listed below it', (files, said) => {
  const told = lines({ files })
  expect(told[1]).toBe(`  files     ${said}`)
  const listed = told.filter(line => /^ {2}[! ] restore /.test(line))
  expect(listed).toHaveLength(Number.parseInt(said, 10) || 0)
})

it('tasks that had ended go back to how they had ended: nothing is run', () => {
  const resets = [
    { task: 'e1', status: 'pending' },
    { task: 'e2', status: 'completed' },
    { task: 'rename', status: 'failed' },
  ] as unknown as Preview['resets']
  expect(lines({ kind: 'undo', resets }).slice(2)).toEqual([
    '  tasks     will run again: e1',
    '  tasks     back to completed: e2',
    '  tasks     back to failed: rename',
  ])
})
