// Changing a plan while it lives, through the built command: proposals, rules and templates that propose, what has moved since, and
// `converge`, also cut off in the middle of a round.

import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
afterEach(() => here.remove())

interface Waiting {
  readonly id: string
  readonly hash: string
  readonly by: string
  readonly rationale: string
  readonly fate: { readonly status: string }
}
const proposals = async (plan: string) =>
  ((await here.json('inbox', 'proposals', plan)) as { items: readonly Waiting[] }).items

const told = async (plan: string, type: string) =>
  ((await here.json('log', plan)) as { items: readonly { type: string; text: string }[] }).items
    .filter(one => one.type === type)
    .map(({ text }) => text)

const slow = (more = '') => `planfold: 1
name: p
tasks:
  - { id: slow, effect: pure, run: "until test -f go; do sleep 0.05; done" }
  - { id: after, needs: [slow], effect: pure, run: echo after }
${more}`

describe('a proposed revision', () => {
  it('is accepted as it was seen while work runs on; what was proposed beside it is void', async () => {
    here = await place()
    await here.write('p.yaml', slow())
    await here.write('more.yaml', slow('  - { id: more, run: touch more }\n'))
    await here.write('less.yaml', slow().replace(/ {2}- \{ id: after.*\n/, ''))
    const run = here.start('run', 'p.yaml')
    await run.until('slow started')
    const made = await here.planfold('revise', '--propose', 'p', 'more.yaml', '-m', 'more is needed')
    expect(made.stdout).toContain('+ task more')
    expect((await here.planfold('revise', '--propose', 'p', 'less.yaml', '-m', 'or less')).exit).toBe(0)
    const [more, less] = await proposals('p')
    expect(await here.planfold('approve', 'p', more!.id, '--hash', '00')).toMatchObject({ exit: 2 })
    expect((await here.planfold('approve', 'p', more!.id, '-m', 'yes')).exit).toBe(0)
    const late = await here.planfold('approve', 'p', less!.id)
    expect(late.exit).toBe(3)
    expect(late.stderr).toContain('is void: it was made for revision 1, and the plan became revision 2 meanwhile')
    await here.write('go', '')
    expect((await run.ended).exit).toBe(0)
    expect(await here.files()).toContain('more')
    expect(await told('p', 'plan.revised')).toEqual(['revision 2: more is needed (yes)'])
    expect((await here.planfold('audit', 'replay', 'p')).exit).toBe(0)
  })

  const failing = (recover: string, policy = '') => `planfold: 1
name: p
${policy}tasks:
  - id: build
    effect: pure
    run: test -f dep.txt
    recover: [{ replan: ${recover} }]
  - { id: after, needs: [build], effect: pure, run: echo after }
`

  it('is made by a rule after a failure, names the failure, and lets the task try again when it is accepted', async () => {
    here = await place()
    await here.write('p.yaml', failing('{ add: [{ id: get, run: touch dep.txt }] }'))
    expect((await here.planfold('run', 'p.yaml')).exit).toBe(4)
    const [made] = await proposals('p')
    expect(made).toMatchObject({ by: 'engine', cause: "'build' failed: exit 1", task: 'build' })
    expect((await here.planfold('inbox', 'answer', made!.id, 'accept', '-m', 'yes')).exit).toBe(0)
    expect((await here.planfold('resume', 'p')).exit).toBe(0)
    expect((await here.planfold('audit', 'replay', 'p')).exit).toBe(0)
  })

  it('is made of a template, and takes effect by itself where the policy says auto', async () => {
    here = await place()
    await mkdir(join(here.folder, '.planfold/templates'), { recursive: true })
    await here.write(
      '.planfold/templates/get.yaml',
      `planfold-template: 2
name: get
parameters: { task: { required: true, about: what failed } }
plan:
  place: gpu
  tasks: [{ id: "for-\${{ params.task }}", run: touch dep.txt }]
`,
    )
    await here.write('p.yaml', failing('{ template: get }', 'policy: { replan: auto }\n'))
    expect((await here.planfold('run', 'p.yaml')).exit).toBe(0)
    expect(await told('p', 'plan.revised')).toEqual([
      "revision 2: 'build' failed; its rule adds 'for-build' of the template 'get' before it is retried",
    ])
    // Only the tasks of the template are added: its place is not the plan's.
    const { stdout } = await here.planfold('export', 'p')
    expect([stdout.includes('id: for-build'), stdout.includes('place')]).toEqual([true, false])
    expect((await here.planfold('revise', '--propose', 'p', 'p.yaml', '-m', 'late')).exit).toBe(3)
  })
})

describe('drift', () => {
  it('tells which files and commits moved, by whose hand, and what did not hold', async () => {
    here = await place()
    const git = (...argv: readonly string[]) =>
      promisify(execFile)('git', ['-c', 'user.name=ana', '-c', 'user.email=a@example.com', ...argv], {
        cwd: here.folder,
      })
    await here.write('a.txt', 'a\n')
    await here.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: write, run: echo b > b.txt }
  - { id: check, needs: [write], effect: pure, run: "true", accept: [{ check: grep -q never b.txt }] }
`,
    )
    await here.write('.gitignore', '.planfold\n')
    await git('init', '--quiet', '--initial-branch=main')
    await git('add', '.')
    await git('commit', '-qm', 'begin')
    expect((await here.planfold('run', 'p.yaml')).exit).toBe(1)
    expect(await here.json('status', '--drift', 'p')).toMatchObject({
      commit: null,
      basis: 'whole',
      files: [{ path: 'b.txt', what: 'created', by: 'plan', tasks: ['write'] }],
      unmet: [{ task: 'check', stage: 'acceptance', criterion: 'grep -q never b.txt' }],
    })
    await here.write('a.txt', 'mine\n')
    await here.write('b.txt', 'mine too\n')
    await git('commit', '-qam', 'mine')
    expect(await here.json('status', '--drift', 'p')).toMatchObject({
      drifted: true,
      commit: { by: 'somebody', from: { branch: 'main' }, to: { branch: 'main' } },
      files: [
        { path: 'a.txt', what: 'changed', by: 'somebody', tasks: [] },
        { path: 'b.txt', what: 'created', by: 'somebody', tasks: ['write'] },
      ],
    })
    expect((await here.planfold('status', 'p')).stdout).toContain('planfold status p --drift')
  })
})

describe('converge', () => {
  const plan = `planfold: 1
name: c
done:
  - check: test -f a.txt
  - check: grep -q two b.txt
tasks:
  - { id: begin, run: echo one > b.txt }
`
  /** In the first round only one of them; then it is told what is missing. */
  const fix = `case "$PLANFOLD_CRITERION" in
  *a.txt) test "$PLANFOLD_ROUND" -ge 2 && touch a.txt || true ;;
  *b.txt) echo "$PLANFOLD_EVIDENCE" > seen.txt; echo two >> b.txt ;;
esac`

  async function begin(script = fix): Promise<void> {
    here = await place()
    await here.write('c.yaml', plan)
    await here.write('fix.sh', script)
  }
  const converge = (...more: readonly string[]) => here.planfold('converge', 'c.yaml', '--with', 'sh fix.sh', ...more)

  it('adds a task for what does not hold, round by round, until all does; also when the plan had ended', async () => {
    await begin()
    const said = await converge()
    expect(said.exit).toBe(0)
    expect(said.stdout).toContain('c is done: all 2 checks passed in round 3')
    expect(await here.read('seen.txt')).toBe('exit 1\n')
    expect(await told('c', 'assessment.made')).toEqual([
      'round 1: 2 of 2 final checks did not pass',
      'round 2: 1 of 2 final checks did not pass',
      'round 3: all final checks passed',
    ])
    await here.write('b.txt', 'gone\n')
    expect((await here.planfold('converge', 'c', '--with', 'sh fix.sh')).exit).toBe(0)
    expect(await here.read('b.txt')).toBe('gone\ntwo\n')
    expect((await here.planfold('audit', 'replay', 'c')).exit).toBe(0)
  })

  it('ends when nothing moves, when the rounds are over, or the budget; and says what does not hold', async () => {
    await begin('echo no > c.txt')
    const stuck = await converge()
    expect(stuck.exit).toBe(1)
    expect(stuck.stdout).toContain('the last round changed nothing')
    expect(stuck.stdout).toContain('✗ test -f a.txt (exit 1)')
    // The first round made c.txt; the second changed nothing.
    const over = await converge('--rounds', '1')
    expect(over.exit).toBe(1)
    expect(over.stdout).toContain('2 rounds are over')
    await here.write('d.yaml', plan.replace('name: c', 'name: d\npolicy: { budget: { attempts: 1 } }'))
    const spent = await here.planfold('converge', 'd.yaml', '--with', 'true')
    expect(spent.exit).toBe(1)
    expect(spent.stdout).toContain('the budget is used up')
    await here.write('e.yaml', 'planfold: 1\nname: e\ntasks: [{ id: a, effect: pure, run: "true" }]\n')
    expect((await here.planfold('converge', 'e.yaml')).exit).toBe(3)
  })

  it('without a command waits for whoever claims the tasks, and goes on when called again', async () => {
    await begin()
    expect((await here.planfold('converge', 'c.yaml')).exit).toBe(4)
    await here.write('a.txt', '')
    await here.write('b.txt', 'two\n')
    expect((await here.planfold('report', '--status', 'done', 'c', 'converge-1-1')).exit).toBe(0)
    expect((await here.planfold('report', '--status', 'done', 'c', 'converge-1-2')).exit).toBe(0)
    expect((await here.planfold('converge', 'c')).exit).toBe(0)
  })

  it.each(['round 1: 2 of 2 checks', 'converge-1-1 started'])(
    'killed at "%s" and called again, goes on and makes no round twice',
    async moment => {
      await begin(`until test -f go; do sleep 0.05; done
touch a.txt; grep -q two b.txt || echo two >> b.txt`)
      const first = here.start('converge', 'c.yaml', '--with', 'sh fix.sh')
      await first.until(moment)
      first.kill('SIGKILL')
      await first.ended
      await here.write('go', '')
      expect((await converge()).exit).toBe(0)
      const rounds = (await told('c', 'assessment.made')).map(text => Number(/^round (\d+)/.exec(text)?.[1]))
      expect(rounds).toEqual(rounds.map((_, at) => at + 1))
      expect(await told('c', 'plan.revised')).toHaveLength(1)
      expect((await here.planfold('audit', 'replay', 'c')).exit).toBe(0)
    },
  )
})
