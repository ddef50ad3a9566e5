// The command line as people and scripts use it: every command once. What needs a process of its own is in `cli.test.ts`.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import { GREETING as PLAN, type Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

/** Times and times of day differ from run to run. */
const still = (text: string): string => text.replace(/\d\d:\d\d:\d\d/g, 'HH:MM:SS').replace(/\d+\.\d ?s\b/g, '0.0s')

describe('an old name of a command', () => {
  it('does the same, with one line on standard error that names the new one', async () => {
    await here.write('plan.yaml', 'planfold: 1\nname: two\ntasks: [{ id: a }, { id: b }]\n')
    await here.planfold('run', 'plan.yaml')
    const old = await here.planfold('--json', 'done', 'a')
    expect(old).toMatchObject({ exit: 0, stderr: 'note: `planfold done` is now `planfold report --status done`\n' })
    expect(JSON.parse(old.stdout)).toMatchObject({ data: { name: 'two', events: [{ type: 'attempt.started' }, {}] } })
    expect(await here.planfold('--quiet', 'fail', 'two', 'b', '-m', 'no')).toMatchObject({ exit: 0, stderr: '' })
    expect(await here.planfold('checkpoints', 'list', 'two')).toMatchObject({ exit: 0 })
    const help = await here.planfold('help', 'checkpoints')
    expect(help.stdout).toMatch(/^Usage: planfold checkpoint list /)
  })
})

