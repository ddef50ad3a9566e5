// The text of a pull request, and how it is made one: only when asked, only with gh, never with a push.

import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { shell } from '../../../workspace/git/repository.fixture.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { type PrOptions, pr } from './pr.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

const git = (...args: string[]): string => shell(place.folder, place.folder, ...args)

async function ran(more = 'git: { commits: task }'): Promise<void> {
  git('init', '--quiet', '--initial-branch=main')
  git('commit', '--quiet', '--allow-empty', '-m', 'first')
  await place.write(
    'plan.yaml',
    `planfold: 1
name: upgrade
title: "Upgrade: <b>all</b> $(touch x)"
goal: Be on version 2 @everyone
${more}
tasks:
  - id: move
    title: Move the client
    kind: implement
    edit: { file: client.txt, create: "v2\\n" }
`,
  )
  expect((await place.say(context => run(context, 'plan.yaml', { start: true }))).exit).toBe(0)
}
const said = (options: PrOptions, more: { json?: boolean; path?: string } = {}) =>
  place.say(context => pr(context, 'upgrade', options), {
    json: more.json === true,
    environment: more.path === undefined ? undefined : { PATH: more.path },
  })

describe('planfold summary --form pr', () => {
  test('tells title and body, from the journal and the branch; nothing is changed', async () => {
    await ran()
    const refs = git('for-each-ref')
    const { exit, stdout } = await said({})
    expect(exit).toBe(0)
    expect(stdout.split('\n')[0]).toBe('Upgrade: <b>all</b> $(touch x)')
    expect(stdout).toMatch(/1 of 1 task completed/)
    expect(stdout).toMatch(/\[x\] `move` Move the client/)
    expect(stdout).toMatch(/## Files: 1 changed, \+1 −0\n\n- `client.txt` \+1 −0/)
    expect(stdout).toMatch(/- [0-9a-f]{12} feat\\\(plan\\\): Move the client/)
    expect(stdout).not.toContain('@everyone')
    // What is printed is what is written: the sign that keeps it from being a mention is there, and is not spelt out.
    expect(stdout).toContain('@\u2060everyone')
    expect(stdout).not.toContain('u{2060}')
    await said({ out: 'pr.md' })
    expect(await place.read('pr.md')).toBe(stdout)
    expect(git('for-each-ref')).toBe(refs)
    const { data } = JSON.parse((await said({}, { json: true })).stdout)
    expect(data).toMatchObject({
      name: 'upgrade',
      branch: 'plan/upgrade',
      from: git('rev-parse', 'main'),
      commits: [{ subject: 'feat(plan): Move the client' }],
      files: [{ path: 'client.txt', added: 1, removed: 0 }],
      lacks: null,
      url: null,
    })
  })

  test('writes it to a file', async () => {
    await ran()
    expect((await said({ out: 'pr.md' })).stdout).toMatch(/written to .*pr\.md/)
    expect(await place.read('pr.md')).toMatch(/^Upgrade: <b>all<\/b> .*\n\nBe on version 2/)
  })

  test('without a branch there is only the journal, and nothing to create', async () => {
    await ran('')
    const { exit, stdout, stderr } = await said({})
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/1 of 1 task completed/)])
    expect(stderr).toMatch(/has made no branch/)
    expect(await said({ create: true })).toMatchObject({ exit: 'no-branch' })
  })

  test('--create without gh gives the text and says what to do', async () => {
    await ran()
    const missing = await said({ create: true }, { path: gitOnly() })
    expect(missing).toMatchObject({ exit: 'no-gh', stderr: expect.stringMatching(/no gh program/) })
    expect(missing.stdout).toMatch(/^Upgrade: /)
  })

  test('--create hands gh an argument vector and the body, never a shell, and never pushes', async () => {
    await ran()
    const bin = gitOnly()
    fs.writeFileSync(
      join(bin, 'gh'),
      `#!/bin/sh\nfor word in "$@"; do printf '%s\\0' "$word"; done > ${place.folder}/argv\ncat > ${place.folder}/body\necho https://example.com/pr/1\n`,
      { mode: 0o755 },
    )
    const refs = git('for-each-ref')
    const made = await said({ create: true, base: 'main' }, { path: `${bin}:/usr/bin:/bin`, json: true })
    expect(made.exit).toBe(0)
    expect(JSON.parse(made.stdout).data.url).toBe('https://example.com/pr/1')
    expect((await place.read('argv')).split('\0')).toEqual([
      'pr',
      'create',
      '--title=Upgrade: <b>all</b> $(touch x)',
      '--body-file=-',
      '--head=plan/upgrade',
      '--base=main',
      '',
    ])
    expect(await place.read('body')).toMatch(/^Be on version 2/)
    expect(fs.existsSync(join(place.folder, 'x'))).toBe(false)
    expect(git('for-each-ref')).toBe(refs)
    fs.writeFileSync(join(bin, 'gh'), '#!/bin/sh\necho "must be pushed" >&2\nexit 1\n', { mode: 0o755 })
    expect(await said({ create: true }, { path: `${bin}:/usr/bin:/bin` })).toMatchObject({
      exit: 'gh',
      stderr: expect.stringMatching(/must be pushed/),
    })
  })
})

/** A PATH on which there is git and nothing else. Outside the workspace: programs in it are never used. */
function gitOnly(): string {
  const bin = fs.mkdtempSync(join(tmpdir(), 'planfold-bin-'))
  onTestFinished(() => fs.rmSync(bin, { recursive: true, force: true }))
  const found = (process.env.PATH ?? '')
    .split(':')
    .map(folder => join(folder, 'git'))
    .find(file => fs.existsSync(file))
  fs.symlinkSync(found!, join(bin, 'git'))
  return bin
}
