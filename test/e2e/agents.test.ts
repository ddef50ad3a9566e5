// Planfold in coding agents, as they would run it: the hook of the plugin for Claude Code in a shell, the plugin for opencode as a module.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

let here: Place
const path = process.env.PATH
beforeEach(async () => {
  here = await place()
})
afterEach(async () => {
  process.env.PATH = path
  await here.remove()
})

test('what was installed tells an agent its task, and is taken away again', async () => {
  await here.write(
    'plan.yaml',
    'planfold: 1\nname: small\ngoal: A small thing\ntasks:\n  - { id: first, title: Do it, write: [src/**] }\n',
  )
  await here.planfold('run', 'plan.yaml')
  const before = await here.files()
  for (const agent of ['claude', 'opencode'])
    expect(await here.planfold('agents', 'install', agent, '--yes')).toMatchObject({ exit: 0, stderr: '' })
  await here.planfold('claim', 'small', 'first', '--as', 'claude-code/01234567')

  const bin = join(here.folder, '.planfold/bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'planfold'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(join(bin, 'planfold'), 0o755)
  const hooks = JSON.parse(readFileSync(join(here.folder, '.claude/skills/planfold/hooks/hooks.json'), 'utf8'))
  const hook = (hook_event_name: string, more: object, PATH: string): string => {
    const [{ command }] = hooks.hooks[hook_event_name][0].hooks
    const input = JSON.stringify({ hook_event_name, session_id: '0123456789abcdef', cwd: here.folder, ...more })
    const options = { cwd: here.folder, input, env: { PATH, HOME: here.folder }, stdio: 'pipe' } as const
    // A hook that needs no input may end before it is written: EPIPE here, and no failure of the hook.
    const { status, stdout } = spawnSync('sh', ['-c', command], options)
    expect(status).toBe(0)
    return stdout.toString()
  }
  const found = `${bin}:${path}`
  const told = JSON.parse(hook('SessionStart', { source: 'compact' }, found)).hookSpecificOutput
  expect(told.additionalContext).toContain('Your task (claimed by you):\n- first: Do it')
  const write = (file_path: string) => ({ tool_name: 'Write', tool_input: { file_path, content: '' } })
  const denied = JSON.parse(hook('PreToolUse', write(join(here.folder, 'docs/a.md')), found)).hookSpecificOutput
  expect(denied).toEqual({
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: expect.stringContaining("is outside what 'first' of plan 'small' may write (src/**)"),
  })
  expect(hook('PreToolUse', write(join(here.folder, 'src/a.ts')), found)).toBe('')
  // Where Planfold is not there, the agent works all the same.
  for (const event of ['SessionStart', 'PreToolUse']) expect(hook(event, write('docs/a.md'), '/usr/bin:/bin')).toBe('')

  process.env.PATH = `${bin}:${path}`
  const { Planfold } = await import(pathToFileURL(join(here.folder, '.opencode/plugin/planfold.js')).href)
  const plugin = await Planfold({ directory: here.folder })
  const output = { system: ['You are an agent.'] }
  await plugin['experimental.chat.system.transform']({}, output)
  expect(output.system).toEqual(['You are an agent.', expect.stringContaining('goal: A small thing')])

  for (const agent of ['opencode', 'claude'])
    expect(await here.planfold('agents', 'install', agent, '--uninstall', '--yes')).toMatchObject({ exit: 0 })
  expect((await here.files()).filter(file => !file.startsWith('.planfold'))).toEqual(
    before.filter(file => !file.startsWith('.planfold')),
  )
})
