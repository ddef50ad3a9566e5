// The example of docs/guide/teams.md, with what `npm run team` starts: PostgreSQL, a service and two workers, of which one is killed.
// Needs the extras: postgres

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { environmentIn, place } from './planfold.fixture.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guide/teams.md'), 'utf8')
const isHere = existsSync('/usr/lib/postgresql') || spawnSync('pg_ctl', ['--version']).status === 0

async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isTrue()); await setTimeout(50))
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`)
}

interface Top {
  readonly workers: readonly { readonly pid: number; readonly labels: readonly string[]; readonly plans: number }[]
}

test.skipIf(!isHere)(
  'the guide for teams: a worker is killed, another one goes on, and Ctrl-C stops everything',
  async () => {
    // Not in the folder of the tests, which only their user may enter, and PostgreSQL may run as another one.
    const postgres = mkdtempSync('/tmp/planfold-team-')
    onTestFinished(() => rmSync(postgres, { recursive: true, force: true }))
    const first = await place()
    onTestFinished(() => first.remove())
    const team = spawn(process.execPath, [join(root, 'scripts/team.mjs'), '--port', '0', '--postgres', postgres], {
      cwd: first.folder,
      env: environmentIn(first.folder, {}),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise(resolve => team.once('close', resolve))
    onTestFinished(async () => {
      team.kill('SIGTERM')
      await ended
    })
    let said = ''
    for (const stream of [team.stdout, team.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    await until('the team to be ready', () => said.includes('Ctrl-C stops') || team.exitCode !== null)
    const told = Object.fromEntries([...said.matchAll(/export (\w+)='([^']+)'/g)].map(([, name, url]) => [name, url!]))
    expect(Object.keys(told)).toEqual(['PLANFOLD_DATABASE', 'PLANFOLD_DATABASE_APPEND'])

    const at = await place(told)
    onTestFinished(() => at.remove())
    const dir = ['--dir', join(first.folder, '.planfold')]
    const top = async () => (await at.json('top', ...dir)) as Top
    await first.write('train.yaml', /```yaml\n([\s\S]*?)```/.exec(guide)![1]!)
    const run = await at.planfold('run', join(first.folder, 'train.yaml'), ...dir)
    expect(run.exit).toBe(4)
    const [, why] = /\$ planfold run train\.yaml\n(?:.*\n){2} {2}waits {4}(.*)\n/.exec(guide)!
    expect(run.stdout).toContain(why)
    await until('the first row', () => existsSync(join(first.folder, 'data.csv')))
    const driving = (await top()).workers.find(({ plans }) => plans === 1)!
    expect(driving.labels).toContain('gpu')
    const third = at.start('worker', '--label', 'gpu', ...dir)
    onTestFinished(async () => {
      third.kill('SIGKILL')
      await third.ended
    })
    await third.until('labels: ')
    process.kill(driving.pid, 'SIGKILL')
    await until('the end of the plan', () => existsSync(join(first.folder, 'model.txt')))
    expect((await first.read('model.txt')).trim()).toBe('5')
    expect((await at.planfold('log', 'train', ...dir)).stdout).toContain('prepare started (attempt 2)')
    expect(said).toContain('worker 2')

    team.kill('SIGINT')
    expect(await ended).toBe(0)
    expect(existsSync(join(postgres, 'data/postmaster.pid'))).toBe(false)
  },
)
