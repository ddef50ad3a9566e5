// `planfold plan`: a draft is proposed, shown, changed by comments or by hand, approved or rejected. The repository is a real one.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Context, Terminal } from '../../context.ts'
import { newPlace, type Place, type Said } from '../../place.fixture.ts'
import { approve } from '../people/approve.ts'
import { type PlanOptions, plan } from './plan.ts'
import { show } from './show.ts'
import { status } from './status.ts'

let place: Place

beforeEach(async () => {
  place = await newPlace()
  await mkdir(join(place.folder, 'lib'))
  await place.write('lib/greet.sh', 'greet() { echo "hello $1"; }\n')
  await place.write('lib/count.sh', 'count() { wc -l < "$1"; }\n')
  await place.write('main.sh', '. ./lib/greet.sh\ngreet "$1"\n')
  await place.write('Makefile', 'test:\n\tsh main.sh world | grep -q "hello world"\n')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=ana', '-c', 'user.email=ana@example.com', ...args], { cwd: place.folder })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Greets')
})

afterEach(async () => await place.remove())

const RENAME = 'Rename `greet` to `salute`'

test('a dry run shows the plan and leaves nothing behind', async () => {
  const said = await say('', RENAME, { dryRun: true })
  expect(said.exit).toBe(0)
  for (const words of [
    'Record what fails today',
    'Why each step',
    'Stages',
    'Cannot be taken back',
    'Assumed',
    'Done when',
  ])
    expect(said.stdout).toContain(words)
  expect(said.stdout).toContain('test: make test (Makefile')
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
})

test('as JSON it tells the files in order, each with its reason, and the commands', async () => {
  const said = await place.say(context => plan(context, [RENAME], {}), { json: true })
  const { data } = JSON.parse(said.stdout)
  expect(data).toMatchObject({ name: 'rename-greet-to-salute', status: 'draft', planner: 'heuristic', kind: 'rename' })
  expect(data.analysis.files[0]).toEqual({
    path: 'lib/greet.sh',
    score: expect.any(Number),
    reason: expect.any(String),
  })
  expect(data.analysis.commands.test).toEqual({ run: ['make', 'test'], from: "Makefile, target 'test'", exists: true })
  expect(data.tasks.map(({ id }: { id: string }) => id)).toEqual([
    'baseline',
    'tests-before',
    'safe-point',
    'rename',
    'review',
  ])
})

test('a draft of the same name as another gets the next free one', async () => {
  await say('q', RENAME)
  const second = await say('q', RENAME)
  expect(second.stdout).toContain('rename-greet-to-salute-2 stays a draft')
})

test('an approved plan runs: the baseline fails as it must, the work is done, the review waits, and the checks hold', async () => {
  const said = await say('', RENAME, { yes: true })
  expect(said.exit).toBe(4)
  expect(await place.read('lib/greet.sh')).toBe('salute() { echo "hello $1"; }\n')
  expect(await place.read('main.sh')).toContain('salute "$1"')
  const done = await place.say(context => approve(context, 'rename-greet-to-salute', 'review', {}))
  expect(done.exit).toBe(0)
  const { resume } = await import('./resume.ts')
  const ended = await place.say(context => resume(context, 'rename-greet-to-salute', {}))
  expect(ended.exit).toBe(0)
})

test('comments are kept at their tasks, and the next draft answers them as a difference', async () => {
  const said = await say(
    'c' + 'review: skip this\r' + 'also look at lib/count.sh\r' + '\r' + 'q',
    'Support a second name in greet',
  )
  expect(said.stdout).toMatch(/review.*(removed|taken)|(removed|taken).*review|- review/s)
  const shown = await place.say(context => show(context, 'support-a-second-name-in-greet', undefined, {}))
  expect(shown.stdout).not.toMatch(/\breview\b/)
  const { log } = await import('./log.ts')
  const journal = await place.say(context => log(context, 'support-a-second-name-in-greet', undefined, {}))
  expect(journal.stdout).toContain('skip this')
  const work = await place.say(context => show(context, 'support-a-second-name-in-greet', 'implement', {}), {
    json: true,
  })
  expect(work.stdout).toContain('lib/count.sh')
})

test('a comment that cannot be followed is told', async () => {
  const said = await say('c' + 'baseline: be careful here\r\rq', 'Support a second name in greet')
  expect(said.stdout).toContain('not followed: be careful here')
})

test('the draft is edited in the editor of the person, and a mistake changes nothing', async () => {
  const editor = join(place.folder, 'editor')
  await writeFile(editor, '#!/bin/sh\nsed -i.old "s/Look at the change/Look at every line/" "$1"\n')
  await chmod(editor, 0o755)
  const said = await say('eq', RENAME, {}, { EDITOR: editor })
  expect(said.stdout).toContain('Look at every line')
  await writeFile(editor, '#!/bin/sh\necho "tasks: nonsense" > "$1"\n')
  const wrong = await say('eq', RENAME, {}, { EDITOR: editor })
  expect(wrong.stderr).toContain('the draft stays as it was')
})

test('a rejected draft is over, and nothing was run', async () => {
  const said = await say('r' + 'not now\r', RENAME)
  expect(said.stdout).toContain('rejected rename-greet-to-salute; nothing was run')
  const after = await place.say(context => status(context, 'rename-greet-to-salute', {}))
  expect(after.stdout).toContain('cancelled')
  expect(await place.read('lib/greet.sh')).toContain('greet()')
})

test('a plan of the past with a similar goal is told', async () => {
  await say('q', RENAME)
  const said = await say('q', 'Rename greet to welcome')
  expect(said.stdout).toContain('rename-greet-to-salute (draft)')
})

test('an unknown planner and an empty goal are refused', async () => {
  expect((await say('', RENAME, { planner: 'oracle' })).stderr).toContain("there is no planner 'oracle'")
  expect((await say('', '  ')).stderr).toContain('the goal is empty')
})

/** Somebody sits at a terminal and types this; nobody does when it is empty. */
async function say(
  typed: string,
  goal: string,
  options: PlanOptions = {},
  environment: { readonly [name: string]: string } = {},
): Promise<Said> {
  const terminal = typed === '' ? null : typing(typed)
  const act = (context: Context) => plan({ ...context, terminal }, [goal], options)
  return await place.say(act, { environment })
}

/** Each key is heard once, by whoever listens then. */
function typing(text: string): Terminal {
  const keys = [...text]
  return {
    columns: () => 100,
    rows: () => 24,
    onResize: () => () => {},
    onKey: listener => {
      let isOpen = true
      const next = (): void => {
        if (!isOpen || keys.length === 0) return
        listener(keys.shift()!)
        setImmediate(next)
      }
      setImmediate(next)
      return () => {
        isOpen = false
      }
    },
  }
}
