// `planfold plan`: a draft is proposed, shown, changed by comments or by hand, approved or rejected. The repository is a real one.
// Needs the extras: models

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { approve } from '../../../cli/commands/people/approve.ts'
import { EXAMPLE_PLAN, init } from '../../../cli/commands/plans/init.ts'
import { show } from '../../../cli/commands/plans/show.ts'
import { status } from '../../../cli/commands/plans/status.ts'
import type { Context } from '../../../cli/context.ts'
import { CliError } from '../../../cli/exit.ts'
import { newPlace, type Place, type Said } from '../../../cli/place.fixture.ts'
import { typing } from '../../../cli/terminal/typing.fixture.ts'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { type ScriptedModel, scriptedModel } from '../../../testing/scripted-model.ts'
import { listModels } from '../../models/commands/models.ts'
import { doGoal } from './do.ts'
import { type PlanOptions, plan } from './plan.ts'

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
  const lines = said.stdout.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(35)
  expect(said.stdout).not.toContain('…')
  expect(lines[0]).toBe('rename-greet-to-salute — Rename `greet` to `salute`')
  for (const words of [
    /tests-before Record which tests fail today\n│ {4}make test 2>&1 · may write any file\n/,
    /rename Rename it everywhere ← baseline, tests-before\n│ {4}perl .*\{salute\}g unless m\{.*\}\n│ {6}lib/,
    /writes lib\/greet\.sh, main\.sh · proved by: greet no longer occurs, except in comments \(! grep\n│ {6}-rnIE (?:[^…]*\n)+?│ {6}.*; salute occurs/,
    /Cannot be undone {2}nothing in this plan\nAssumed {11}\S/,
  ])
    expect(said.stdout).toMatch(words)
  expect(said.stderr).toContain('`--json` shows the rest')
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
})

heldTest('what fails today is looked at first, on a copy: it is said, and the draft is about it', async () => {
  await place.write(
    'Makefile',
    'test:\n\tsh main.sh world\n\techo x > lib/made.txt\nlint:\n\t@echo "lib/greet.sh:1: no echo"; false\n',
  )
  const before = await place.hash()
  const look = { dryRun: true, look: true }
  const said = await say('', 'make the CI green', look)
  expect(said.stderr).toMatch(/^runs make lint on a copy of the workspace, to see what fails today \(at most \d+ s\)\n/)
  expect(said.stdout).toMatch(/\nLooked {12}make lint: fails today \(lib\/greet\.sh:1\) · make test: passes · \d+ s\n/)
  expect(said.stdout).toContain('writes lib/greet.sh · proved by: make lint')
  expect(await place.hash()).toBe(before)
  const none = await say('', RENAME, { ...look, look: false })
  expect(none.stdout + none.stderr).not.toMatch(/Looked|copy of the workspace/)
})

test('the rest is behind a key: why, where, the stages, every command uncut, what it is done by; no reason twice', async () => {
  const said = await say('mq', RENAME)
  const [screen = '', more = ''] = said.stdout.split('nothing has happened yet')
  for (const title of ['Why', 'Why each step', 'Where', 'Stages', 'Commands found', 'Done when', 'Risks']) {
    expect(more).toContain(`\n${title}\n`)
    expect(screen).not.toContain(`\n${title}\n`)
  }
  expect(more).toContain('test: make test (Makefile')
  expect(more.match(/rename: perl -pi/g)).toHaveLength(1)
  const reasons = [...more.matchAll(/^ {2}\S+ \((.*)\)$/gm)].map(([, reason]) => reason!)
  expect(reasons.length).toBeGreaterThan(0)
  const told = said.stdout.replaceAll('\n    ', ' ')
  for (const reason of reasons)
    expect(told.split(`(${reason})`)).toHaveLength(1 + reasons.filter(one => one === reason).length)
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
  expect(data.tasks.map(({ id }: { id: string }) => id)).toEqual(['baseline', 'tests-before', 'rename', 'review'])
})

test('a draft of the same name as another gets the next free one', async () => {
  await say('q', RENAME)
  const second = await say('q', RENAME)
  expect(second.stdout).toContain('rename-greet-to-salute-2 stays a draft')
})

