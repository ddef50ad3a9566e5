import { expect, test } from 'vitest'
import { leftoverLine, sandboxHint } from './sandbox-hint.ts'

const said = (stderr: string, exit: number | null = 1) => ({ exit, stdout: '', stderr })
const own = { isOwn: true, isRequired: false, home: '/home/ana', write: ['dist/**'] }
const other = { ...own, isOwn: false }

test('a failure that the sandbox may have caused says so, and what changes it', () => {
  const lines = [
    "Error: EROFS: read-only file system, mkdir '/home/ana/.cache/x'",
    'fatal: Unable to create .git/index.lock: Read-only file system',
    'cp: cannot create regular file: Permission denied',
    "Error: ENOENT: no such file or directory, mkdir 'node_modules/.vite-temp'",
    'cat: /home/ana/.npmrc: No such file or directory',
  ]
  for (const line of lines) {
    expect(sandboxHint(said(line), own), line).toMatch(
      /^it ran in the sandbox: writable there are dist\/\*\*, .*`sandbox: off`$/,
    )
    expect(sandboxHint(said(line), other), line).toMatch(
      /^it ran in the sandbox: .*the home is empty.*plan of your own$/,
    )
  }
})

test('a folder that cannot be removed is to be emptied', () => {
  const lines = [
    "rm: cannot remove 'dist': Device or resource busy",
    "rm: cannot remove 'dist': Read-only file system",
    "Error: EROFS: read-only file system, rmdir '/home/ana/app/dist'",
  ]
  for (const line of lines)
    expect(sandboxHint(said(line), other), line).toMatch(
      /can be changed but not removed or renamed: empty the folder instead \(find dist -mindepth 1 -delete\)$/,
    )
})

test('other failures, and commands that ended well, get no such hint', () => {
  expect(sandboxHint(said('AssertionError: 1 != 2'), own)).toBeNull()
  expect(sandboxHint(said('cat: src/missing.txt: No such file or directory'), own)).toBeNull()
  expect(sandboxHint(said('touch: x: Read-only file system', 0), own)).toBeNull()
})

test('files that went with the sandbox are named, the first of them', () => {
  expect(leftoverLine({ names: ['/tmp/a', '/tmp/b'], count: 2 })).toBe(
    "2 files were left in the sandbox's own /tmp and are gone: /tmp/a, /tmp/b\n",
  )
  expect(leftoverLine({ names: ['/home/ana/x\n'], count: 1 })).toBe(
    "1 file was left in the sandbox's own home or /tmp and is gone: /home/ana/x?\n",
  )
  expect(leftoverLine({ names: ['/tmp/a'], count: 7 })).toContain('/tmp/a, … and 6 more')
})
