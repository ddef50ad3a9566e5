// A deploy script that needs the person's home, git and key: it runs by itself in a plan of their own, and is held when others bring it.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, onTestFinished, test } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { MAIN } from './planfold.fixture.ts'

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok) console.log(`what others wrote is refused here, not held: ${standing.failure.message}`)

/** Publishes with a key of the home, commits and pushes, and leaves a file in /tmp. */
const SCRIPT = `set -eu
cat "$HOME/.ssh/deploy_key" > "$SERVED/key"
echo released > "$SERVED/site"
git commit -q --allow-empty -m released
git push -q origin HEAD
`

const OWN = 'planfold: 1\nname: ship\ntasks: [{ id: deploy, run: sh deploy.sh }]\n'

function world(more: { readonly [name: string]: string } = {}) {
  const top = mkdtempSync(join(tmpdir(), 'planfold-deploy-'))
  onTestFinished(() => rmSync(top, { recursive: true, force: true }))
  const [home, root, served, bare] = ['home', 'work', 'served', 'bare'].map(name => join(top, name)) as [
    string,
    string,
    string,
    string,
  ]
  for (const folder of [join(home, '.ssh'), root, served]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(home, '.ssh/deploy_key'), 'the key')
  const env = { PATH: process.env.PATH ?? '', HOME: home, PLANFOLD_AS: 'ana@example.com', ...more }
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.com', ...args], { cwd: root, env })
  git('init', '-q')
  git('config', 'user.name', 'Ana')
  git('config', 'user.email', 'ana@example.com')
  git('init', '-q', '--bare', bare)
  git('remote', 'add', 'origin', bare)
  writeFileSync(join(root, 'deploy.sh'), SCRIPT.replaceAll('$SERVED', served))
  git('add', '.')
  git('commit', '-qm', 'first')
  const planfold = (...args: readonly string[]) => {
    try {
      return { exit: 0, said: execFileSync(process.execPath, [MAIN, ...args], { cwd: root, env, encoding: 'utf8' }) }
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: string }
      return { exit: status, said: stdout }
    }
  }
  const pushed = () => execFileSync('git', ['log', '--all', '--format=%s'], { cwd: bare, encoding: 'utf8' })
  const runs = (plan: string) => {
    const { tasks } = (JSON.parse(planfold('show', plan, '--json').said) as { data: { tasks: readonly Card[] } }).data
    return Object.fromEntries(tasks.map(({ name, runs, status }) => [name, `${runs}, ${status}`]))
  }
  return { root, served, env, planfold, pushed, runs, isDeployed: () => existsSync(join(served, 'site')) }
}

interface Card {
  readonly name: string
  readonly runs: string | null
  readonly status: string
}

test('in a plan of the person’s own it runs as they would run it', () => {
  const here = world()
  writeFileSync(join(here.root, 'p.yaml'), OWN)
  expect(here.planfold('run', 'p.yaml').exit).toBe(0)
  expect(here.runs('ship')).toEqual({ deploy: 'as you, completed' })
  expect(readFileSync(join(here.served, 'key'), 'utf8')).toBe('the key')
  expect(here.pushed()).toContain('released')
})

test('in a plan that was imported it is held, also after an approval: nothing is deployed', () => {
  const here = world()
  const steps = [{ id: 'deploy', tool: 'bash', params: { command: 'sh deploy.sh' } }]
  writeFileSync(join(here.root, 'p.json'), JSON.stringify({ name: 'ship', tools: 'run', steps }))
  expect(here.planfold('run', 'p.json').exit).toBe(4)
  expect(here.planfold('approve', 'ship', 'allow-steps').exit).toBe(0)
  expect(here.planfold('resume', 'ship').exit).toBe(1)
  expect(here.runs('ship')).toMatchObject({ deploy: 'held, failed' })
  expect([here.isDeployed(), here.pushed()]).toEqual([false, ''])
})

test('in the shell of an agent, a plan file is the agent’s word, and held', () => {
  const here = world({ CLAUDECODE: '1' })
  writeFileSync(join(here.root, 'p.yaml'), OWN)
  expect(here.planfold('run', 'p.yaml').exit).toBe(1)
  expect(here.runs('ship')).toEqual({ deploy: 'held, failed' })
  expect([here.isDeployed(), here.pushed()]).toEqual([false, ''])
})

test('added by an agent over MCP to a plan of the person’s, it is held, and the person’s own task is not', async () => {
  const here = world()
  const plan = [
    'planfold: 1',
    'name: ship',
    'tasks:',
    '  - { id: first, run: "true" }',
    '  - { id: wait, gate: approval }',
  ]
  writeFileSync(join(here.root, 'p.yaml'), `${plan.join('\n')}\n`)
  expect(here.planfold('run', 'p.yaml').exit).toBe(4)
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp'],
    cwd: here.root,
    env: here.env,
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const tasks = [{ id: 'deploy', run: 'sh deploy.sh' }]
  const { content } = await client.callTool({ name: 'plan_write', arguments: { action: 'edit', plan: 'ship', tasks } })
  expect(JSON.stringify(content)).toContain('deploy')
  here.planfold('resume', 'ship')
  expect(here.runs('ship')).toMatchObject({ first: 'as you, completed', deploy: 'held, failed' })
  expect([here.isDeployed(), here.pushed()]).toEqual([false, ''])
})
