// What a planner sees of a workspace: with and without a repository, in a folder of one, and never through a link.

import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openRepositoryView } from './repository-view.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-view-'))
})

afterEach(async () => await rm(folder, { recursive: true, force: true }))

const view = (root = folder) =>
  openRepositoryView({ root, scratch: join(folder, '.planfold/scratch'), environment: { PATH: process.env.PATH } })

async function write(path: string, text: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

function git(...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=ana', '-c', 'user.email=ana@example.com', ...args], { cwd: folder })
}

const paths = async (root?: string) => (await view(root).files()).map(({ path }) => path)

test('tracked and new files are seen, ignored ones and our own state are not', async () => {
  await write('.gitignore', 'ignored\n')
  await write('a.ts', 'a')
  await write('ignored', 'x')
  await write('.planfold/planfold.db', 'x')
  git('init', '-q', '-b', 'main')
  git('add', 'a.ts')
  git('commit', '-qm', 'First')
  await write('new.ts', 'n')
  expect(await paths()).toEqual(['.gitignore', 'a.ts', 'new.ts'])
  expect(await view().history()).toEqual([{ message: 'First\n', files: ['a.ts'] }])
  expect(await view().state()).toEqual({
    commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    branch: 'main',
    changedFiles: 3,
    changed: ['.gitignore', '.planfold/', 'new.ts'],
  })
})

test('a repository without a commit, and a folder without a repository, have files and no history', async () => {
  await write('src/a.ts', 'a')
  await write('node_modules/b/index.js', 'b')
  expect(await paths()).toEqual(['src/a.ts'])
  expect(await view().history()).toEqual([])
  expect(await view().state()).toBeNull()
  git('init', '-q', '-b', 'main')
  expect(await view().history()).toEqual([])
  expect(await view().state()).toMatchObject({ commit: null, branch: 'main' })
})

test('in a folder of a repository, paths begin at that folder', async () => {
  await write('part/a.ts', 'a')
  await write('other/b.ts', 'b')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'First')
  expect(await paths(join(folder, 'part'))).toEqual(['a.ts'])
  expect(await view(join(folder, 'part')).history()).toEqual([{ message: 'First\n', files: ['a.ts'] }])
})

test('links are not followed, and what is no text is not read', async () => {
  await write('secret', 'do not show')
  await write('work/a.ts', 'a')
  await write('work/image.ts', new Uint8Array([1, 0, 2]))
  await symlink(join(folder, 'secret'), join(folder, 'work/link.ts'))
  const work = join(folder, 'work')
  expect(await paths(work)).toEqual(['a.ts', 'image.ts'])
  expect(await view(work).read(['link.ts', 'a.ts', 'image.ts', 'gone.ts'])).toEqual([null, 'a', null, null])
})

test('a program is found on the path, or where the project keeps its own', async () => {
  await write('.venv/bin/own-test', '#!/bin/sh\n')
  expect(await view().findProgram('own-test')).toBeNull()
  await chmod(join(folder, '.venv/bin/own-test'), 0o755)
  expect(await view().findProgram('own-test')).toBe('./.venv/bin/own-test')
  expect(await view().findProgram('sh')).toBe('sh')
  for (const name of ['sh', 'npm', 'git']) {
    await write(`${name === 'git' ? 'bin' : 'venv/bin'}/${name}`, '#!/bin/sh\n')
    await chmod(join(folder, `${name === 'git' ? 'bin' : 'venv/bin'}/${name}`), 0o755)
  }
  // What the project installed wins over the path; its own scripts and package managers do not.
  expect(await view().findProgram('sh')).toBe('./venv/bin/sh')
  expect(await view().findProgram('git')).toBe('git')
  expect(await view().findProgram('npm')).toBe('npm')
  await write('part/.venv/bin/part-test', '#!/bin/sh\n')
  await chmod(join(folder, 'part/.venv/bin/part-test'), 0o755)
  expect(await view().findProgram('part-test')).toBeNull()
  expect(await view().findProgram('part-test', 'part/')).toBe('./.venv/bin/part-test')
  expect(await view().findProgram('own-test', 'part/')).toBe('../.venv/bin/own-test')
})

test('a name that pyenv puts on the path is a program only where the chosen version has it', async () => {
  const home = join(folder, 'home/.pyenv')
  const put = async (path: string, text = '') => {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), text, { mode: 0o755 })
  }
  for (const name of ['python3', 'tox']) await put(`shims/${name}`)
  await put('version', '3.11.7\n')
  await put('versions/3.11.7/bin/python3')
  await put('versions/3.12.1/bin/tox')
  await put('versions/3.11.7/lib/python3.11/site-packages/Foo_Bar-1.0.dist-info/METADATA')
  const environment = { PATH: join(home, 'shims') }
  const at = () => openRepositoryView({ root: folder, scratch: join(folder, '.planfold/scratch'), environment })
  expect(await Promise.all(['python3', 'tox'].map(async name => await at().findProgram(name)))).toEqual([
    'python3',
    null,
  ])
  expect(await at().pythonPackages()).toContain('foo-bar')
  await write('.python-version', '3.12\n')
  expect(await Promise.all(['python3', 'tox'].map(async name => await at().findProgram(name)))).toEqual([null, 'tox'])
  expect(await at().pythonPackages()).toBeNull()
})

test('when ignored files and folders were changed is known, too', async () => {
  await write('.gitignore', 'node_modules\n')
  await write('node_modules/a/index.js', 'a')
  await utimes(join(folder, 'node_modules/a'), 5, 5)
  git('init', '-q', '-b', 'main')
  expect(await view().changedAt(['node_modules/a', 'gone', '.gitignore/x'])).toEqual([5_000, null, null])
})
