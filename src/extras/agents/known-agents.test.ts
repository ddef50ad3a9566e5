// Who can add an agent: only the person, in a file that is theirs alone.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isStartable } from './agent-settings.ts'
import { knownAgents, stockRows, unknownAgent } from './known-agents.ts'

const STOCK = ['claude', 'codex', 'opencode', 'gemini', 'copilot', 'grok', 'qwen', 'kimi', 'pi', 'cline']

function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'pf-known-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const root = join(folder, 'work')
  const file = join(folder, 'config/planfold/agents.yaml')
  mkdirSync(join(root, '.planfold'), { recursive: true })
  mkdirSync(join(folder, 'config/planfold'), { recursive: true })
  const place = { root, stateDir: join(root, '.planfold'), environment: { XDG_CONFIG_HOME: join(folder, 'config') } }
  const known = async () => {
    const { rows, faults } = await knownAgents(place)
    return { names: rows.map(({ name }) => name), faults: faults.map(({ message }) => message) }
  }
  const write = (text: string, mode = 0o600) => writeFileSync(file, text, { mode })
  return { folder, root, file, place, known, write }
}

test('those that come with Planfold are ten, and each says what was tried', async () => {
  expect(await setup().known()).toEqual({ names: STOCK, faults: [] })
  for (const row of stockRows().filter(isStartable))
    expect({ ...row, tested: row.tested !== null }).toMatchObject({ tested: true, from: 'planfold' })
})

test('a row of the person is one more; one with the name of ours takes its place, also while it is wrong', async () => {
  const { known, write, place, file } = setup()
  write('agents: { mine: { command: [a] }, pi: { command: [b], title: Mine } }')
  expect(await known()).toEqual({ names: [...STOCK.filter(name => name !== 'pi'), 'mine', 'pi'], faults: [] })
  write('agents: { mine: { command: [a] }, pi: { comand: [b] } }')
  const { names, faults } = await known()
  expect(names).toEqual([...STOCK.filter(name => name !== 'pi'), 'mine'])
  expect(faults).toEqual([`${file}:1:41: unknown key 'comand'`])
  expect(unknownAgent('pi', await knownAgents(place))).toEqual({
    message: `the agent 'pi' cannot be used: ${file}:1:41: unknown key 'comand'`,
    hint: "did you mean 'command'?",
  })
})

test('a file that others may read or change is not used, and neither is one in the workspace', async () => {
  const { known, write, place, root } = setup()
  write('agents: { mine: { command: [a] } }', 0o644)
  expect(await known()).toEqual({ names: STOCK, faults: [expect.stringContaining('may be read or changed by others')] })
  const inside = { ...place, environment: { XDG_CONFIG_HOME: root } }
  mkdirSync(join(root, 'planfold'))
  writeFileSync(join(root, 'planfold/agents.yaml'), 'agents: { mine: { command: [a] } }', { mode: 0o600 })
  const { rows, faults } = await knownAgents(inside)
  expect(rows).toHaveLength(10)
  expect(faults).toMatchObject([{ message: expect.stringContaining('is in the workspace, and is not used') }])
})

test('a file of that name in the workspace is spoken of, unless it is one of another tool', async () => {
  const { known, root } = setup()
  writeFileSync(join(root, 'agents.yaml'), 'researcher:\n  role: x\n')
  expect((await known()).faults).toEqual([])
  for (const path of ['agents.yaml', '.planfold/agents.yaml'])
    writeFileSync(join(root, path), 'agents: { mine: { command: [a] } }')
  const { names, faults } = await known()
  expect(names).toEqual(STOCK)
  expect(faults).toEqual([
    `'${join(root, 'agents.yaml')}' is not read: a workspace cannot add an agent`,
    `'${join(root, '.planfold/agents.yaml')}' is not read: a workspace cannot add an agent`,
  ])
})
