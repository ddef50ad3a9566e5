// What the command line says about a plan and advises to do next: the words are true, and the commands that they name can be run.

import { afterEach, beforeEach, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

/** Writes a plan under this name, and runs it. */
const runs = async (name: string, text: string, ...options: readonly string[]) => {
  await here.write(`${name}.yaml`, `planfold: 1\nname: ${name}\n${text}`)
  return await here.planfold('run', `${name}.yaml`, ...options)
}

it('a task of one of several unfinished plans is asked for with its plan', async () => {
  const gate = 'tasks: [{ id: review, gate: approval }]\n'
  await runs('one', gate)
  await runs('two', 'tasks: [{ id: other }]\n')
  expect(await here.planfold('approve', 'review')).toEqual({
    exit: 2,
    stdout: '',
    stderr:
      "error: 2 plans are unfinished, and 'review' is a task of one\nhint: write the plan before the task: one review\n",
  })
  expect((await here.planfold('show', 'review')).stderr).toContain('hint: write the plan before the task: one review')
  expect((await here.planfold('approve', 'reviw')).stderr).toContain("error: there is no plan 'reviw'")
  expect((await here.planfold('approve', 'one', 'review')).exit).toBe(0)
  expect((await here.planfold('answer', 'two', 'othre', 'yes')).stderr).toBe(
    "error: plan 'two' has no task or question 'othre'\nhint: planfold inbox lists all questions\n",
  )
})

it('a question without a text asks by its title, and names its fields and how to answer', async () => {
  const said = await runs(
    'ct',
    `tasks:
  - id: q
    title: Where?
    gate:
      type: question
      form: [{ name: region, type: choice, choices: ["eu west", us] }, { name: size, type: number, optional: true }]
`,
  )
  expect(said.stdout).toContain(`
  answer   q asks: Where?
           region (eu west | us)
           size (number, optional)
           planfold answer ct q 'region=eu west'
`)
  expect((await here.planfold('show', 'ct', 'q')).stdout).toContain(
    'q asks: Where?\n  region (eu west | us)\n  size (number, optional)\n',
  )
  const { items } = (await here.json('inbox')) as {
    items: readonly { asks: { question: string }; answers: unknown[] }[]
  }
  expect(items.map(({ asks }) => asks.question)).toEqual(['Where?'])
  expect(items[0]?.answers[0]).toMatchObject({ command: "planfold answer ct q 'region=eu west'" })
  expect((await here.planfold('answer', 'ct', 'q', 'region=eu west')).exit).toBe(0)
})

it('of a plan that waits to be claimed the next step is a claim, after a run as in its status and in converge', async () => {
  const plan =
    'tasks: [{ id: a, run: ["true"], effect: pure }, { id: b, needs: [a] }]\ndone: [{ check: test -f x.txt }]\n'
  const said = await runs('ext', plan)
  expect(said.stdout.trimEnd().split('\n').at(-1)).toBe('  Next: planfold claim ext')
  expect((await here.planfold('status', 'ext')).stdout).toContain('  Next: planfold claim ext\n')
  expect((await here.planfold('converge', 'ext', '--with', 'true')).stdout).toBe(
    'ext is waiting for an agent or a person to claim b. Next: planfold claim ext, then planfold converge ext\n' +
      '  --with is for the tasks that converge adds; it does nothing for this one\n',
  )
  await here.planfold('claim', 'ext')
  expect((await here.planfold('converge', 'ext')).stdout).toBe(
    'ext is waiting for ana@example.com (b). Next: wait for the report; if ana@example.com is gone: planfold claim ext b --release, then planfold converge ext\n',
  )
})

it('a request of a finished plan is refused because the plan is finished, with what can be done', async () => {
  await runs('ok', 'tasks: [{ id: g, gate: approval }]\n')
  await here.planfold('approve', 'ok', 'g')
  for (const hash of [[], ['--hash', '1234'], ['--hash', '0123456789ab']])
    expect(await here.planfold('approve', 'ok', 'g', ...hash)).toEqual({
      exit: 3,
      stdout: '',
      stderr: 'error: cannot answer: the plan is finished (status: completed)\nhint: you can: planfold retry ok TASK\n',
    })
})

it('a task whose time is used up can be run again when there is more, and that is said', async () => {
  const said = await runs('b2', 'policy: { budget: { time: 300ms } }\ntasks: [{ id: a, run: [sleep, "30"] }]\n')
  const add = 'before a retry, allow more time: planfold budget add b2 --time 10m'
  expect(said.stdout).toContain(add)
  expect((await here.planfold('status', 'b2')).stdout).toContain(add)
  expect((await here.planfold('inbox')).stdout).toContain('a retry needs a larger time budget first')
  expect((await here.planfold('budget', 'add', 'b2', '--time', '10m')).exit).toBe(0)
})

it('more budget takes the pause away, and says that the plan must be resumed', async () => {
  await runs(
    'bud',
    'policy: { budget: { attempts: 1 } }\ntasks: [{ id: a, run: ["true"], effect: pure }, { id: b, needs: [a], run: ["true"], effect: pure }]\n',
  )
  expect(await here.planfold('budget', 'add', 'bud', '--attempts', '5')).toEqual({
    exit: 0,
    stdout: 'ana@example.com added 5 attempts to the budget of the plan\nthe plan can be resumed now\n',
    stderr: 'Next: planfold resume bud\n',
  })
})

it('several failed tasks are run again by one command', async () => {
  const said = await runs('q', 'tasks: [{ id: a, run: ["false"] }, { id: b, run: ["false"] }, { id: c, needs: [a] }]\n')
  expect(said.stdout).toContain('  Next: planfold resume q\n')
  await here.planfold('skip', 'q', 'c', '-m', 'no')
  const status = (await here.planfold('status', 'q')).stdout
  expect(status).toContain('  tasks    1/3 done or skipped: 2 failed · 1 skipped\n')
  expect(status).toContain('planfold resume q runs all 2 failed tasks again\n')
})

it('an order that changes nothing says what is so already, and a note or a halt says no more than it must', async () => {
  await runs('p', 'tasks: [{ id: a }]\n')
  expect((await here.planfold('pause', 'p')).stdout).toBe('plan paused\n')
  expect((await here.planfold('pause', 'p')).stdout).toBe('p is already paused\n')
  expect(await here.planfold('log', 'p', 'a', '--add', '-m', 'hi')).toEqual({
    exit: 0,
    stdout: 'note added to p a: hi\n',
    stderr: '',
  })
  const halted = /^halted by ana@example\.com at \S+Z$/m
  expect((await here.planfold('halt')).stdout).toMatch(halted)
  expect((await here.planfold('halt', '--show')).stdout).toMatch(halted)
  expect((await here.planfold('status')).stdout).toContain('by ana@example.com just now; nothing starts')
  await here.planfold('halt', '--lift')
  expect((await here.planfold('halt', '-m', 'fire')).stdout).toMatch(/Z: fire$/m)
})

it('whoever claims, reports and retries is told what is wrong and what is next', async () => {
  await runs('ext', 'tasks: [{ id: a, accept: ["a person likes it"] }, { id: b, needs: [a] }]\n')
  await here.planfold('claim', 'ext', 'a')
  expect((await here.planfold('claim', 'ext', 'a')).stderr).toContain(
    "error: task 'a' is claimed by ana@example.com, which is you\n",
  )
  expect((await here.planfold('claim', 'ext', 'a', '--as', 'bo')).stderr).toContain(
    "error: task 'a' is claimed by ana@example.com\n",
  )
  expect((await here.planfold('report', '--status', 'done', 'ext', 'a', '--token', 'wrong')).stderr).toContain(
    "error: this is not the token of the claim on 'a', which ana@example.com holds\n",
  )
  expect((await here.planfold('report', '--status', 'done', 'ext', 'a')).stdout).toBe(
    'a waits for a person to confirm its checks\n',
  )
  expect((await here.planfold('approve', 'ext', 'a')).stderr).toBe('Next: planfold claim ext\n')
  expect((await here.planfold('retry', 'ext', 'a')).stderr).toBe('Next: planfold claim ext\n')
})

it('a rejection without a reason is told as one, and a plan that nobody runs is not called running', async () => {
  await runs('r', 'tasks: [{ id: g, gate: approval }, { id: h, gate: approval }]\n')
  await here.planfold('reject', 'r', 'g')
  expect((await here.planfold('status', 'r')).stdout).toContain('  failed   g: rejected, no reason given\n')
  await runs('s', 'tasks: [{ id: g, gate: approval }, { id: a, needs: [g], run: ["true"], effect: pure }]\n')
  await here.planfold('approve', 's', 'g')
  expect((await here.planfold('show', 's')).stdout).toMatch(/^‖ s not running, revision 1/)
})

it('a final check that failed is seen in the contract', async () => {
  await runs('f', 'tasks: [{ id: a, run: ["true"], effect: pure }]\ndone: [{ check: test -f x.txt }]\n')
  expect((await here.planfold('status', 'f')).stdout).toContain(
    '  failed   a check did not pass; see: planfold show f --checks\n',
  )
})

it('money is added in US dollars, and nothing else is suggested', async () => {
  for (const amount of ['5', '5 EUR'])
    expect((await here.planfold('budget', 'add', 'x', '--cost', amount)).stderr).toContain(
      "is invalid. Write an amount in US dollars: '2 USD'.\n",
    )
})

it('what runs again after a rollback of single tasks is listed with every decision that is lost', async () => {
  await runs(
    'ct',
    `tasks:
  - { id: a, run: "echo hi > a.txt", write: [a.txt], network: [] }
  - { id: c, needs: [a], gate: { type: decision, options: [{ id: x }, { id: y }] } }
  - { id: q, needs: [c], gate: approval }
`,
  )
  await here.planfold('answer', 'ct', 'c', 'x')
  await here.planfold('approve', 'ct', 'q')
  const said = await here.planfold('rollback', 'ct', '--tasks', 'a', '--to', 'c', '--dry-run')
  expect(said.stdout).toContain('  decisions lost: c (chosen by ana@example.com), q (approved by ana@example.com)\n')
})

it('what was running when its process died is not said to be running', async () => {
  await here.write('k.yaml', 'planfold: 1\nname: k\ntasks: [{ id: s, run: [sleep, "60"], effect: pure }]\n')
  const running = here.start('run', 'k.yaml')
  await running.until('s started')
  expect((await here.planfold('next', 'k', '--explain')).stdout).toBe("'s' is running\n")
  running.kill('SIGKILL')
  await running.ended
  expect((await here.planfold('next', 'k', '--explain')).stdout).toBe(
    "'s' was running when the process died: planfold resume k\n",
  )
  const words = 'interrupted: s was running when the process died'
  expect((await here.planfold('status', 'k')).stdout).toContain(`k ${words}\n  tasks    0/1 done: 1 interrupted\n`)
  expect((await here.planfold('show', 'k', 's')).stdout).toMatch(/^‖ s interrupted\n/)
  const handed = (await here.planfold('summary', '--form', 'handoff', 'k')).stdout
  expect(handed).toContain(`**${words}**`)
  expect(handed).toContain('- `s`: interrupted\n')
  expect((await here.planfold('budget', 'k')).stdout).toContain(`k: ${words}\n`)
})

it('a plan whose process died and that is cancelled advises nothing: it has ended', async () => {
  await here.write('k.yaml', 'planfold: 1\nname: k\ntasks: [{ id: s, run: [sleep, "60"], effect: pure }]\n')
  const running = here.start('run', 'k.yaml')
  await running.until('s started')
  running.kill('SIGKILL')
  await running.ended
  const said = await here.planfold('cancel', 'k')
  expect([said.exit, said.stdout, said.stderr]).toEqual([0, expect.stringContaining('k cancelled'), expect.anything()])
  expect(`${said.stdout}${said.stderr}`).not.toContain('Next:')
})

it('what was running when its process died is decided after resume, and approve says so', async () => {
  await here.write('c.yaml', 'planfold: 1\nname: c\ntasks: [{ id: pub, run: [sleep, "60"], effect: unsafe }]\n')
  const running = here.start('run', 'c.yaml')
  await running.until('pub started')
  expect((await here.planfold('approve', 'c', 'pub')).stderr).toContain('hint: see `planfold inbox`')
  running.kill('SIGKILL')
  await running.ended
  expect(await here.planfold('approve', 'c', 'pub')).toEqual({
    exit: 3,
    stdout: '',
    stderr: "error: 'pub' was running when the process died, and waits for no decision yet\nhint: planfold resume c\n",
  })
  // The same word everywhere.
  for (const words of [
    ['status', 'c'],
    ['digest', 'c'],
    ['show', 'c'],
  ])
    expect((await here.planfold(...words)).stdout).toMatch(/^‖ c interrupted/m)
  expect((await here.planfold('summary', 'c')).stdout).toMatch(/^ {2}interrupted pub,/m)
  expect((await here.planfold('resume', 'c')).exit).toBe(4)
  expect((await here.planfold('approve', 'c', 'pub')).exit).toBe(0)
})

it('a forecast of one task is of one attempt, though some tasks before it took two', async () => {
  await runs(
    'fc',
    `policy: { budget: { attempts: 4 } }
tasks:
  - { id: a, run: "test -f x || { touch x; exit 75; }", effect: pure, retry: { attempts: 2, backoff: 1ms..1ms } }
  - { id: b, needs: [a], run: ["true"], effect: pure }
  - { id: c, needs: [b], run: ["true"], effect: pure }
  - { id: d, needs: [c], run: ["true"], effect: pure }
`,
  )
  const said = await here.planfold('budget', 'fc')
  expect(said.stdout).toContain('used in all: 4 attempts')
  expect(said.stdout).toMatch(/^forecast of the rest: about 1 attempt,/m)
})

it('a second halt says who halted before and why, and that its own reason is not recorded', async () => {
  await runs('p', 'tasks: [{ id: a }]\n')
  expect((await here.planfold('halt', '-m', 'a leak')).stdout).toMatch(/^halted by ana@example.com at \S+: a leak\n/)
  const again = await here.planfold('halt', '-m', 'worse leak')
  expect([again.exit, again.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^already halted by ana@example.com at \S+: a leak\nyour reason was not recorded; to change the reason, lift the halt and halt again\n/,
    ),
  ])
  expect((await here.planfold('halt')).stdout).not.toContain('your reason')
})