heldTest(
  'a rename also covers scripts without an extension and documents: all that its own check looks at',
  async () => {
    await mkdir(join(place.folder, 'bin'))
    await place.write('bin/hello', '#!/bin/sh\n. ./lib/greet.sh\ngreet world\n')
    await place.write('notes.md', 'First greet somebody.\n')
    await place.say(context => init(context))
    expect((await say('', RENAME, { yes: true })).exit).toBe(4)
    expect(await place.read('bin/hello')).toBe('#!/bin/sh\n. ./lib/greet.sh\nsalute world\n')
    expect(await place.read('notes.md')).toBe('First salute somebody.\n')
    expect(await place.read('plan.yaml')).toBe(EXAMPLE_PLAN)
  },
)

heldTest(
  'an approved plan runs: the baseline fails as it must, the work is done, the review waits, and the checks hold',
  async () => {
    const said = await say('', RENAME, { yes: true })
    expect(said.exit).toBe(4)
    expect(await place.read('lib/greet.sh')).toBe('salute() { echo "hello $1"; }\n')
    expect(await place.read('main.sh')).toContain('salute "$1"')
    const done = await place.say(context => approve(context, 'rename-greet-to-salute', 'review', {}))
    expect(done.exit).toBe(0)
    const { resume } = await import('../../../cli/commands/plans/resume.ts')
    const ended = await place.say(context => resume(context, 'rename-greet-to-salute', {}))
    expect(ended.exit).toBe(0)
  },
)

test('comments are kept at their tasks, and the next draft answers them as a difference', async () => {
  const said = await say(
    'c' + 'review: skip this\r' + 'implement.instruction:2: be brief\r' + 'also look at lib/count.sh\r' + '\r' + 'q',
    'Support a second name in greet',
  )
  expect(said.stdout).toMatch(/review.*(removed|taken)|(removed|taken).*review|- review/s)
  const shown = await place.say(context => show(context, 'support-a-second-name-in-greet', undefined, {}))
  expect(shown.stdout).not.toMatch(/\breview\b/)
  const { log } = await import('../../../cli/commands/plans/log.ts')
  const journal = await place.say(context => log(context, 'support-a-second-name-in-greet', undefined, {}))
  expect(journal.stdout).toContain('skip this')
  expect(journal.stdout).toContain('be brief (at instruction, line 2)')
  const work = await place.say(context => show(context, 'support-a-second-name-in-greet', 'implement', {}), {
    json: true,
  })
  expect(work.stdout).toContain('lib/count.sh')
})

test('a comment that cannot be followed is told', async () => {
  const said = await say('c' + 'baseline: be careful here\r\rq', 'Support a second name in greet')
  expect(said.stdout).toContain('comment not applied: baseline: be careful here')
  expect(said.stdout).toContain('no changes')
  const named = 'c' + 'nosuch: be careful\r' + 'rename: do not touch main.sh\r' + '\r' + 'q'
  const again = await say(named, RENAME)
  expect(again.stdout).toContain("the draft has no task 'nosuch'")
  expect(again.stdout).toContain('comment not applied: nosuch: be careful (no task of this plan has instructions')
  // What the draft says about its own making is no change to what will be done.
  const difference = again.stdout.slice(again.stdout.indexOf('nothing has happened yet'))
  expect(difference).toContain('write: [lib/greet.sh, main.sh] → [lib/greet.sh]')
  expect(difference).not.toContain('planning')
})

test('the draft is edited in the editor of the person, and a mistake changes nothing', async () => {
  const editor = join(place.folder, 'editor')
  await writeFile(editor, '#!/bin/sh\nsed -i.old "s/Look at the change/Look at every line/" "$1"\n')
  await chmod(editor, 0o755)
  const said = await say('eq', RENAME, {}, { EDITOR: editor })
  expect(said.stdout).toContain('Look at every line')
  // It is given the text with the mistake again, not the draft without the person's work.
  await writeFile(
    editor,
    '#!/bin/sh\necho "# seen $(grep -c nonsense "$1")" >> "$0.seen"\necho "tasks: nonsense" > "$1"\n',
  )
  const wrong = await say('eeq', RENAME, {}, { EDITOR: editor })
  expect(wrong.stderr).toContain('the draft stays as it was; [e]dit opens your text again')
  expect(await readFile(`${editor}.seen`, 'utf8')).toBe('# seen 0\n# seen 1\n')
})