describe('a plan from the command line', () => {
  it('names commands that can be pasted, also where --dir says where the state is', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: asks\ntasks:\n  - { id: review, gate: approval }\n  - { id: fails, needs: [review], run: ["false"], effect: pure }\n',
    )
    const paste = (line: string | undefined) => here.planfold(...(line ?? '').trim().split(' ').slice(1))
    const run = await here.planfold('--dir', 'kept', 'run', 'plan.yaml')
    const line = run.stdout.split('\n').find(each => each.includes('planfold --dir kept approve asks review'))
    expect(await paste(line)).toMatchObject({ exit: 0 })
    const resumed = await paste(/planfold .*resume asks/.exec(run.stdout)?.[0])
    expect(resumed).toMatchObject({ exit: 1 })
    expect(resumed.stdout).toContain('planfold --dir kept retry asks fails')
    const wrong = await here.planfold('--dir', 'kept', 'show', 'asks', 'nobody-is-called-so')
    expect(wrong.stderr).toContain('planfold --dir kept show asks lists its tasks')
    expect(await here.json('--dir', 'kept', 'list')).toMatchObject({ items: [{ name: 'asks' }] })
  })

  it('runs to the gate, is approved, worked on by an agent, resumed and completed', async () => {
    await here.write('plan.yaml', PLAN)
    const run = await here.planfold('run', 'plan.yaml')
    expect(run).toMatchObject({
      exit: 4,
      stderr: 'run with your permissions, not in the sandbox: count, flaky, last\n',
    })
    const lines = still(run.stdout).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'HH:MM:SS plan started',
        'HH:MM:SS count │ 6',
        'HH:MM:SS count │ evil \\u{1b}[31m',
        expect.stringContaining('flaky: retrying in'),
        'HH:MM:SS review waits for approval',
      ]),
    )
    expect(lines.slice(-9)).toEqual([
      '◆ hello waiting for approval (review) after 0.0s',
      '  tasks    2 pending · 1 waiting · 3 completed',
      '  retried  flaky (2 attempts)',
      '  answer   review waits for approval',
      '           planfold approve hello review',
      "           planfold reject hello review -m 'why'",
      "           planfold answer hello review --push-back -m 'what to change'",
      '  Next: answer it, then planfold resume hello',
      '',
    ])

    expect(await here.json('status', 'hello')).toMatchObject({
      name: 'hello',
      status: 'blocked',
      waiting: [{ task: 'review' }],
      holder: null,
    })
    expect(await here.planfold('approve', 'reviw')).toMatchObject({ exit: 2 })
    expect(await here.planfold('approve', 'hello', 'reviw')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("did you mean 'review'?"),
    })
    expect(await here.planfold('approve', 'review', '-m', 'fine')).toMatchObject({
      exit: 0,
      stdout: 'review approved by ana@example.com: fine\nready: agent\n',
    })
    expect(await here.planfold('approve', 'review')).toMatchObject({ exit: 3 })

    const explained = await here.planfold('next', 'hello', '--explain')
    expect(explained.stdout).toContain("'agent' is ready to claim\n'last' needs 'agent' (ready)\n")
    const claim = (await here.json('claim', 'hello', '--lease', '5m')) as {
      task: string
      token: string
      expiresInMs: number
    }
    expect(claim).toMatchObject({ task: 'agent', expiresInMs: 300_000 })
    expect(await here.planfold('claim', 'hello', 'agent')).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining('claimed by ana@example.com'),
    })
    expect(await here.json('claim', '--extend', 'agent', '--token', claim.token)).toMatchObject({ task: 'agent' })
    expect(await here.planfold('report', '--status', 'done', 'agent', '--token', 'wrong')).toMatchObject({ exit: 3 })
    const done = await here.planfold(
      'report',
      '--status',
      'done',
      'agent',
      '--token',
      claim.token,
      '--output',
      'pages=3',
      '--output',
      'by=ana',
    )
    expect(done).toMatchObject({ exit: 0, stderr: 'Next: planfold resume hello\n' })

    const resumed = await here.planfold('resume')
    expect(resumed.exit).toBe(0)
    expect(still(resumed.stdout)).toMatch(/✔ hello completed in .*\n {2}tasks {4}6 completed\n/)
    expect(await here.json('show', 'hello', 'agent')).toMatchObject({
      task: { status: 'completed', outputs: { pages: 3, by: 'ana' } },
    })
    expect(await here.planfold('doctor', 'store', '--read-data')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('store OK'),
    })
  })

  it('lets nobody round a gate who may not decide there, and says what is wrong with an answer', async () => {
    await here.write(
      'guarded.yaml',
      `planfold: 1
name: guarded
policy: { roles: { lead: [ana, bo] } }
tasks:
  - { id: draft, run: ["true"], effect: pure, visits: 1 }
  - { id: sound, needs: [draft], gate: { type: tests, checks: [{ check: ["true"] }] } }
  - { id: go, needs: [sound], gate: { type: approval, role: lead } }
  - { id: last, needs: [go], run: ["true"], effect: pure }
`,
    )
    const run = await here.planfold('run', 'guarded.yaml')
    expect(run.exit).toBe(4)
    expect(run.stdout).toContain('sound approved by engine: its check passed')
    expect(run.stdout).not.toContain('sound waits for approval')
    expect(run.stdout).toContain('go waits for approval')
    const says = async (exit: number, stderr: string, ...argv: readonly string[]) =>
      expect(await here.planfold(...argv)).toMatchObject({ exit, stderr: expect.stringContaining(stderr) })
    await says(3, "only the role 'lead'", 'skip', 'guarded', 'go', '-m', 'hurry')
    await says(2, 'what to change', 'answer', '--push-back', 'guarded', 'go', '-m', '', '--as', 'ana')
    await says(
      2,
      "did you mean 'draft'?",
      'answer',
      '--push-back',
      'guarded',
      'go',
      '-m',
      'no',
      '--to',
      'drft',
      '--as',
      'ana',
    )
    await says(3, 'all of its 1 runs', 'answer', '--push-back', 'guarded', 'go', '-m', 'no', '--as', 'ana')
    for (const name of ['', 'ana ', 'a\u200bna', 'a\u202ena'])
      await says(2, 'cannot be the name of who acts', 'approve', 'guarded', 'go', '--as', name)
    expect(await here.planfold('skip', 'guarded', 'go', '-m', 'hurry', '--as', 'Bo')).toMatchObject({
      exit: 0,
      stdout: 'go skipped by Bo: hurry\nready: last\n',
    })
    expect(await here.json('summary', '--form', 'handoff', 'guarded')).toMatchObject({
      decisions: [{ task: 'sound' }, { task: 'go', by: 'Bo', verdict: 'skipped', rationale: 'hurry' }],
    })
    expect((await here.planfold('resume', 'guarded')).exit).toBe(0)
    expect((await here.planfold('audit', 'replay', 'guarded')).exit).toBe(0)
  })

  it('is taken up, revised or run afresh when its file is run again', async () => {
    const plan = (last: string): string =>
      `planfold: 1\nname: again\ntasks:\n  - { id: a, run: ["true"], effect: pure }\n  - { id: ask, needs: [a], gate: approval }\n  - { id: b, needs: [ask], run: ["${last}"], effect: pure }\n`
    await here.write('plan.yaml', plan('false'))
    expect((await here.planfold('run', 'plan.yaml')).exit).toBe(4)
    const same = await here.planfold('run', 'plan.yaml')
    expect(same).toMatchObject({ exit: 4, stderr: '' })
    expect(same.stdout).not.toContain('started')
    await here.write('plan.yaml', plan('true'))
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({
      exit: 4,
      stderr: 'plan.yaml changed: again becomes revision 2:\n  ~ task b: run\n',
    })
    await here.planfold('approve', 'ask')
    expect((await here.planfold('resume', 'again')).exit).toBe(0)
    expect(await here.planfold('resume', 'again')).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining('is completed'),
    })
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({
      exit: 4,
      stderr:
        'again is finished (completed); starting over as again-2\nrun with your permissions, not in the sandbox: a, b\n',
    })
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4, stderr: '' })
    expect(await here.json('list')).toMatchObject({ items: [{ name: 'again-2' }, { name: 'again' }], next: null })
  })
})

