// From a sentence to a result, with the built command in a terminal: the first screen of the README as it stands there, and a drafting by
// a scripted model behind real HTTP, with a comment, a second draft as a difference, a replay, an approval and the run.

import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { heldTest } from '../../src/safety/sandbox/needs-sandbox.fixture.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'
import { CONTROLS, hasTerminal, terminal } from './terminal.fixture.ts'

let here: Place
afterEach(() => here.remove())

/** A small shell project with a test. */
async function project(more: { readonly [name: string]: string } = {}): Promise<NodeJS.ProcessEnv> {
  here = await place(more)
  mkdirSync(join(here.folder, 'lib'))
  await here.write('lib/greet.sh', 'greet() { echo "hello $1"; }\n')
  await here.write('main.sh', '. ./lib/greet.sh\ngreet "$1"\n')
  await here.write('Makefile', 'test:\n\tsh main.sh world | grep -q "hello world"\n')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=ana', '-c', 'user.email=ana@example.com', ...args], { cwd: here.folder })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Greets')
  return {
    PATH: process.env.PATH,
    HOME: here.folder,
    LANG: 'C.UTF-8',
    PLANFOLD_AS: 'ana@example.com',
    ...more,
  }
}

heldTest(
  'killed while it looks at what fails today, it leaves no process, and no byte of the workspace has changed',
  {
    timeout: 60_000,
  },
  async () => {
    await project()
    await here.write('Makefile', 'test:\n\ttouch made main.sh; setsid sleep 876.5432 & sleep 876.5432\n')
    const filesIn = () => {
      const names = readdirSync(here.folder, { recursive: true }).map(String).sort()
      return names.map(name => [name, lstatSync(join(here.folder, name), { bigint: true }).ctimeNs])
    }
    const before = filesIn()
    const started = here.start('plan', 'make the CI green', '--dry-run')
    await started.until('runs make test on a copy')
    while (sleepers().length < 2) await setImmediate()
    started.kill('SIGKILL')
    await started.ended
    while (sleepers().length > 0) await setImmediate()
    expect(filesIn()).toEqual(before)
  },
)

const sleepers = () =>
  readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep\x00876.5432')
    } catch {
      return false
    }
  })

describe.skipIf(!hasTerminal)('in a terminal', () => {
  test('the first screen of the README: a sentence, a plan, an approval, a result, an undo', {
    timeout: 120_000,
  }, async () => {
    const env = await project()
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    const [, screen = ''] = /```text\n(\$ planfold plan[\s\S]*?)```/.exec(readme) ?? []
    const [, first = '', second = ''] = screen.split(/^\$ planfold /m)
    const [said = '', ...lines] = first.split('\n')
    const [, goal = ''] = /^plan '(.*)'$/.exec(said) ?? []
    expect(goal).not.toBe('')
    const { sees, press, ended } = terminal({ folder: here.folder, env }, 'plan', goal)
    let keys = 0
    for (const line of lines.filter(one => one !== '' && one !== '…')) {
      const [, told = '', key] = /^(.*?)(?:(?:\s+>|(?<=keep the draft:)) (\w))?$/.exec(line) ?? []
      await sees(told.replace(/ in [\d.]+s$/, ' in '))
      if (key === undefined) continue
      press(key)
      keys++
    }
    expect(keys).toBe(2)
    expect(await ended).toBe(0)
    expect(await here.read('main.sh')).toContain('salute "$1"')
    const [rollback = '', ...undone] = second.split('\n')
    const { exit, stdout } = await here.planfold(...rollback.split(' '))
    expect(exit).toBe(0)
    for (const line of undone.filter(one => one !== '' && one !== '…')) expect(stdout).toContain(line)
    expect(await here.read('main.sh')).toContain('greet "$1"')
  })

  test('a model drafts, is commented on and drafts again as a difference; replayed, approved and run', async () => {
    const key = 'sk-never-to-be-seen-0123456789'
    const task = {
      id: 'mark',
      title: 'Leave a mark',
      why: 'The goal asks for it.',
      kind: 'implement',
      how: 'command',
      command: ['touch', 'mark.txt'],
      write: ['mark.txt'],
      new: ['mark.txt'],
      accept: [{ text: 'the mark is there', command: ['test', '-f', 'mark.txt'] }],
    }
    const intake = { objective: 'A mark is there.', done: [{ text: 'it is there' }], unknowns: [] }
    const draft = { title: 'Leave a mark', rationale: 'Small.', tasks: [task], done: task.accept }
    const accept = [{ text: 'the sign is there', command: ['test', '-f', 'sign.txt'] }]
    const sign = { ...task, command: ['touch', 'sign.txt'], write: ['sign.txt'], new: ['sign.txt'], accept }
    const next = { ...draft, tasks: [sign], done: accept }
    const answers = [intake, draft, { problems: [] }, intake, next, { problems: [] }]
    const server = await scriptedModel(answers.map(one => ({ text: JSON.stringify(one) })))
    try {
      const env = await project(server.environment(key))
      const words = ['plan', 'Leave a mark in this folder', '--model', 'anthropic/scripted']
      const { sees, press, ended, shown } = terminal({ folder: here.folder, env }, ...words)
      await sees('[a]pprove')
      expect(shown().replace(CONTROLS, '')).toContain('Leave a mark')
      press('c')
      await sees('> ')
      press('mark.write: call it sign.txt\r')
      await sees('> ')
      press('\r')
      await sees('sign.txt')
      await sees('[a]pprove')
      const asked = server.requests.at(-2)?.messages.at(-1)?.text
      expect(asked).toContain('1. (task mark, field write) call it sign.txt')
      expect(await here.json('plan', '--replay', 'leave-a-mark')).toMatchObject({
        same: true,
        requests: 0,
        exchanges: 3,
        revision: 2,
      })
      expect(server.requests).toHaveLength(6)
      press('a')
      await sees('[b]ack')
      press('a')
      await sees('review')
      await sees('[a]pprove')
      press('a')
      expect(await ended).toBe(0)
      expect(await here.files()).toContain('sign.txt')
      const log = await here.planfold('log', 'leave-a-mark')
      expect(log.stdout).toContain('call it sign.txt (at write)')
      expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
      expect(await here.planfold('audit', 'replay', 'leave-a-mark')).toMatchObject({ exit: 0 })
      const used = (await here.json('models', 'usage')) as { readonly total: { readonly calls: number } }
      expect(used.total.calls).toBe(server.served.calls)
      expect(stateBytes(join(here.folder, '.planfold'))).not.toContain(key)
    } finally {
      await server.close()
    }
  })
})

/** All bytes of all files below a folder. */
const stateBytes = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