test('an editor that is only a name is never one that lies in the workspace', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'planfold-editor-'))
  onTestFinished(() => rm(elsewhere, { recursive: true, force: true }))
  for (const [folder, word] of [
    [place.folder, 'from-the-workspace'],
    [elsewhere, 'from-elsewhere'],
  ]) {
    await writeFile(join(folder!, 'edit-it'), `#!/bin/sh\nsed -i.old "s/Look at the change/${word}/" "$1"\n`)
    await chmod(join(folder!, 'edit-it'), 0o755)
  }
  const PATH = `.:${place.folder}:${elsewhere}:${process.env.PATH}`
  const said = await say('eq', RENAME, {}, { EDITOR: 'edit-it', PATH })
  expect(said.stdout).toContain('from-elsewhere')
  expect(said.stdout).not.toContain('from-the-workspace')
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
  const said = await say('mq', 'Rename greet to welcome')
  expect(said.stdout).toContain('rename-greet-to-salute (draft)')
})

test('an unknown planner and an empty goal are refused', async () => {
  expect((await say('', RENAME, { planner: 'oracle' })).stderr).toContain("there is no planner 'oracle'")
  expect((await say('', '  ')).stderr).toContain('the goal is empty')
})

test('a goal that says nothing makes no draft: a person is asked for it first, anybody else is told', async () => {
  for (const goal of ['fix', 'asdf qwer']) {
    const said = await say('', goal, { yes: true })
    expect(said).toEqual({ exit: 'usage', stdout: '', stderr: `'${goal}' does not say what to work on` })
  }
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
  const asked = await say('greet an empty name politely\nq', 'fix')
  expect(asked.stderr).toContain("'fix' does not say what to work on. What should be different afterwards?")
  expect(asked.stdout).toContain('fix-greet-an-empty-name-politely')
})

const FIX = {
  id: 'greet-twice',
  title: 'Greet a second name',
  why: 'The goal asks for it.',
  kind: 'implement',
  how: 'work',
  instruction: 'Let greet take a second name.',
  write: ['lib/greet.sh'],
  accept: [{ text: 'the tests pass', command: ['make', 'test'] }],
  minutes: 10,
}
const DRAFT = {
  title: 'A second name',
  rationale: 'One small change.',
  tasks: [FIX, { ...FIX, id: 'out', title: 'Bring it out', kind: 'push', needs: ['greet-twice'] }],
  done: [{ text: 'the tests pass', command: ['make', 'test'] }],
}
const ASKS = { question: 'Which name is first?', why: 'the order', answeredBy: 'person' }
const intake = (unknowns: readonly object[]) => ({
  objective: 'Two people are greeted.',
  done: [{ text: 'the tests pass' }],
  unknowns,
})
const scripted = async (...answers: readonly object[]): Promise<ScriptedModel> => {
  const server = await scriptedModel(answers.map(one => ({ text: JSON.stringify(one) })))
  onTestFinished(() => server.close())
  return server
}

test('a command line that cannot be meant ends with 2', async () => {
  const exitOf = async (options: PlanOptions) =>
    await place.say(async context => {
      const thrown: unknown = await plan(context, [RENAME], options).catch((error: unknown) => error)
      if (!(thrown instanceof CliError)) throw new Error(`it went on: ${thrown}`)
      return thrown.exit
    })
  const bad: readonly PlanOptions[] = [
    { planner: 'agent' },
    { planner: 'model' },
    { model: 'nosuch' },
    { model: 'nosuch/x' },
    { template: 'nope' },
    { planner: 'template' },
  ]
  for (const options of bad) expect({ options, exit: (await exitOf(options)).exit }).toEqual({ options, exit: 2 })
  expect((await say('', RENAME, { model: 'nosuch' })).stderr).toContain("there is no model 'nosuch'")
})

test('a key in the environment is mentioned by the name of its variable; a model without its provider is found by its name', async () => {
  const key = 'sk-ant-0123456789abcdefgh'
  const drafted = await say('', RENAME, { dryRun: true }, { ANTHROPIC_API_KEY: key })
  expect(drafted.stderr).toContain('ANTHROPIC_API_KEY is set: `--model anthropic/NAME` drafts with it')
  expect((await say('', RENAME, { dryRun: true })).stderr).not.toContain('is set')
  const environment = { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key }
  const listed = await place.say(listModels, { environment })
  expect(listed.stdout).toContain('providers with a key: anthropic (ANTHROPIC_API_KEY), openai (OPENAI_API_KEY)')
  expect(`${drafted.stdout}${drafted.stderr}${listed.stdout}`).not.toContain(key)
  const server = await scriptedModel([{ error: { status: 401, message: 'no' } }])
  onTestFinished(() => server.close())
  const bare = ['claude-sonnet-4-5', 'gpt-5', 'gemini-2.5-pro']
  const asked = await Promise.all(bare.map(model => say('', RENAME, { model, dryRun: true }, server.environment())))
  expect(asked.map(({ stderr }) => /asking (\S+) for a plan/.exec(stderr)?.[1])).toEqual([
    'anthropic/claude-sonnet-4-5',
    'openai/gpt-5',
    'google/gemini-2.5-pro',
  ])
})

