import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Edit } from '../../domain/plan.ts'
import { sha256Of } from '../../safety/files/regular-file.ts'
import { setup as setupAttempt } from '../attempt.fixture.ts'
import { editRunner } from './edit-runner.ts'

function setup(files: { readonly [path: string]: string | Buffer } = {}, write: readonly string[] | null = null) {
  const bundle = setupAttempt()
  const { root, attempt, going } = bundle
  const tools = { ...bundle.tools, write }
  for (const [path, content] of Object.entries(files)) {
    fs.mkdirSync(join(root, path, '..'), { recursive: true })
    fs.writeFileSync(join(root, path), content)
  }
  const runner = editRunner()
  const edit = (...edits: Edit[]) => runner.attempt(attempt({ type: 'edit', edits }), tools, going)
  const preview = async (...edits: Edit[]) =>
    (await runner.preview!(attempt({ type: 'edit', edits }), tools, going.signal)).text
  const read = (path: string) => fs.readFileSync(join(root, path), 'utf8')
  const tree = () =>
    Object.fromEntries(
      (fs.readdirSync(root, { recursive: true }) as string[])
        .filter(path => fs.lstatSync(join(root, path)).isFile())
        .sort()
        .map(path => [path, read(path)]),
    )
  return { ...bundle, edit, preview, read, tree }
}

const hash = (text: string) => sha256Of(Buffer.from(text))
const refused = (kind: 'policy' | 'logic', message?: string) => ({
  type: 'failed',
  failure: {
    class: kind,
    retryable: false,
    ...(message !== undefined && { message: expect.stringContaining(message) }),
  },
})

const DIFF = '--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n'
const EVERY: readonly Edit[] = [
  { type: 'create', file: 'new/a.sh', content: '#!\n', mode: 0o755 },
  { type: 'replace', file: 'r.txt', find: 'old', replace: 'fresh' },
  { type: 'patch', file: 'p.txt', diff: DIFF },
  { type: 'move', file: 'm.txt', to: 'moved/m.txt' },
  { type: 'delete', file: 'd.txt' },
  { type: 'chmod', file: 'c.txt', mode: 0o700 },
]
const FILES = { 'r.txt': 'an old text', 'p.txt': 'one\ntwo\nthree\n', 'm.txt': 'm', 'd.txt': 'd', 'c.txt': 'c' }

test('every kind of edit does what it says and reports hashes', async () => {
  const { root, edit, tree } = setup(FILES)
  expect(await edit(...EVERY)).toEqual({
    type: 'done',
    outputs: {
      files: [
        { path: 'new/a.sh', before: null, after: hash('#!\n') },
        { path: 'r.txt', before: hash('an old text'), after: hash('an fresh text') },
        { path: 'p.txt', before: hash('one\ntwo\nthree\n'), after: hash('one\nTWO\nthree\n') },
        { path: 'm.txt', before: hash('m'), after: null },
        { path: 'moved/m.txt', before: null, after: hash('m') },
        { path: 'd.txt', before: hash('d'), after: null },
        { path: 'c.txt', before: hash('c'), after: hash('c') },
      ],
    },
  })
  const after = {
    'c.txt': 'c',
    'moved/m.txt': 'm',
    'new/a.sh': '#!\n',
    'p.txt': 'one\nTWO\nthree\n',
    'r.txt': 'an fresh text',
  }
  expect(tree()).toEqual(after)
  expect(fs.statSync(join(root, 'new/a.sh')).mode & 0o777).toBe(0o755)
  expect(fs.statSync(join(root, 'c.txt')).mode & 0o777).toBe(0o700)
})

test('edits made twice are as if made once', async () => {
  const { edit, tree } = setup(FILES)
  expect(await edit(...EVERY)).toMatchObject({ type: 'done' })
  const once = tree()
  expect(await edit(...EVERY)).toMatchObject({ type: 'done' })
  expect(tree()).toEqual(once)
})

test('one edit that does not fit leaves every file as it was', async () => {
  const { edit, tree } = setup(FILES)
  expect(await edit(...EVERY, { type: 'replace', file: 'c.txt', find: 'absent', replace: 'x' })).toMatchObject(
    refused('logic'),
  )
  expect(tree()).toEqual(FILES)
})

test('later edits build on earlier ones', async () => {
  const { edit, tree } = setup({ a: 'one' })
  const steps: Edit[] = [
    { type: 'replace', file: 'a', find: 'one', replace: 'two' },
    { type: 'replace', file: './a', find: 'two', replace: 'three' },
    { type: 'move', file: 'a', to: 'b' },
    { type: 'create', file: 'a', content: 'again' },
  ]
  expect(await edit(...steps)).toMatchObject({ type: 'done' })
  expect(tree()).toEqual({ a: 'again', b: 'three' })
})

