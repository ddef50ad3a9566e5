// The version of an agent is that of its own package, or not known: never that of a project it lies in.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agentMissing, listAgents, resolveProgram } from './find-agent.ts'
import { stockRows } from './known-agents.ts'

function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'pf-find-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text, { mode: 0o755 })
  }
  mkdirSync(join(folder, 'bin'))
  write('package.json', '{"name":"some-project","version":"0.1.0"}')
  const place = {
    environment: { PATH: join(folder, 'bin') },
    root: join(folder, 'elsewhere'),
    stateDir: join(folder, 'elsewhere/.planfold'),
  }
  const grok = async () => (await listAgents(place)).find(({ name }) => name === 'grok')
  return { folder, write, grok, link: (to: string) => symlinkSync(join(folder, to), join(folder, 'bin/grok')) }
}

test('a program that lies in somebody’s project has no version of that project', async () => {
  const { write, grok } = setup()
  write('bin/grok', '')
  expect(await grok()).toMatchObject({ status: 'other-version', version: null })
})

test('a program in an npm package has the version of that package, also from deep inside and of one for this platform', async () => {
  const { write, grok, link } = setup()
  write(
    'node_modules/@xai-official/grok-linux-x64/package.json',
    '{"name":"@xai-official/grok-linux-x64","version":"1.0.41"}',
  )
  write('node_modules/@xai-official/grok-linux-x64/dist/package.json', '{"type":"module","version":"0.0.0"}')
  write('node_modules/@xai-official/grok-linux-x64/dist/bin/grok', '')
  link('node_modules/@xai-official/grok-linux-x64/dist/bin/grok')
  expect(await grok()).toMatchObject({ status: 'installed', version: '1.0.41' })
})

test('a checkout of the agent itself has its version', async () => {
  const { write, grok, link } = setup()
  write('src/grok/package.json', '{"name":"@xai-official/grok","version":"1.0.42"}')
  write('src/grok/bin/grok', '')
  link('src/grok/bin/grok')
  expect(await grok()).toMatchObject({ status: 'other-version', version: '1.0.42' })
})

test('a sandbox is shown every folder on the way from a link to the program', () => {
  const { folder, write, link } = setup()
  write('versions/grok-1', '')
  mkdirSync(join(folder, 'shims'))
  symlinkSync(join(folder, 'versions/grok-1'), join(folder, 'shims/grok'))
  link('shims/grok')
  const place = { environment: { PATH: join(folder, 'bin') }, root: join(folder, 'elsewhere') }
  expect(resolveProgram(place, 'grok')?.folders).toEqual(['bin', 'shims', 'versions'].map(name => join(folder, name)))
})

test('an agent that is missing is told with every program that would do, and the packages they come in', () => {
  const rowOf = (name: string) => stockRows().find(row => row.name === name)!
  expect(agentMissing(rowOf('claude'))).toEqual({
    message: "Claude Code is not installed: 'claude-agent-acp' or 'claude' is not on PATH",
    hint: 'npm install -g @agentclientprotocol/claude-agent-acp, or @anthropic-ai/claude-code',
  })
  expect(agentMissing(rowOf('gemini')).message).toBe("Gemini CLI is not installed: 'gemini' is not on PATH")
})

test('a row that names a program in the workspace, also through a link, starts nothing', async () => {
  const { folder, write } = setup()
  write('elsewhere/bin/mine', '')
  symlinkSync(join(folder, 'elsewhere/bin/mine'), join(folder, 'bin/linked'))
  write('bin/own', '')
  const row = (name: string, program: string) => `${name}: { command: [${join(folder, program)}] }`
  mkdirSync(join(folder, 'config/planfold'), { recursive: true })
  const rows = [row('inside', 'elsewhere/bin/mine'), row('linked', 'bin/linked'), row('own', 'bin/own')].join(', ')
  writeFileSync(join(folder, 'config/planfold/agents.yaml'), `agents: { ${rows} }`, { mode: 0o600 })
  const root = join(folder, 'elsewhere')
  const place = { environment: { XDG_CONFIG_HOME: join(folder, 'config') }, root, stateDir: join(root, '.planfold') }
  const own = (await listAgents(place)).filter(({ from }) => from === 'user')
  expect(own.map(({ name, status }) => [name, status])).toEqual([
    ['inside', 'missing'],
    ['linked', 'missing'],
    ['own', 'installed'],
  ])
})