test('a model that is named drafts; its questions are asked at once, and tokens and cost are told', async () => {
  const server = await scripted(intake([ASKS]), DRAFT, { problems: [] })
  const options = { model: 'local/scripted' }
  const said = await say('the older\rq', 'Support a second name in greet', options, server.environment())
  expect(said.stderr).toContain('Which name is first?')
  expect(server.requests[1]?.messages.at(-1)?.text).toContain('Which name is first? the older')
  expect(said.stdout).toContain('Greet a second name')
  expect(said.stdout).toContain('out: it pushes; a person approves it first')
  expect(said.stdout).toMatch(/0 USD and 3150 tokens in 3 calls of\s+local\/scripted/)
  expect(said.stdout).toContain('a-second-name stays a draft')
  expect(server.served).toMatchObject({ calls: 3, input: 3000, output: 150 })
})

test('what a model wrote runs as the person’s own only after it was printed whole and agreed to', async () => {
  const long = `echo ${'x'.repeat(300)} > mark.txt`
  const mark = { ...FIX, id: 'mark', how: 'command', command: ['sh', '-c', long], write: ['mark.txt'], accept: [] }
  const draft = { ...DRAFT, tasks: [mark], done: [{ text: 'it is there' }] }
  const server = await scripted(intake([]), draft, { problems: [] })
  const said = await say('abq', 'Leave a mark', { model: 'local/scripted' }, server.environment())
  const [screen = '', shown = ''] = said.stdout.split('nothing has happened yet')
  expect(screen).not.toContain('x'.repeat(300))
  expect(shown.replace(/\n */g, '')).toContain('x'.repeat(300))
  expect(said.stderr.match(/\[b\]ack/g)).toHaveLength(1)
  expect(said.stdout).toContain('a-second-name stays a draft')
})

test('as JSON it tells the model, its calls, tokens and cost; the plan keeps the recording', async () => {
  const server = await scripted(intake([ASKS]), DRAFT, { problems: [] })
  const act = (context: Context) => plan(context, ['Support a second name'], { model: 'local/scripted' })
  const said = await place.say(act, { json: true, environment: server.environment() })
  const { data } = JSON.parse(said.stdout)
  expect(data).toMatchObject({
    planner: 'model',
    status: 'draft',
    questions: ['Which name is first?'],
    irreversible: [{ task: 'out', why: 'it pushes' }],
    model: {
      name: 'local/scripted',
      calls: 3,
      repairs: 0,
      usage: { inputTokens: 3000, outputTokens: 150 },
      cost: { known: true, usd: 0 },
    },
  })
  expect(data.tasks.map(({ id }: { id: string }) => id)).toEqual([
    'clarify',
    'baseline',
    'safe-point',
    'greet-twice',
    'approve-out',
    'out',
    'review',
  ])
  expect(data.document).toContain('model-recording')
})

test('comments go to the model, and its next draft is shown as a difference', async () => {
  const next = { ...DRAFT, tasks: [FIX] }
  const server = await scripted(intake([]), DRAFT, { problems: [] }, intake([]), next, { problems: [] })
  const options = { model: 'local/scripted' }
  const said = await say('cout: do not push\r\rq', 'Support a second name in greet', options, server.environment())
  expect(server.requests[4]?.messages.at(-1)?.text).toContain('1. (task out) do not push')
  expect(server.requests[4]?.messages.at(-1)?.text).toContain('- out: Bring it out')
  expect(said.stdout).toMatch(/removed.*out|out.*removed|- out/s)
  expect(said.stdout).not.toContain('model-recording')
})

