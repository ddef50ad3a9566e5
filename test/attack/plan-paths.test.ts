// Every place where a plan names a file: edits, outputs, the folder of a command, tool steps, commits. Links out of the workspace,
// protected places and special files are refused there, and nothing outside changes. Real runs of the engine, no mocks.

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { approve } from '../../src/cli/commands/people/approve.ts'
import { log } from '../../src/cli/commands/plans/log.ts'
import { run } from '../../src/cli/commands/plans/run.ts'
import { newPlace, type Place } from '../../src/cli/place.fixture.ts'

let place: Place
let outside: string
beforeEach(async () => {
  place = await newPlace()
  outside = fs.mkdtempSync(join(tmpdir(), 'planfold-outside-'))
  fs.writeFileSync(join(outside, 'secret'), 'secret')
  fs.symlinkSync(outside, join(place.folder, 'link'))
  fs.symlinkSync(join(outside, 'secret'), join(place.folder, 'leaf'))
  execFileSync('mkfifo', [join(place.folder, 'fifo')])
})
afterEach(async () => {
  expect([fs.readdirSync(outside), fs.readFileSync(join(outside, 'secret'), 'utf8')]).toEqual([['secret'], 'secret'])
  fs.rmSync(outside, { recursive: true, force: true })
  await place.remove()
})

async function ran(tasks: string, more = ''): Promise<{ readonly exit: number | string; readonly said: string }> {
  await place.write('plan.yaml', `planfold: 1\nname: p\n${more}tasks:\n${tasks}`)
  const said = await place.say(context => run(context, 'plan.yaml', { start: true }))
  // What is refused when the plan is read never reaches a journal.
  if (!fs.existsSync(join(place.folder, '.planfold'))) return { exit: said.exit, said: `${said.stdout}${said.stderr}` }
  const journal = await place.say(context => log(context, 'p', undefined, {}))
  return { exit: said.exit, said: `${said.stdout}${said.stderr}${journal.stdout}` }
}

describe('an edit', () => {
  test.each(['link/x', 'leaf', 'fifo'])('of %s is refused, and the journal says so', async file => {
    const { exit, said } = await ran(`  - id: a\n    edit: { file: "${file}", create: "evil", overwrite: true }\n`)
    expect(exit).not.toBe(0)
    expect(said).toMatch(/symbolic link|special file|not a directory/)
  })

  test.each(['.npmrc', '.ｎｐｍｒｃ', '.ssh/config', '.GIT/config', '.claude/x', '.yarnrc.yml', 'sub/.envrc'])(
    'of %s is refused when the plan is read, or when a value names it',
    async file => {
      const before = fs.readdirSync(place.folder)
      const written = await ran(`  - id: a\n    edit: { file: "${file}", create: "evil" }\n`)
      expect(written.exit).not.toBe(0)
      expect(fs.readdirSync(place.folder)).toEqual([...before, 'plan.yaml'].sort())
      const named = await ran(
        `  - id: a\n    inputs: { file: "${file}" }\n    edit: { file: "\${{ inputs.file }}", create: "evil" }\n`,
      )
      expect(named.exit).not.toBe(0)
      expect(fs.existsSync(join(place.folder, file))).toBe(false)
    },
  )

  test('of AGENTS.md waits for a person, who is told why; then it is written', async () => {
    const { exit, said } = await ran('  - id: a\n    edit: { file: AGENTS.md, create: "obey" }\n')
    expect(exit).toBe(4)
    expect(said).toContain('writes a file that coding agents read as instructions')
    expect(fs.existsSync(join(place.folder, 'AGENTS.md'))).toBe(false)
    const agreed = await place.say(context => approve(context, 'p', 'a', {} as never))
    expect(agreed.exit).toBe(0)
    await place.say(context => run(context, 'p', { start: true }))
    expect(await place.read('AGENTS.md')).toBe('obey')
  })
})

describe('an output', () => {
  test.each(['link/secret', 'leaf', 'fifo'])('read from %s is refused', async file => {
    const { exit, said } = await ran(`  - id: a\n    run: ["true"]\n    outputs: { got: { file: ${file} } }\n`)
    expect(exit).not.toBe(0)
    expect(said).toMatch(/symbolic link|special file|not a directory/)
    expect(said).not.toMatch(/got.*secret/)
  })
})

test('a command is not started in a folder that is a link', async () => {
  const { exit, said } = await ran('  - id: a\n    cwd: link\n    run: [touch, made]\n')
  expect(exit).not.toBe(0)
  expect(said).toMatch(/symbolic link|not a directory/)
})

test('a commit takes a link as a link, and nothing of what it leads to', async () => {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: place.folder,
      env: { PATH: process.env.PATH, HOME: place.folder },
      encoding: 'utf8',
    })
  git('init', '--quiet', '--initial-branch=main')
  git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'first')
  git('config', 'user.name', 'a')
  git('config', 'user.email', 'a@example.com')
  await ran(
    `  - id: a\n    run: [ln, -s, ${join(outside, 'secret')}, made]\n    write: [made]\n    network: []\n`,
    'git: { commits: task }\n',
  )
  const branches = git('for-each-ref', '--format=%(refname)').trim().split('\n')
  for (const branch of branches) {
    const held = git('ls-tree', '-r', branch)
    expect(held).not.toContain(`100644 blob ${git('hash-object', join(outside, 'secret')).trim()}`)
  }
})

test('a pipe in place of a hook does not hold up the question about a push', async () => {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: place.folder, env: { PATH: process.env.PATH, HOME: place.folder } })
  git('init', '--quiet')
  fs.mkdirSync(join(place.folder, '.git/hooks'), { recursive: true })
  execFileSync('mkfifo', [join(place.folder, '.git/hooks/pre-push')])
  const { exit } = await ran('  - id: a\n    run: [git, push]\n')
  expect(exit).toBe(4)
})
