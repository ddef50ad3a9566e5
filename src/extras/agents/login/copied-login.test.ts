// A lent login: copied in for its owner alone, copied back when the agent renewed it, and never over what is not ours to change.

import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseNetworkRule } from '../../../domain/plan-rules/network-rule.ts'
import { withLogin } from '../agent-start.ts'
import { stockRows } from '../known-agents.ts'
import { reportedOutput, UseListener } from '../reported-use.ts'
import { copyLoginIn, removeLogin } from './copied-login.ts'

const FILE = '.agent/auth.json'
const LOGIN = JSON.stringify({ token: 'the-token-of-the-person', refresh: 'one' })
const RENEWED = JSON.stringify({ token: 'another-token-of-the-person', refresh: 'two', more: 1 })

function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'pf-login-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['own/.agent', 'home', 'root', 'state']) mkdirSync(join(folder, name), { recursive: true })
  const own = join(folder, 'own', FILE)
  const copy = join(folder, 'home', FILE)
  writeFileSync(own, LOGIN, { mode: 0o600 })
  const place = {
    ...{ files: [FILE, '.agent/more.json'], own: join(folder, 'own'), home: join(folder, 'home') },
    ...{ record: join(folder, 'login.json'), root: join(folder, 'root'), stateDir: join(folder, 'state') },
  }
  const notes: string[] = []
  const note = (text: string) => void notes.push(text)
  return {
    ...{ folder, own, copy, place, notes },
    lend: () => copyLoginIn(place, note),
    takeBack: () => removeLogin(place, note),
    read: () => readFileSync(own, 'utf8'),
  }
}

test('it is copied in for its owner alone, its values are known as secrets, and nothing is left afterwards', async () => {
  const { lend, takeBack, copy, place, folder, own, notes } = setup()
  expect(await lend()).toEqual({ ok: true, value: { secrets: ['the-token-of-the-person'] } })
  expect(readFileSync(copy, 'utf8')).toBe(LOGIN)
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  const before = statSync(own)
  await takeBack()
  await takeBack()
  expect(existsSync(copy) || existsSync(place.record)).toBe(false)
  expect(statSync(own).ino).toBe(before.ino)
  expect(readdirSync(join(folder, 'own/.agent'))).toEqual(['auth.json'])
  expect(notes).toEqual([])
})

test('what the agent renewed is copied back, for its owner alone', async () => {
  const { lend, takeBack, copy, own, read, notes } = setup()
  await lend()
  writeFileSync(copy, RENEWED)
  await takeBack()
  expect(read()).toBe(RENEWED)
  expect(statSync(own).mode & 0o777).toBe(0o600)
  expect(notes).toEqual([`the agent renewed your login ~/${FILE}; it was copied back`])
})

test('what the person changed meanwhile stays, and so does what is replaced by something else', async () => {
  const { lend, takeBack, copy, own, read, notes } = setup()
  await lend()
  writeFileSync(copy, RENEWED)
  writeFileSync(own, '{"token":"mine"}')
  await takeBack()
  expect(read()).toBe('{"token":"mine"}')
  expect(notes.join()).toContain('was not copied back: yours has changed meanwhile')
  for (const left of ['', 'no json', '[]', '{"token":"only"}']) {
    writeFileSync(own, LOGIN)
    await lend()
    writeFileSync(copy, left)
    await takeBack()
    expect(read()).toBe(LOGIN)
    expect(existsSync(copy)).toBe(false)
  }
})

test('links are followed nowhere: not the person’s, not those that the agent made of its file or its folder', async () => {
  const { lend, takeBack, copy, own, folder, read } = setup()
  const secret = join(folder, 'secret.json')
  writeFileSync(secret, RENEWED, { mode: 0o600 })
  for (const link of [symlinkSync, linkSync]) {
    await lend()
    rmSync(copy)
    link(secret, copy)
    await takeBack()
    expect(read()).toBe(LOGIN)
  }
  // Its folder is a link: neither read through, nor removed through, nor written through.
  await lend()
  rmSync(join(folder, 'home/.agent'), { recursive: true })
  mkdirSync(join(folder, 'elsewhere'))
  writeFileSync(join(folder, 'elsewhere/auth.json'), RENEWED)
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'home/.agent'))
  await takeBack()
  expect(read()).toBe(LOGIN)
  expect(readFileSync(join(folder, 'elsewhere/auth.json'), 'utf8')).toBe(RENEWED)
  rmSync(own)
  symlinkSync(secret, own)
  expect(await lend()).toMatchObject({ ok: false, failure: { message: expect.stringContaining('is a link') } })
})