test('at its limit a person is asked for more; where nobody sits, the same command with a higher --budget goes on', async () => {
  const server = await scripted(intake([]), DRAFT, { problems: [] }, intake([]))
  const model = 'local/scripted'
  const goal = 'Support a second name'
  const ended = await say('', goal, { model, budget: '1 call' }, server.environment())
  expect(ended.exit).toBe('model:cap')
  expect(ended.stderr).toContain('Spent so far: 0 USD and 1050 tokens in 1 call')
  const said = await say('y\rq', goal, { model, budget: '2 calls, 600,000 tokens' }, server.environment())
  expect(said.stdout + said.stderr).toContain('Allow 3 calls in all?')
  expect(said.stdout).toContain('a-second-name stays a draft')
  expect(server.requests).toHaveLength(3)
  const organisation = join(await mkdtemp(join(tmpdir(), 'planfold-organisation-')), 'policy.yaml')
  await writeFile(organisation, 'budget: { calls: 1 }\n', { mode: 0o644 })
  onTestFinished(() => rm(join(organisation, '..'), { recursive: true, force: true }))
  const policed = { ...server.environment(), PLANFOLD_ORGANISATION_POLICY: organisation }
  const within = await say('y\r', 'Support a third name', { model, budget: '9 calls' }, policed)
  expect([within.exit, server.requests.length]).toEqual(['model:cap', 4])
  const bad = await say('', goal, { model, budget: '3 EUR' })
  expect(bad.stderr).toContain('is not a budget for drafting')
})

test('without a model that is set up it says how to name one; a failure keeps no draft', async () => {
  const none = await say('', RENAME, { planner: 'model' })
  expect(none.exit).toBe('model:settings')
  expect(none.stderr).toContain('no model is named')
  // Nobody was asked, so nothing says so.
  expect(none.stderr).not.toContain('asking')
  expect((await say('', RENAME, { model: 'anthropic/x' })).stderr).not.toContain('asking')
  const server = await scriptedModel([{ error: { status: 401, message: 'no' } }])
  onTestFinished(() => server.close())
  const refused = await say('', RENAME, { model: 'anthropic/scripted' }, server.environment())
  expect(refused.exit).toBe('model:auth')
  const { list } = await import('../../../cli/commands/plans/list.ts')
  expect((await place.say(context => list(context, {}))).stdout).not.toContain('rename-greet')
})

test('a template that is named is filled from the goal; one planner takes no option of another', async () => {
  const said = await say('', 'greet takes a second name', { template: 'feature-with-tests' })
  expect(said.exit).toBe(0)
  expect(said.stdout).toContain('feature is "greet takes a second name" (the goal)')
  const missing = await say('', 'Upgrade it', { template: 'dependency-upgrade' })
  expect(missing.stderr).toContain("'package' is missing")
  const mixed = await say('', RENAME, { planner: 'heuristic', model: 'local/scripted' })
  expect(mixed.stderr).toContain("the planner 'heuristic' asks no model")
})

test('the same goal with the same manifests: the plan of before is named, and a new draft is made', async () => {
  const before = /^drafted before, on \d{4}-\d\d-\d\d: planfold show rename-greet-to-salute$/m
  expect((await say('', RENAME)).stderr).not.toMatch(before)
  const again = await say('', `${RENAME.toLowerCase()} .`)
  expect(again.stderr).toMatch(before)
  expect(again.stdout).toContain('rename-greet-to-salute-2')
  await place.write('Makefile', 'test:\n\ttrue\n')
  expect((await say('', RENAME)).stderr).not.toMatch(before)
})

test('a template that fits is offered in one line, with the command', async () => {
  const goal = 'A feature with tests: greet takes a second name'
  const said = await say('', goal)
  expect(said.stderr).toContain(`a template fits: planfold plan '${goal}' --template feature-with-tests\n`)
  expect((await say('', goal, { template: 'feature-with-tests' })).stderr).not.toContain('a template fits')
  expect((await say('', RENAME)).stderr).not.toContain('a template fits')
})

test('of several agents a person picks one; what is typed wrong is said', async () => {
  const programs = await mkdtemp(join(tmpdir(), 'planfold-programs-'))
  onTestFinished(() => rm(programs, { recursive: true, force: true }))
  for (const name of ['grok', 'opencode']) await writeFile(join(programs, name), '#!/bin/sh\n', { mode: 0o755 })
  const environment = { PATH: `${programs}:${process.env.PATH}` }
  const act = (context: Context) =>
    doGoal({ ...context, terminal: typing('gork\rgrok\rq') }, [RENAME], {
      model: 'openai-chat/scripted',
      budget: '2 USD',
    })
  const said = await place.say(act, { environment })
  expect(said.stderr).toContain("'gork' is none of them")
  expect(said.stdout).toMatch(/Budget +at most 2 USD; then you are asked/)
  expect(said.stdout).toContain('stays a draft')
  const unasked = await place.say(context => doGoal(context, ['Rename `count` to `lines`'], {}), { environment })
  expect(unasked.stderr).toMatch(/several agents are installed: .*grok/)
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
