import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import { plan, task } from '../../testing/plan.ts'
import { surroundingFaults } from './plan-surroundings.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-around-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const told = async (definition: PlanDefinition) => {
  const root = join(folder, 'w')
  const place = { environment: { XDG_CONFIG_HOME: join(folder, 'c') }, root, stateDir: join(root, '.planfold') }
  return (await surroundingFaults(place, definition)).map(({ severity, task, key, message }) =>
    [severity, task ?? '', key ?? '', message].join(' | '),
  )
}

test('what policies, secrets, runners and databases around a plan will refuse is told with its task', async () => {
  await mkdir(join(folder, 'w', '.planfold'), { recursive: true })
  await writeFile(
    join(folder, 'w', '.planfold', 'config.yaml'),
    'policy:\n  write: ["src/**"]\n  commands:\n    deny: [[sudo, "**"]]\n    ask: [[git, push, "**"]]\n',
  )
  await writeFile(join(folder, 'w', 'text.db'), 'this is no database')
  await writeFile(join(folder, 'w', '1.sql'), 'create table t (n)')
  const argv = (...words: string[]) => ({ action: { type: 'run', command: { argv: words } } }) as const
  const definition = plan(
    'p',
    task('a', argv('sudo', 'rm')),
    task('b', argv('git', 'push', 'origin')),
    task('c', { ...argv('env'), secrets: ['TOKEN'] }),
    task('d', { action: { type: 'runner', spec: 'mine' } }),
    task('e', { action: { type: 'db', spec: { url: 'sqlite:text.db', query: 'select 1' } } }),
    task('f', { action: { type: 'db', spec: { url: 'sqlite:new.db', migrate: ['1.sql', '2.sql'] } } }),
    task('g', argv('true')),
    task('h', { action: { type: 'edit', edits: [{ type: 'create', file: './hello.txt', content: '' }] } }),
    task('i', { action: { type: 'edit', edits: [{ type: 'create', file: 'src/${{ inputs.x }}', content: '' }] } }),
  )
  expect(await told(definition)).toEqual([
    expect.stringMatching(/^warning \| a \| {2}\| 'a' will fail: 'sudo rm' is not run, .* denies 'sudo \*\*'$/),
    expect.stringMatching(/^warning \| b \| {2}\| 'b' will wait for a person: .* asks before 'git push \*\*'$/),
    `warning | h |  | 'h' will fail: './hello.txt' may not be written: the project's policy (${folder}/w/.planfold/config.yaml:2) allows only src/**`,
    "warning | c | secrets | the secret 'TOKEN' is not configured: 'c' will fail",
    "warning | d | runner | there is no runner 'mine' here: 'd' will fail",
    "warning | e | db | 'text.db' is not a SQLite database",
    "warning | f | db | there is no migration '2.sql' yet",
  ])
  expect(await told(plan('p', task('a', { ...argv('true'), write: ['docs/x'] })))).toEqual([
    expect.stringMatching(/^error \| a \| write \| task 'a' wants to write 'docs\/x', which .* does not allow$/),
  ])
})

test('a write scope that already holds more than can be saved is told before the task fails of it', async () => {
  await mkdir(join(folder, 'w', 'data'), { recursive: true })
  await writeFile(join(folder, 'w', 'data', 'big'), '')
  await truncate(join(folder, 'w', 'data', 'big'), 129 * 1024 * 1024)
  const run = { action: { type: 'run', command: { argv: ['true'] } }, network: [] } as const
  const tasks = [
    task('a', { ...run, write: ['data/**'] }),
    task('b', { ...run, write: ['data/*.txt'] }),
    task('c', run),
  ]
  expect(await told(plan('p', ...tasks))).toEqual([
    "warning | a | write | 'a' will fail: its write scope contains 'data/big', which is larger than 128 MB, too much to save before it runs",
  ])
})
