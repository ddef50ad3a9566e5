// The findings that a test cannot plant on a real machine: an old Node, a store that cannot be made, a sandbox that is missing or open.

import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { bubblewrap } from '../../safety/sandbox/bubblewrap.ts'
import { tryConnection } from '../../safety/sandbox/connection-trial.ts'
import type { Sandbox } from '../../safety/sandbox/sandbox.ts'
import { type DoctorRooms, examine } from './doctor.ts'

const environment = { PATH: process.env.PATH, HOME: '/nonexistent' }
const real = bubblewrap({ environment, outside: [] })
const rooms = (more: Partial<DoctorRooms> = {}): DoctorRooms => ({
  root: tmpdir(),
  stateDir: `${tmpdir()}/planfold-not-there/.planfold`,
  environment,
  now: () => Date.UTC(2026, 5, 1),
  models: { list: async () => ({ default: null, embedding: null, models: [], providers: [], file: null, faults: [] }) },
  readStore: async () => ({ ok: true, value: null }),
  makeStore: async () => ({ ok: true, value: null }),
  sandbox: missing,
  ...more,
})
const failure = { class: 'policy', message: 'there is no sandbox', hint: 'install it', retryable: false } as const
const missing: Sandbox = {
  check: async () => ({ ok: false, failure }),
  wrap: async () => ({ ok: false, failure }),
}
const part = async (name: string, more: Partial<DoctorRooms>) =>
  (await examine(rooms(more))).findings.filter(each => each.part === name)

test('an old Node, a clock before this program, a store that cannot be made', async () => {
  expect(await part('node', { nodeVersion: '20.18.1' })).toMatchObject([{ status: 'problem' }])
  expect(await part('node', { nodeVersion: '22.0.0' })).toMatchObject([{ status: 'ok' }])
  expect(await part('clock', { now: () => 0 })).toMatchObject([{ status: 'problem' }])
  const made = await part('sqlite', { makeStore: async () => ({ ok: false, message: 'too old', hint: 'newer' }) })
  expect(made).toEqual([
    { part: 'sqlite', status: 'problem', message: 'no database can be created: too old', repair: 'newer' },
  ])
})

test('without a sandbox it is a warning that says how to get one', async () => {
  expect(await part('sandbox', {})).toEqual([
    {
      part: 'sandbox',
      status: 'warning',
      message: 'commands cannot be sandboxed: there is no sandbox',
      repair: 'install it',
    },
  ])
})

test('a connection out of the sandbox fails, and the trial would have seen one that does not', async context => {
  const standing = await real.check()
  if (!standing.ok) return context.skip(`no sandbox here: ${standing.failure.message}`)
  expect(await tryConnection(real, environment)).toEqual({ reached: false })
  expect(await tryConnection(real, environment, 'host')).toEqual({ reached: true })
  const open: Sandbox = { check: real.check, wrap: request => real.wrap({ ...request, network: 'host' }) }
  expect(await part('network', { sandbox: open })).toMatchObject([{ status: 'problem' }])
})

test('a policy that cannot be used is a problem, because no plan starts under it', async () => {
  expect(await part('policy', {})).toEqual([])
  const named = { environment: { ...environment, PLANFOLD_ORGANISATION_POLICY: '/nowhere/policy.yaml' } }
  expect(await part('policy', named)).toMatchObject([
    { status: 'problem', message: "no plan can start: there is no policy '/nowhere/policy.yaml'" },
  ])
})

test('a network test that did not run says why, and asks for node only where node is missing', async context => {
  const standing = await real.check()
  if (!standing.ok) return context.skip(`no sandbox here: ${standing.failure.message}`)
  const running = (...argv: string[]): Sandbox => ({
    check: real.check,
    wrap: request => real.wrap({ ...request, argv }),
  })
  expect(await part('network', { sandbox: running('/bin/sh', '-c', 'echo no room >&2; exit 3') })).toEqual([
    {
      part: 'network',
      status: 'warning',
      message: 'the network test inside the sandbox did not run: its command ended with exit code 3: no room',
      repair: 'fix what the message names, and try again',
    },
  ])
  expect(await part('network', { sandbox: running('/nonexistent/node') })).toMatchObject([
    { repair: 'put the folder of the node program on PATH, so that it can be seen inside' },
  ])
})
