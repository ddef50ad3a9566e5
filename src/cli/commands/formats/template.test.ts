// `template list|show|new|save` in a folder of its own, with a real store.

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { extraCommands } from '../../../extras.ts'
import type { Context, Settings } from '../../context.ts'
import { CliError, EXIT } from '../../exit.ts'
import { openState } from '../../open-state.ts'
import { buildProgram } from '../../program.ts'
import { paint } from '../../terminal/paint.ts'

const EXTRAS = await extraCommands()

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-template-'))
  await mkdir(join(folder, '.planfold'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

interface Said {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
  readonly code: string | null
}

/** Types the words of a command line. */
async function planfold(...argv: readonly string[]): Promise<Said> {
  const said = { stdout: '', stderr: '' }
  let exit = -1
  const sink = (stream: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      said[stream] += text
    },
  })
  const program = buildProgram('0', EXTRAS, async body => {
    const { json = false, as } = program.opts<{ json?: boolean; as?: string }>()
    const settings: Settings = { json, quiet: false, color: false, as }
    exit = await body({
      stdout: sink('stdout'),
      stderr: sink('stderr'),
      terminal: null,
      cwd: folder,
      environment: { HOME: folder, PATH: process.env.PATH, PLANFOLD_AS: 'ana@example.com' },
      now: () => 0,
      paint: paint(false),
      settings,
      onSignal: () => () => {},
      hangup: new AbortController().signal,
      stdin: () => (async function* () {})(),
      openState,
      opened: null,
    } satisfies Context)
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return { exit, ...said, code: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const places = error.diagnostics.map(
      ({ line, column, message, source }) => `${line}:${column} ${message} [${source.trim()}]`,
    )
    const stderr = [said.stderr, error.message, error.hint ?? '', ...places].join('\n')
    return { exit: error.exit, stdout: said.stdout, stderr, code: error.code }
  }
}

const data = async (...argv: readonly string[]) => JSON.parse((await planfold(...argv, '--json')).stdout).data
const own = (name: string, text: string) =>
  mkdir(join(folder, '.planfold/templates'), { recursive: true }).then(() =>
    writeFile(join(folder, '.planfold/templates', name), text),
  )
const OWN = `planfold-template: 2
name: mine
parameters: { who: { about: whom to greet, required: true } }
plan:
  tasks:
    - id: greet
      run: [echo, "hello \${{ params.who }}"]
      effect: pure
`

describe('template list and show', () => {
  it('tell the stock templates and one’s own, and which of one name is used', async () => {
    await own('mine.yaml', OWN)
    await own('debug.yaml', OWN.replace('name: mine', 'name: debug'))
    await own('broken.yaml', 'planfold-template: 2\nname: broken\nplan: 7\n')
    await own('Not A Name.yaml', OWN)
    const { items } = await data('template', 'list')
    const seen = items.map(
      (item: { name: string; origin: string; hides: boolean }) => `${item.name} ${item.origin} ${item.hides}`,
    )
    expect(seen).toEqual([
      'broken own false',
      'debug own true',
      'dependency-upgrade stock false',
      'feature-with-tests stock false',
      'incident-postmortem stock false',
      'mine own false',
      'multi-file-refactor stock false',
      'research-then-build stock false',
      'research-then-implement stock false',
      'staged-rollout stock false',
    ])
    expect(items[0].fault).toContain('broken.yaml:3:7')
    const { stdout } = await planfold('template', 'list')
    expect(stdout).toMatch(/^debug +own, replaces the built-in one/m)
    expect(stdout).toMatch(/^broken +own +cannot be used/m)
  })

  it('tell the parameters with types, defaults and a command to type', async () => {
    const { stdout } = await planfold('template', 'show', 'staged-rollout', '--parameters')
    expect(stdout).toMatch(/^soak +duration, at least 1m +"1h" /m)
    expect(stdout).toMatch(/^service +string +required /m)
    expect(stdout).toContain('planfold template new staged-rollout --set service=notes-api')
    expect(stdout).not.toContain('planfold-template: 2')
    expect((await planfold('template', 'show', 'staged-rollout')).stdout).toContain('planfold-template: 2')
    const shown = await data('template', 'show', 'debug', '--parameters')
    expect(shown.parameters[0]).toMatchObject({ name: 'symptom', type: 'string', required: true })
    expect(shown.text).toBeUndefined()
  })

  it('never leave the folder: a name is a name, and a link is not followed', async () => {
    await writeFile(join(folder, 'secret.yaml'), OWN)
    for (const name of ['../secret', '../../secret', '/etc/passwd', '.', '', 'a/b', '..%2fsecret'])
      expect((await planfold('template', 'show', name)).code, name).toBe('not-found')
    await own('mine.yaml', OWN)
    await symlink(join(folder, 'secret.yaml'), join(folder, '.planfold/templates/linked.yaml'))
    expect((await planfold('template', 'show', 'linked')).code).toBe('not-found')
    expect((await planfold('template', 'show', 'minee')).stderr).toContain("did you mean 'mine'?")
  })
})

describe('template new', () => {
  it('lists everything that is missing or wrong at once, with types and a command that would do', async () => {
    const said = await planfold('template', 'new', 'staged-rollout', '--set', 'soak=soon', '--set', 'stagez=1')
    expect(said.exit).toBe(EXIT.usage)
    expect(said.stderr).toContain("there is no parameter 'stagez'; did you mean 'stages'?")
    expect(said.stderr).toContain("'soak': 'soon' is not a duration")
    for (const name of ['service', 'version', 'previous']) expect(said.stderr).toContain(`  ${name} (string): `)
    expect(said.stderr).toContain("5 values are missing or wrong for the template 'staged-rollout'")
    const example = /for instance: planfold (.*)/.exec(said.stderr)![1]!.split(' ')
    expect((await planfold(...example)).exit).toBe(0)
    expect(await readFile(join(folder, 'plan.yaml'), 'utf8')).toContain('name: staged-rollout')
  })

  it('writes to standard output, or to a file, never over one that is there', async () => {
    await own('mine.yaml', OWN)
    const who = `Ana "; rm -rf / \${{ x }}`
    const { stdout } = await planfold('template', 'new', 'mine', '--set', `who=${who}`)
    expect(stdout).toContain('name: mine')
    expect((await planfold('template', 'new', 'mine', '--set', 'who=a', '-o', 'greet-ana.yaml')).exit).toBe(0)
    expect(await readFile(join(folder, 'greet-ana.yaml'), 'utf8')).toContain('name: greet-ana')
    expect((await planfold('template', 'new', 'mine', '--set', 'who=b', '-o', 'greet-ana.yaml')).code).toBe('exists')
    expect(
      (await planfold('template', 'new', 'mine', '--set', 'who=b', '-o', 'greet-ana.yaml', '-f', '--name', 'other'))
        .exit,
    ).toBe(0)
    expect(await readFile(join(folder, 'greet-ana.yaml'), 'utf8')).toMatch(/name: other[\s\S]*hello b/)
    expect((await planfold('template', 'new', 'mine', '--set', 'who=b', '-o', 'no/such/x.yaml')).code).toBe('usage')
    expect((await planfold('template', 'new', 'mine', '--set', 'who=b', '--name', '../x')).code).toBe('usage')
    expect((await planfold('template', 'new', 'mine', '--set', 'who=b', '--set', 'who=c')).stderr).toContain(
      'given twice',
    )
    expect((await planfold('template', 'new', 'mine', '--set', 'who')).code).toBe('usage')
  })

  it('takes lists as JSON, item by item or from a file, and text from a file', async () => {
    await writeFile(join(folder, 'files.txt'), 'src/a.ts\n\nsrc/b.ts\n')
    await writeFile(join(folder, 'goal.txt'), 'Better\n')
    const base = ['template', 'new', 'multi-file-refactor', '--set-file', 'goal=goal.txt']
    const twice = await data(...base, '--set', 'files=src/a.ts', '--set', 'files=src/b.ts')
    expect(await data(...base, '--set', 'files=["src/a.ts","src/b.ts"]')).toEqual(twice)
    expect(await data(...base, '--set-file', 'files=files.txt')).toEqual(twice)
    expect(twice.text).toContain('title: Better\n')
    expect(twice.tasks).toBe(8)
    expect((await planfold(...base, '--set', 'files=[')).stderr).toContain('is not JSON')
    expect((await planfold(...base, '--set', 'files=../up')).stderr).toContain('not a path inside the workspace')
    expect((await planfold(...base, '--set-file', 'files=gone.txt')).stderr).toContain("there is no file 'gone.txt'")
  })

  it('tells faults of the template with file, line, column, the text and a hint', async () => {
    await own('mine.yaml', OWN.replace('hello ${{ params.who }}', 'hello ${{ params.whom }}'))
    const said = await planfold('template', 'new', 'mine', '--set', 'who=a')
    expect(said.code).toBe('invalid-template')
    expect(said.stderr).toContain("there is no parameter 'whom'")
    expect(said.stderr).toContain("did you mean 'params.who'?")
  })

  it('runs the plan at once when asked, and the value is one argument', async () => {
    await own('mine.yaml', OWN)
    const said = await planfold('template', 'new', 'mine', '--set', 'who=$(id); `id`', '--run')
    expect(said.exit).toBe(0)
    expect(said.stdout + said.stderr).toContain('hello $(id); `id`')
    expect(await readFile(join(folder, 'mine.yaml'), 'utf8')).toContain('template:')
  })
})

describe('template save', () => {
  const PLAN = `planfold: 1
name: hello
title: Greet world
tasks:
  - { id: greet, run: [echo, hello world], effect: pure, deadline: 2026-01-31 }
`
  it('keeps a plan that completed, without what belongs to that run, for other values', async () => {
    await writeFile(join(folder, 'hello.yaml'), PLAN)
    await planfold('run', 'hello.yaml')
    const said = await planfold('template', 'save', 'hello', '--name', 'greet', '--parameter', 'whom=world')
    expect(said).toMatchObject({ exit: 0, stderr: "note: the deadline 2026-01-31 of 'greet' is left out\n" })
    const text = await readFile(join(folder, '.planfold/templates/greet.yaml'), 'utf8')
    expect(text).toContain('title: Greet ${{ params.whom }}')
    expect(text).not.toMatch(/2026|status|completed/)
    const made = await data('template', 'new', 'greet', '--set', 'whom=Ana')
    expect(made.text).toMatch(/- hello Ana\n/)
  })

  it('warns when the plan did not complete or was never run, and never writes over a template unasked', async () => {
    await writeFile(join(folder, 'hello.yaml'), PLAN)
    expect((await planfold('template', 'save', 'hello.yaml', '--name', 'greet')).stderr).toContain(
      'nobody knows whether it works',
    )
    await planfold('import', 'hello.yaml')
    expect((await planfold('template', 'save', 'hello', '--name', 'greet')).code).toBe('exists')
    const said = await planfold('template', 'save', 'hello', '--name', 'greet', '--replace')
    expect(said.stderr).toContain("the plan 'hello' is draft, not completed")
    expect((await planfold('template', 'save', 'hello')).stderr).toContain('--name NAME')
    for (const name of ['../up', 'a/b', 'A b'])
      expect((await planfold('template', 'save', 'hello', '--name', name)).code, name).toBe('usage')
    expect((await planfold('template', 'save', 'hello', '--name', 'x', '--parameter', 'a=nowhere')).code).toBe('usage')
  })
})