describe('the other commands', () => {
  it('fail, retry, skip and note move a plan on', async () => {
    await here.write('plan.yaml', 'planfold: 1\nname: work\ntasks:\n  - id: a\n  - { id: b, needs: [a] }\n')
    expect(await here.planfold('run', 'plan.yaml', '--no-start')).toMatchObject({
      exit: 0,
      stdout: 'created work, not started. Next: planfold run work\n',
    })
    expect((await here.planfold('run', 'work')).exit).toBe(4)
    expect(await here.planfold('report', '--status', 'failed', 'a', '--message', 'cannot')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('a failed: cannot'),
    })
    expect(await here.json('status', 'work')).toMatchObject({ status: 'failed' })
    expect(await here.planfold('retry', 'work', 'a')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('a will run again'),
    })
    expect((await here.planfold('report', '--status', 'done', 'a')).exit).toBe(0)
    expect(await here.planfold('skip', 'b', '--message', 'not needed')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('b skipped by ana@example.com: not needed'),
    })
    expect(await here.planfold('log', 'work', '--add', '-m', 'went \u001b[31mwell')).toMatchObject({
      exit: 0,
      stdout: 'note added to work: went \\u{1b}[31mwell\n',
    })
    const log = await here.planfold('log', 'work')
    expect(log.stdout).toContain('plan completed')
    expect(log.stdout).toContain('[ana@example.com]')
    expect(await here.json('log', 'work', 'b')).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ type: 'task.skipped' })]),
    })
  })

  it('a parked task is answered with approve, retry or reject', async () => {
    await here.write('plan.yaml', 'planfold: 1\nname: parked\ntasks:\n  - { id: push, run: "echo up; sleep 600" }\n')
    const run = here.start('run', 'plan.yaml')
    await run.until('push │ up')
    run.kill('SIGKILL')
    await run.ended
    const resumed = await here.planfold('resume')
    expect(resumed.exit).toBe(4)
    expect(resumed.stdout).toContain('planfold approve parked push   it happened: mark as completed')
    expect(await here.planfold('approve', 'push')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('push confirmed as completed'),
    })
    expect(await here.json('status', 'parked')).toMatchObject({ status: 'completed' })
  })

  it('graph, schema, export, import, prune and completion answer', async () => {
    await here.write('plan.yaml', PLAN)
    expect(await here.planfold('import', 'plan.yaml')).toMatchObject({
      exit: 0,
      stdout: 'hello is a draft; start it with: planfold run hello\n',
    })
    expect(await here.planfold('import', 'plan.yaml')).toMatchObject({ exit: 3 })
    expect((await here.planfold('graph', 'plan.yaml', '--mermaid')).stdout).toContain('flowchart TD')
    expect((await here.planfold('graph', 'hello', '--dot')).stdout).toContain('digraph "hello"')
    const yaml = (await here.planfold('export', 'hello')).stdout
    await here.write('copy.yaml', yaml)
    expect(await here.planfold('run', 'copy.yaml', '--no-start')).toMatchObject({ exit: 0, stderr: '' })
    const journal = (await here.planfold('export', 'hello', '--format', 'journal')).stdout
    expect(JSON.parse(journal.split('\n')[0]!)).toMatchObject({ version: 1, command: { type: 'create' } })
    await here.write('journal.jsonl', journal)
    expect(await here.planfold('import', 'journal.jsonl')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('exported event log'),
    })
    expect(await here.json('export', '--schema')).toMatchObject({ $id: expect.any(String) })
    expect((await here.planfold('completion', 'bash')).stdout).toContain('complete -o filenames -F _planfold planfold')
    expect(await here.json('prune', '--archive', '--dry-run')).toMatchObject({ dryRun: true, plans: 0 })
  })
})
