// What is written where, on folders that look like control groups: the kernel of a test machine seldom lets one be made. What the
// limits do is shown by real processes in `test/e2e/sandbox.test.ts`.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeControlGroup } from './cgroup.ts'

const limits = { memoryBytes: 200_000_000, processes: 50 }

function setup(controlled: string) {
  const mount = mkdtempSync(join(tmpdir(), 'planfold-groups-'))
  onTestFinished(() => rmSync(mount, { recursive: true, force: true }))
  mkdirSync(join(mount, 'app.slice/shell.scope'), { recursive: true })
  writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids\n')
  writeFileSync(join(mount, 'app.slice/cgroup.subtree_control'), controlled)
  writeFileSync(join(mount, 'app.slice/shell.scope/cgroup.subtree_control'), '')
  writeFileSync(join(mount, 'self'), '1:name=systemd:/\n0::/app.slice/shell.scope\n')
  const groups = () => readdirSync(join(mount, 'app.slice')).filter(name => name.startsWith('planfold-'))
  return { mount, groups, place: { mount, own: join(mount, 'self') } }
}

test('a sandbox gets a group where memory and processes are controlled, and what the kernel did is read from it', () => {
  const { mount, groups, place } = setup('cpu memory pids\n')
  mkdirSync(join(mount, 'app.slice/planfold-999999999-1'))
  const group = makeControlGroup(limits, place)
  expect(group?.enter(4711)).toBe(true)
  const [name = ''] = groups()
  expect(groups()).toEqual([expect.stringMatching(/^planfold-\d+-\d+$/)])
  expect(name).not.toBe('planfold-999999999-1')
  const folder = join(mount, 'app.slice', name)
  const said = Object.fromEntries(readdirSync(folder).map(file => [file, readFileSync(join(folder, file), 'utf8')]))
  expect(said).toEqual({
    'memory.max': '200000000',
    'memory.oom.group': '1',
    'pids.max': '50',
    'cgroup.procs': '4711',
  })
  expect(group?.excess()).toBe(null)
  writeFileSync(join(folder, 'pids.events'), 'max 3\n')
  expect(group?.excess()).toBe('processes')
  writeFileSync(join(folder, 'memory.events'), 'low 0\nhigh 0\nmax 7\noom 1\noom_kill 4\noom_group_kill 1\n')
  expect(group?.excess()).toBe('memory')
  for (const file of readdirSync(folder)) rmSync(join(folder, file))
  group?.remove()
  expect(existsSync(folder)).toBe(false)
})

test('of version 1, processes are limited', () => {
  const { mount, place } = setup('')
  rmSync(join(mount, 'cgroup.controllers'))
  mkdirSync(join(mount, 'pids/user'), { recursive: true })
  writeFileSync(join(mount, 'pids/user/cgroup.procs'), '')
  writeFileSync(join(mount, 'self'), '8:pids:/user\n4:memory:/user\n0::/\n')
  expect(makeControlGroup(limits, place)?.excess()).toBe(null)
  const [name = ''] = readdirSync(join(mount, 'pids/user')).filter(each => each.startsWith('planfold-'))
  expect(readdirSync(join(mount, 'pids/user', name))).toEqual(['pids.max'])
  expect(readFileSync(join(mount, 'pids/user', name, 'pids.max'), 'utf8')).toBe('50')
})

test('where they are not, none is made, and nothing is changed', () => {
  for (const controlled of ['', 'cpu memory\n', 'cpu pids\n']) {
    const { groups, place } = setup(controlled)
    expect(makeControlGroup(limits, place)).toBe(null)
    expect(groups()).toEqual([])
  }
  const { mount, place } = setup('memory pids\n')
  rmSync(join(mount, 'cgroup.controllers'))
  expect(makeControlGroup(limits, place)).toBe(null)
})