it('when a halt is lifted, the plan that stays paused is named, or all of them are resumed at once', async () => {
  const lifted = async () => {
    await here.planfold('halt')
    return (await here.planfold('halt', '--lift')).stdout.split('\n').slice(1)
  }
  await runs('none', 'tasks: [{ id: a, run: ["true"], effect: pure }]\n')
  expect(await lifted()).toEqual([''])
  await runs('one', 'tasks: [{ id: a }]\n')
  expect(await lifted()).toEqual(['one stays paused. Next: planfold resume one', ''])
  await runs('two', 'tasks: [{ id: a }]\n')
  expect(await lifted()).toEqual(['2 plans stay paused. Next: planfold resume --all', ''])
  const which = await here.planfold('resume')
  expect([which.exit, which.stderr]).toEqual([
    2,
    "error: 2 unfinished plans: two, one\nhint: name one, for example 'two', or take all: planfold resume --all\n",
  ])
  expect((await here.planfold('pause')).stderr).toContain("hint: name one, for example 'two'\n")
  expect((await here.planfold('resume', '--all')).exit).toBe(4)
})

it('who says no to more budget is told to add some or to cancel, because resume would only ask again', async () => {
  await runs(
    'cheap',
    'policy: { budget: { attempts: 1 } }\ntasks: [{ id: a, run: ["true"], effect: pure }, { id: b, needs: [a], run: ["true"], effect: pure }]\n',
  )
  const { items } = (await here.json('inbox')) as { items: readonly { id: string }[] }
  const next = 'Next: planfold budget add cheap …, or planfold cancel cheap\n'
  expect((await here.planfold('answer', 'cheap', items[0]!.id, 'more=no')).stderr).toBe(next)
  expect((await here.planfold('status', 'cheap')).stdout).toContain(`  ${next}`)
  expect((await here.planfold('resume', 'cheap')).stdout).toContain('  Next: answer it, then planfold resume cheap\n')
  expect((await here.planfold('budget', 'add', 'cheap', '--attempts', '1')).stderr).toBe(
    'Next: planfold resume cheap\n',
  )
  expect((await here.planfold('resume', 'cheap')).exit).toBe(0)
})

