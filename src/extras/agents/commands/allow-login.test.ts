// `agents allow`: what is said before a login is lent, who may say yes, and how it is taken back.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logPolicy } from '../../../cli/commands/policy/policy.ts'
import { newPlace, type PlaceOptions } from '../../../cli/place.fixture.ts'
import { type AllowOptions, allowLogin, listAgents } from './agents.ts'

async function setup() {
  const place = await newPlace()
  const config = mkdtempSync(join(tmpdir(), 'planfold-config-'))
  onTestFinished(async () => {
    await place.remove()
    rmSync(config, { recursive: true, force: true })
  })
  const environment = { XDG_CONFIG_HOME: config }
  const options = (more: PlaceOptions = {}) => ({ ...more, environment: { ...environment, ...more.environment } })
  const allow = (agent: 'claude' | 'opencode', said: AllowOptions, more?: PlaceOptions) =>
    place.say(context => allowLogin(context, agent, said), options(more))
  const file = () => JSON.parse(readFileSync(join(config, 'planfold/policy.json'), 'utf8'))
  const list = async () => {
    const { stdout } = await place.say(listAgents, options({ json: true }))
    const { agents } = JSON.parse(stdout).data as { agents: { name: string; login: string | null }[] }
    return Object.fromEntries(agents.map(({ name, login }) => [name, login]))
  }
  return { place, config, options, allow, file, list }
}

test('a login is lent only with a person’s yes, after the risk was said; it is listed, on record, and taken back', async () => {
  const { place, allow, file, list, options } = await setup()
  expect(await list()).toMatchObject({ claude: 'possible', opencode: null })
  expect(await allow('claude', {})).toMatchObject({ exit: 'usage' })
  const nobody = await allow('claude', { login: true })
  expect(nobody).toMatchObject({ exit: 'not-confirmed' })
  expect(nobody.stderr).toContain('nobody is at a terminal')
  expect(await allow('claude', { login: true }, { keys: 'n' })).toMatchObject({
    exit: 0,
    stderr: expect.stringContaining('nothing was allowed'),
  })
  expect(file).toThrow()
  const yes = await allow('claude', { login: true }, { keys: 'y' })
  expect(yes).toMatchObject({ exit: 0 })
  for (const said of [/your real login, ~\/\.claude\/\.credentials\.json, inside its sandbox/, /not counted, capped/])
    expect(yes.stderr).toMatch(said)
  expect(yes.stderr).toContain('shown as reported')
  expect(file()).toEqual({ agent_logins: ['claude'] })
  expect(await list()).toMatchObject({ claude: 'lent', grok: 'possible' })
  expect((await place.say(listAgents, options())).stdout).toMatch(/claude .*your login, not counted/)
  expect((await allow('claude', { login: true, yes: true }, { json: true })).stdout).toContain('"changed":false')
  expect(await allow('claude', { login: false })).toMatchObject({ exit: 0 })
  expect(file()).toEqual({})
  expect((await place.say(logPolicy, options())).stdout).toMatch(/allow login +claude[\s\S]*remove login +claude/)
})

test('no task, no agent, and nobody whom the organisation forbids it lends a login', async () => {
  const { config, allow } = await setup()
  const said = { login: true, yes: true } as const
  for (const [name, value] of [
    ['PLANFOLD_KEY', 'p/t/1'],
    ['CLAUDECODE', '1'],
  ] as const)
    expect(await allow('claude', said, { environment: { [name]: value } })).toMatchObject({ exit: 'policy' })
  expect(await allow('opencode', said)).toMatchObject({
    exit: 'invalid',
    stderr: expect.stringContaining('cannot use your login'),
  })
  const policy = join(config, 'organisation/policy.yaml')
  mkdirSync(join(config, 'organisation'))
  writeFileSync(policy, 'data: { logins: deny }\n')
  chmodSync(policy, 0o644)
  const environment = { PLANFOLD_ORGANISATION_POLICY: policy }
  const refused = await allow('claude', said, { environment })
  expect(refused).toMatchObject({ exit: 'policy', stderr: expect.stringContaining('data.logins: deny') })
})
