// `install` and `prime` on the command line: what is shown and asked, and hooks that never break somebody's agent.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../../../cli/commands/plans/run.ts'
import { newPlace, type Place } from '../../../cli/place.fixture.ts'
import { install } from './install.ts'
import { prime } from './prime.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
  mkdirSync(join(place.folder, '.git'))
})
afterEach(() => place.remove())

const hook = { format: 'claude-hook' } as const
const contextOf = (stdout: string): string => {
  const { hookSpecificOutput, ...rest } = JSON.parse(stdout)
  expect(rest).toEqual({})
  expect(hookSpecificOutput.hookEventName).toBe('SessionStart')
  return hookSpecificOutput.additionalContext
}

const PLAN = `planfold: 1
name: small
goal: A small thing
tasks:
  - id: first
    title: Do it
`

const GEMINI_HOOK = { type: 'command', command: 'planfold prime --format gemini-hook || true' }

test('install shows what it would write, and asks', async () => {
  const before = await place.hash()
  const shown = await place.say(context => install(context, 'gemini', { dryRun: true }))
  expect(shown).toMatchObject({ exit: 0 })
  expect(shown.stdout).toContain('create .gemini/settings.json\n')
  expect(shown.stdout).toContain('  +    "planfold": {\n')
  expect(shown.stdout).toContain('1 file would be written')
  const nobody = await place.say(context => install(context, 'gemini', {}))
  expect(nobody).toMatchObject({ exit: 'not-confirmed' })
  expect(nobody.stderr).toContain('nobody is at a terminal')
  const no = await place.say(context => install(context, 'gemini', {}), { keys: 'n' })
  expect(no).toMatchObject({ exit: 0, stderr: expect.stringMatching(/nothing was changed\n$/) })
  expect(await place.hash()).toBe(before)
  const yes = await place.say(context => install(context, 'gemini', {}), { keys: 'y' })
  expect(yes).toMatchObject({ exit: 0 })
  expect(yes.stderr).toContain('Make this change? [y/N] y')
  expect(JSON.parse(await place.read('.gemini/settings.json'))).toEqual({
    mcpServers: { planfold: { command: 'planfold', args: ['mcp'] } },
    hooks: { SessionStart: [{ hooks: [{ ...GEMINI_HOOK, name: 'planfold', timeout: 15_000 }] }] },
  })
  const gone = await place.say(context => install(context, 'gemini', { uninstall: true, yes: true }))
  expect(gone.stdout).toContain('removed from Gemini CLI: 1 file changed back or deleted\n')
  expect(readdirSync(place.folder)).toEqual(['.git'])
})

test('Codex says that the hook must be trusted, Cursor that nobody has tested it', async () => {
  const codex = await place.say(context => install(context, 'codex', { yes: true, user: true }))
  expect(codex.stdout).toContain('you must now trust it in Codex')
  expect(await place.read('.codex/config.toml')).toContain(
    '[mcp_servers.planfold]\ncommand = "planfold"\nargs = ["mcp"]\n',
  )
  const cursor = await place.say(context => install(context, 'cursor', { yes: true }))
  expect(cursor.stdout).toContain('Cursor was not tested')
})

test('an agent that no row says how to install is refused, with those that can be', async () => {
  await expect(place.say(context => install(context, 'vim', {}))).resolves.toMatchObject({
    exit: 'usage',
    stderr: "unknown agent 'vim'",
  })
  await expect(place.say(context => install(context, 'grok', {}))).resolves.toMatchObject({ exit: 'usage' })
})

test('a file that cannot be changed is named, and nothing is written', async () => {
  await place.write('opencode.json', '{ "mcp": { "planfold": 1 } }')
  const before = await place.hash()
  const refused = await place.say(context => install(context, 'opencode', { yes: true }))
  expect(refused).toMatchObject({ exit: 'refused' })
  expect(refused.stderr).toBe(
    `${join(place.folder, 'opencode.json')} has 'mcp.planfold' already, not made by Planfold; remove it first`,
  )
  expect(await place.hash()).toBe(before)
})

test('as JSON it says what it changed, and asks nobody', async () => {
  const said = await place.say(context => install(context, 'claude', { yes: true }), { json: true })
  expect(JSON.parse(said.stdout).data).toMatchObject({ agent: 'claude', scope: 'project', tested: true, written: true })
  const plugin = join(place.folder, '.claude/skills/planfold')
  expect(readdirSync(plugin).sort()).toEqual(['.claude-plugin', '.mcp.json', 'hooks'])
  const hooks = JSON.parse(await place.read('.claude/skills/planfold/hooks/hooks.json'))
  expect(hooks.hooks.SessionStart[0].matcher).toBe('startup|resume|clear|compact')
  expect(JSON.parse(await place.read('.claude/skills/planfold/.mcp.json')).mcpServers.planfold.alwaysLoad).toBe(true)
})

test('a hook without a plan, without a state or with a damaged one ends well, and says one line', async () => {
  const none = await place.say(context => prime(context, undefined, hook))
  expect(none).toMatchObject({ exit: 0, stderr: '' })
  expect(contextOf(none.stdout)).toBe('Planfold: no plan is open in this folder.')
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
  await place.write('plan.yaml', PLAN)
  await place.say(context => run(context, 'plan.yaml', { start: true }))
  const told = await place.say(context => prime(context, undefined, hook))
  expect(contextOf(told.stdout)).toContain('Next task (not claimed yet: claim it before you begin):\n- first: Do it')
  const unknown = await place.say(context => prime(context, 'nope', { format: 'codex-hook' }))
  expect(contextOf(unknown.stdout)).toBe("Planfold: there is no plan 'nope'.")
  writeFileSync(
    join(place.folder, '.planfold/planfold.db'),
    'no database at all, and long enough to be one'.repeat(200),
  )
  const damaged = await place.say(context => prime(context, undefined, hook))
  expect(damaged).toMatchObject({ exit: 0, stderr: '' })
  expect(contextOf(damaged.stdout)).toMatch(
    /^Planfold: the plan of this folder cannot be read \(.*\)\. Tell the person;/,
  )
  expect(contextOf(damaged.stdout)).not.toContain('\n')
})

test('as text it prints the plan, and for people nothing to print is an error', async () => {
  await expect(place.say(context => prime(context, undefined, { format: 'text' }))).rejects.toThrow('no Planfold state')
  await place.write('plan.yaml', PLAN)
  await place.say(context => run(context, 'plan.yaml', { start: true }))
  const before = await place.hash()
  const said = await place.say(context => prime(context, undefined, { format: 'text' }))
  expect(said.stdout).toContain('goal: A small thing\n')
  expect(said.stdout).toContain('plan_write changes it')
  const json = await place.say(context => prime(context, 'small', { format: 'text' }), { json: true })
  expect(JSON.parse(json.stdout).data).toMatchObject({ name: 'small', current: { standing: 'next', task: 'first' } })
  expect(await place.say(context => prime(context, 'nope', { format: 'text' }))).toMatchObject({ exit: 'not-found' })
  expect(await place.say(context => prime(context, undefined, { format: 'text', maxTokens: 100 }))).toMatchObject({
    exit: 'usage',
  })
  // Only looked at.
  expect(await place.hash()).toBe(before)
})