it('a slip in a command about rules, or in a plan or policy file, is told with what was meant', async () => {
  await runs('p', 'tasks: [{ id: a }]\n')
  expect((await here.planfold('policy', 'shw')).stderr).toBe(
    "error: there is no plan 'shw', and no command 'policy shw'\nhint: did you mean 'policy show'?\n",
  )
  expect((await here.planfold('policy', 'allow', 'foo', 'bar')).stderr).toBe(
    "error: unknown kind 'foo'\nhint: one of network, command.\n",
  )
  const hintOf = async (text: string) => {
    const { stderr } = await runs('w', text)
    return stderr
      .split('\n')
      .filter(line => line.includes('hint:'))
      .map(line => line.trim())
  }
  const form = 'form: [{ name: r, type: choice, options: [eu, us] }]'
  expect(await hintOf(`tasks: [{ id: q, gate: { type: question, ${form} } }]\n`)).toEqual([
    'hint: add choices: [a, b]',
    "hint: did you mean 'choices'?",
  ])
  expect(await hintOf('tasks: [{ id: a, run: ["true"], network: 5 }]\n')).toEqual(['hint: for example: [example.com]'])
  expect(await hintOf('policy: { commands: { deny: [git push] } }\ntasks: [{ id: a }]\n')).toEqual([
    'hint: write its words as a list: [git, push]',
  ])
})