describe('a replacement', () => {
  test('wants exactly one match and tells how many there are', async () => {
    const { edit, read } = setup({ a: 'x\ny x\n', b: 'const value  = 1\n', c: 'a\r\nb\r\n' })
    expect(await edit({ type: 'replace', file: 'a', find: 'x', replace: 'z' })).toMatchObject({
      failure: { message: expect.stringContaining('2 times'), hint: expect.stringContaining('lines 1, 2') },
    })
    expect(await edit({ type: 'replace', file: 'b', find: 'const value = 1', replace: 'z' })).toMatchObject({
      failure: { hint: expect.stringContaining('line 1: "const value  = 1"') },
    })
    expect(await edit({ type: 'replace', file: 'c', find: 'a\nb', replace: 'z' })).toMatchObject({
      failure: { hint: expect.stringContaining('CR LF') },
    })
    expect(await edit({ type: 'replace', file: 'a', find: '', replace: 'z' })).toMatchObject(refused('logic'))
    expect(await edit({ type: 'replace', file: 'none', find: 'x', replace: 'z' })).toMatchObject(refused('logic'))
    expect(await edit({ type: 'replace', file: 'a', find: 'x', replace: '$&$1', all: true })).toMatchObject({
      type: 'done',
    })
    expect(read('a')).toBe('$&$1\ny $&$1\n')
  })

  test('keeps bytes that are no text', async () => {
    const { root, edit } = setup({ a: Buffer.from([0xff, 0x61, 0xfe]) })
    expect(await edit({ type: 'replace', file: 'a', find: 'a', replace: 'b' })).toMatchObject({ type: 'done' })
    expect(fs.readFileSync(join(root, 'a'))).toEqual(Buffer.from([0xff, 0x62, 0xfe]))
  })
})

describe('a patch', () => {
  test('may create, delete, and fit a few lines further down', async () => {
    const { edit, tree } = setup({ gone: 'x\n', shifted: 'zero\none\ntwo\nthree\n' })
    expect(
      await edit(
        { type: 'patch', file: 'born', diff: '--- /dev/null\n+++ b/born\n@@ -0,0 +1 @@\n+hi\n' },
        { type: 'patch', file: 'gone', diff: '--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n' },
        { type: 'patch', file: 'shifted', diff: DIFF },
      ),
    ).toMatchObject({ type: 'done' })
    expect(tree()).toEqual({ born: 'hi\n', shifted: 'zero\none\nTWO\nthree\n' })
  })

  test('that does not fit, is broken or is about two files is refused', async () => {
    const { edit } = setup({ a: 'other\n', b: Buffer.from([0xff]), born: 'hi\nmore\n' })
    const born = '--- /dev/null\n+++ b/born\n@@ -0,0 +1 @@\n+hi\n'
    for (const [file, diff] of [
      ...[
        ['a', DIFF],
        ['a', 'nonsense'],
        ['a', '@@ -1 +1 @@\n?x\n'],
        ['a', DIFF + DIFF],
        ['none', DIFF],
        ['b', DIFF],
        ['born', born],
      ],
    ] as const) {
      expect(await edit({ type: 'patch', file: file!, diff: diff! }), `${file} ${diff}`).toMatchObject(refused('logic'))
    }
  })
})

describe('what a person did meanwhile', () => {
  test('is seen by a pin', async () => {
    const { edit, read } = setup({ a: 'by a person x' })
    for (const one of [
      { type: 'replace', file: 'a', find: 'x', replace: 'y' },
      { type: 'create', file: 'a', content: 'mine' },
      { type: 'delete', file: 'a' },
      { type: 'move', file: 'a', to: 'b' },
    ] satisfies Edit[]) {
      expect(await edit({ ...one, sha256: hash('as planned x') }), one.type).toMatchObject(
        refused('logic', 'changed since'),
      )
    }
    expect(read('a')).toBe('by a person x')
    expect(await edit({ type: 'create', file: 'a', content: 'mine', sha256: hash('by a person x') })).toMatchObject({
      type: 'done',
    })
  })

  test('is never overwritten by create or move without one', async () => {
    const { edit, tree } = setup({ a: 'a', b: 'b' })
    expect(await edit({ type: 'create', file: 'a', content: 'x' })).toMatchObject(refused('logic', 'exists'))
    expect(await edit({ type: 'move', file: 'a', to: 'b' })).toMatchObject(refused('logic', 'exists'))
    expect(await edit({ type: 'move', file: 'none', to: 'none2' })).toMatchObject(refused('logic'))
    expect(tree()).toEqual({ a: 'a', b: 'b' })
  })
})

