// `npm run demo`: the main job on a scratch repository, without model or network. A plan is run, its process is really killed
// with SIGKILL in the middle, the plan is resumed, a gate is answered, and the end is compared with what should have happened.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const cli = resolve(import.meta.dirname, '../../dist/cli/main.js')
const scratch = mkdtempSync(join(tmpdir(), 'planfold-demo-'))
const DEADLINE_MS = 80_000

makeRepository()
say('1', `a scratch repository with a failing test: ${scratch}`)

say('2', 'planfold run plan.yaml — and kill -9 in the middle of slow-build')
const killed = await run(['run', 'plan.yaml'], { killWhen: 'building part 3' })
if (killed !== 'SIGKILL') give(`the run was to be killed, but ended with ${killed}`)
console.log(`   ⚡ killed with SIGKILL; nothing could be saved in that moment`)

say('3', 'planfold resume repair-sum — the journal knows what was started and what was finished')
const resumed = await run(['resume', 'repair-sum'])
if (resumed !== 4) give(`expected to wait at the gate (exit 4), got ${resumed}`)

say('4', 'planfold approve repair-sum review — a decision, recorded with name and reason')
if ((await run(['approve', 'repair-sum', 'review', '-m', 'the diff is what the goal asks for'])) !== 0)
  give('the gate could not be approved')
if ((await run(['resume', 'repair-sum'])) !== 0) give('the plan did not complete')

say('5', 'what happened')
const attempts = ask(['show', 'repair-sum']) as { tasks: { name: string; status: string }[] }
const journal = readJournal()
console.table(
  attempts.tasks.map(task => {
    const events = journal.filter(event => event.task === task.name)
    const count = (type: string) => events.filter(event => event.type === type).length
    const lost = count('attempt.lost')
    const failed = count('attempt.failed')
    const how =
      lost > 0
        ? 'resumed after the kill'
        : count('retry.scheduled') > 0
          ? 'retried'
          : count('gate.decided') > 0
            ? 'decided by a person'
            : 'once'
    return { task: task.name, status: task.status, attempts: count('attempt.started'), failed, lost, how }
  }),
)
const build = readFileSync(join(scratch, 'dist/build.txt'), 'utf8').trim().split('\n')
const released = readFileSync(join(scratch, 'released.txt'), 'utf8').trim().split('\n')
if (build.length !== 6) give(`dist/build.txt has ${build.length} lines, not 6: half of a killed build was kept`)
if (released.length !== 1) give(`released.txt has ${released.length} lines, not 1: the release happened more than once`)
if (!attempts.tasks.some(task => journal.some(event => event.type === 'attempt.lost' && event.task === task.name)))
  give('no attempt was lost: the kill came too late')
console.log(
  `   dist/build.txt has ${build.length} parts (the half-built one was set back first), released.txt ${released.length} line`,
)
execFileSync(process.execPath, [cli, 'check'], { cwd: scratch, stdio: 'inherit' })

const { findings } = ask(['doctor']) as { findings: { part: string; status: string; message: string }[] }
const sandbox = findings.find(({ part }) => part === 'sandbox')
const WALLS = 'planfold run walls.yaml — a task that writes outside, and one that calls a host nobody allowed'
if (sandbox?.status === 'ok') {
  say('6', WALLS)
  cpSync(resolve(import.meta.dirname, 'walls.yaml'), join(scratch, 'walls.yaml'))
  await run(['run', 'walls.yaml'])
  const said = execFileSync(process.execPath, [cli, 'log', 'walls', '--output'], { cwd: scratch, encoding: 'utf8' })
  if (!/Read-only file system/.test(said)) give('the write outside was not stopped')
  if (!/asked for example\.org:443: not allowed/.test(said)) give('the connection was not stopped')
  console.log(said.match(/^.*asked for example.*$/m)?.[0]?.replace(/^/, '   │ '))
} else {
  const why = sandbox?.message.replace('commands cannot be sandboxed: ', '') ?? 'unknown'
  say('6', `skipped: ${WALLS}. The steps above ran without a sandbox (${why})`)
}
console.log(
  `   the journal lies in ${join(scratch, '.planfold/planfold.db')}; look at it with: cd ${scratch} && planfold log repair-sum`,
)
if (process.env.PLANFOLD_DEMO_CLEAN === '1') rmSync(scratch, { recursive: true, force: true })

function makeRepository(): void {
  mkdirSync(join(scratch, 'src'))
  mkdirSync(join(scratch, 'test'))
  writeFileSync(join(scratch, 'package.json'), '{ "name": "demo", "type": "module", "private": true }\n')
  writeFileSync(join(scratch, 'src/sum.js'), 'export const sum = (...numbers) => numbers[0] + numbers[1]\n')
  writeFileSync(
    join(scratch, 'test/sum.test.js'),
    "import assert from 'node:assert'\nimport test from 'node:test'\nimport { sum } from '../src/sum.js'\n\ntest('sum adds all of its arguments', () => assert.equal(sum(1, 2, 3), 6))\n",
  )
  cpSync(resolve(import.meta.dirname, 'plan.yaml'), join(scratch, 'plan.yaml'))
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=Demo', '-c', 'user.email=demo@example.com', '-c', 'commit.gpgsign=false', ...args],
      { cwd: scratch, stdio: 'ignore' },
    )
  git('init', '-q')
  git('config', 'user.email', 'demo@example.com')
  git('add', '.')
  git('commit', '-qm', 'a failing test')
  if (!existsSync(join(scratch, '.git'))) give('git could not make a repository')
}

/** Runs the CLI with its output shown; resolves with its exit code, or the signal that ended it. */
function run(args: readonly string[], options: { readonly killWhen?: string } = {}): Promise<number | string> {
  return new Promise(done => {
    const child = spawn(process.execPath, [cli, ...args], { cwd: scratch, stdio: ['ignore', 'pipe', 'pipe'] })
    const deadline = setTimeout(() => {
      child.kill('SIGKILL')
      give(`planfold ${args.join(' ')} took longer than ${DEADLINE_MS / 1000} s`)
    }, DEADLINE_MS)
    let seen = ''
    const show = (chunk: Buffer) => {
      process.stdout.write(String(chunk).replace(/^(?=.)/gm, '   │ '))
      seen += chunk
      if (options.killWhen !== undefined && seen.includes(options.killWhen)) child.kill('SIGKILL')
    }
    child.stdout.on('data', show)
    child.stderr.on('data', show)
    child.on('close', (code, signal) => {
      clearTimeout(deadline)
      done(code ?? signal ?? 'unknown')
    })
  })
}

function ask(args: readonly string[]): unknown {
  // `doctor` ends with 1 where this machine has any other problem; its answer counts.
  return JSON.parse(spawnSync(process.execPath, [cli, ...args, '--json'], { cwd: scratch, encoding: 'utf8' }).stdout)
    .data
}

function readJournal(): { readonly type: string; readonly task?: string }[] {
  const lines = execFileSync(process.execPath, [cli, 'export', 'repair-sum', '--format', 'journal'], {
    cwd: scratch,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
  return lines.flatMap(line => (JSON.parse(line) as { events: { type: string; task?: string }[] }).events)
}

function say(step: string, text: string): void {
  console.log(`\n${step}. ${text}`)
}

function give(reason: string): never {
  console.error(`\nthe demo failed: ${reason}\nits files are kept in ${scratch}`)
  process.exit(1)
}