test('what a crash left in the home is copied back before it is lent again', async () => {
  const { lend, takeBack, copy, read, place } = setup()
  await lend()
  writeFileSync(copy, RENEWED)
  // Nobody took it back; the next attempt begins.
  expect(await lend()).toMatchObject({ ok: true })
  expect(read()).toBe(RENEWED)
  expect(readFileSync(copy, 'utf8')).toBe(RENEWED)
  await takeBack()
  expect(existsSync(place.record)).toBe(false)
  // Killed between the record and the copy: nothing is taken for a renewed login.
  await lend()
  rmSync(copy)
  expect(await lend()).toMatchObject({ ok: true })
  expect(read()).toBe(RENEWED)
})

test('it is lent only when it is there, private, and outside of the workspace', async () => {
  const { lend, own, place } = setup()
  rmSync(own)
  expect(await lend()).toMatchObject({ ok: false, failure: { message: expect.stringContaining('not signed in') } })
  writeFileSync(own, LOGIN, { mode: 0o644 })
  expect(await lend()).toMatchObject({ ok: false, failure: { message: expect.stringContaining('by others') } })
  const inside = await copyLoginIn({ ...place, root: place.own }, () => {})
  expect(inside).toMatchObject({ ok: false, failure: { message: expect.stringContaining('is in the workspace') } })
})

test('every login has a way to start its agent, without anything of the gateway, and addresses that are rules', () => {
  const lending = stockRows().filter(({ login }) => login !== null)
  expect(lending.map(({ name }) => name)).toEqual(['claude', 'codex', 'gemini', 'grok'])
  for (const row of lending) {
    for (const host of row.login!.hosts) expect(parseNetworkRule(host)).toMatchObject({ ok: true })
    const request = { use: row.name, model: null, models: null, turns: null, command: null, protocol: 'lines' } as const
    const bare = JSON.stringify({ ...withLogin(row, request), login: null })
    expect(bare).not.toMatch(/\{url\}|\{token\}|\{model\}|"-m"/)
    const named = JSON.stringify({ ...withLogin(row, { ...request, model: 'a-model' }), login: null })
    expect(named).toContain('{model}')
  }
})

test('what agents report of their use is heard, the last of it counts, and nothing that is no number', () => {
  const heard = (...lines: readonly object[]) => {
    const listener = new UseListener()
    for (const line of lines) listener.add(line)
    return listener.use
  }
  expect(heard({ type: 'text' }, { usage: { input_tokens: 'many', output_tokens: -1 } })).toBe(null)
  // Claude Code, Codex, Gemini CLI, and an update of ACP.
  const claude = heard({ type: 'result', total_cost_usd: 0.25, usage: { input_tokens: 10, output_tokens: 5 } })
  expect(claude).toEqual({ inputTokens: 10, outputTokens: 5, cost: 0.25 })
  expect(reportedOutput(claude!)).toEqual({ input_tokens: 10, output_tokens: 5, cost_usd: 0.25, reported: true })
  expect(
    heard({ usage: { input_tokens: 1, output_tokens: 1 } }, { usage: { input_tokens: 7, output_tokens: 2 } }),
  ).toEqual({ inputTokens: 7, outputTokens: 2, cost: null })
  expect(heard({ stats: { input_tokens: 3, output_tokens: 4 } })).toMatchObject({ inputTokens: 3, outputTokens: 4 })
  expect(heard({ sessionUpdate: 'usage_update', used: 9, cost: { amount: 1.5, currency: 'USD' } })?.cost).toBe(1.5)
  expect(heard({ cost: { amount: 1.5, currency: 'EUR' } })).toBe(null)
})