describe('attacks', () => {
  const each = (path: string): readonly Edit[] => [
    { type: 'create', file: path, content: 'x' },
    { type: 'replace', file: path, find: 'a', replace: 'b' },
    { type: 'patch', file: path, diff: DIFF },
    { type: 'move', file: path, to: 'ok' },
    { type: 'move', file: 'source', to: path },
    { type: 'delete', file: path },
    { type: 'chmod', file: path, mode: 0o777 },
  ]

  test('A01-A15 by path are refused for every kind of edit', async () => {
    const { base, root, edit } = setup({ source: 'one' })
    fs.writeFileSync(join(base, 'outside.txt'), 'outside')
    fs.symlinkSync(base, join(root, 'link'))
    fs.symlinkSync(join(base, 'outside.txt'), join(root, 'leaf'))
    fs.symlinkSync('../outside.txt', join(root, 'up'))
    fs.linkSync(join(base, 'outside.txt'), join(root, 'hard'))
    execFileSync('mkfifo', [join(root, 'fifo')])
    const paths = [
      ...[
        '../outside.txt',
        'a/../../outside.txt',
        '/etc/passwd',
        '~/.ssh/id_rsa',
        'file:///etc/passwd',
        'C:\\x',
        '//srv/x',
      ],
      ...[
        'link/outside.txt',
        'leaf',
        'up',
        'hard',
        'fifo',
        'ok.txt\0../x',
        'x'.repeat(10_000),
        '.GIT/hooks/pre-commit',
        '.mcp.json',
      ],
      ...['.planfold/store.db', '.github/workflows/x.yml', '/proc/self/environ', '.gitattributes', '.bashrc'],
    ]
    for (const path of paths) {
      for (const one of each(path))
        expect(await edit(one), `${one.type} ${path.slice(0, 40)}`).toMatchObject(refused('policy'))
    }
    expect(fs.readdirSync(root).sort()).toEqual(['fifo', 'hard', 'leaf', 'link', 'source', 'up'])
    expect(fs.readdirSync(base).sort()).toEqual(['outside.txt', 'work'])
    expect(fs.readFileSync(join(base, 'outside.txt'), 'utf8')).toBe('outside')
  })

  test('a path outside the declared write scope is refused for every kind of edit', async () => {
    const { edit, tree } = setup({ source: 'one', 'lib/a': 'a' }, ['src/**', 'source', 'ok'])
    for (const one of each('lib/a'))
      expect(await edit(one), one.type).toMatchObject(refused('policy', 'outside the write scope'))
    expect(tree()).toEqual({ source: 'one', 'lib/a': 'a' })
    expect(await edit({ type: 'create', file: 'src/x', content: '' })).toMatchObject({ type: 'done' })
  })

  test('a mode with special bits is refused', async () => {
    const { edit } = setup({ a: '' })
    expect(await edit({ type: 'chmod', file: 'a', mode: 0o4755 })).toMatchObject(refused('policy'))
  })
})

test('when the disk refuses midway, what was written is undone', async () => {
  const { root, edit, tree } = setup({ a: 'a', 'dir/b': 'b' })
  // A file where a directory is needed: found out only while writing.
  const edits: Edit[] = [
    { type: 'replace', file: 'a', find: 'a', replace: 'A' },
    { type: 'create', file: 'dir/b/c', content: 'c' },
  ]
  expect(await edit(...edits)).toMatchObject({ type: 'failed' })
  expect(tree()).toEqual({ a: 'a', 'dir/b': 'b' })
  expect(fs.readdirSync(root).sort()).toEqual(['a', 'dir'])
})

test('a preview is a unified diff and changes nothing', async () => {
  const { preview, tree } = setup(FILES)
  const text = await preview(...EVERY)
  expect(text).toContain('--- a/r.txt\n+++ b/r.txt\n@@ -1,1 +1,1 @@\n-an old text\n')
  expect(text).toContain('--- /dev/null\n+++ b/new/a.sh\n')
  expect(text).toContain('--- a/d.txt\n+++ /dev/null\n')
  expect(text).toContain('=> 700 c.txt')
  expect(tree()).toEqual(FILES)
  expect(await preview({ type: 'delete', file: '../x' })).toContain('..')
})
