import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { userNetworkRules } from '../../../safety/network/user-rules.ts'
import { newPlace, type Said } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { allow, change, remove, showPolicy } from './policy.ts'

let place: Awaited<ReturnType<typeof newPlace>>
let other: Awaited<ReturnType<typeof newPlace>>
let config: string
beforeEach(async () => {
  place = await newPlace()
  other = await newPlace()
  config = await mkdtemp(join(tmpdir(), 'planfold-config-'))
})
afterEach(async () => {
  await place.remove()
  await other.remove()
  await rm(config, { recursive: true, force: true })
})

const file = () => join(config, 'planfold', 'policy.json')
const environment = () => ({ XDG_CONFIG_HOME: config })
const options = () => ({ json: true, environment: environment() })
const shown = (said: Said) => JSON.parse(said.stdout).data.network
const rules = (folder: string) =>
  userNetworkRules({ environment: environment(), root: folder, stateDir: join(folder, '.planfold') })

describe('rules of the person', () => {
  it('hold everywhere, or in one workspace, and are taken back', async () => {
    expect(await place.say(context => allow(context, 'https://a.example', {}), options())).toMatchObject({ exit: 0 })
    await place.say(context => allow(context, 'tcp://127.0.0.1:5432', { project: true }), options())
    expect(shown(await place.say(showPolicy, options()))).toEqual([
      { rule: 'https://a.example', from: 'user' },
      { rule: 'tcp://127.0.0.1:5432', from: 'project' },
    ])
    expect(shown(await other.say(showPolicy, options()))).toEqual([{ rule: 'https://a.example', from: 'user' }])
    expect(await rules(place.folder)).toEqual(['https://a.example', 'tcp://127.0.0.1:5432'])
    expect((await stat(file())).mode & 0o777).toBe(0o600)
    await place.say(context => remove(context, 'https://a.example', {}), options())
    await place.say(context => remove(context, 'tcp://127.0.0.1:5432', { project: true }), options())
    expect(await readFile(file(), 'utf8')).toBe('{}\n')
    expect(await rules(place.folder)).toEqual([])
  })

  it('are told in words', async () => {
    const say = (body: Parameters<typeof place.say>[0]) => place.say(body, { environment: environment() })
    expect((await say(showPolicy)).stdout).toBe(
      [
        'no policy files, and no rules of yours. The defaults apply:',
        '  sandbox   preferred: commands run in a sandbox where there is one',
        '  network   tasks without `network` reach any address',
        '  approval  risky tasks wait for a person',
        'Add a rule: planfold policy allow network ADDRESS',
        '',
      ].join('\n'),
    )
    expect((await say(context => allow(context, 'a.example', {}))).stdout).toBe(
      'allowed a.example (ports 80 and 443) in all workspaces\n',
    )
    expect((await say(context => allow(context, 'a.example', {}))).stdout).toBe(
      'a.example (ports 80 and 443) in all workspaces was allowed already\n',
    )
    const meant = async (address: string) => (await say(context => allow(context, address, { project: true }))).stdout
    expect(await meant('*.b.example:8443')).toContain('*.b.example:8443 (every host below it, port 8443) in')
    expect(await meant('*')).toContain('allowed * (every host and port) in')
    expect(await meant('https://c.example')).toContain('allowed https://c.example in')
    expect((await say(showPolicy)).stdout).toMatch(/network +a\.example +allowed by you, all workspaces/)
    expect((await say(context => remove(context, 'a.example', {}))).stdout).toBe(
      'removed a.example for all workspaces\n',
    )
    const command = async (how: 'deny' | 'remove') =>
      (await say(context => change(context, how, 'command', ['sudo', '**'], {}))).stdout
    expect(await command('deny')).toBe("'sudo **' is denied for plans that start from now on\n")
    expect(await command('deny')).toBe("'sudo **' was denied already\n")
    expect(await command('remove')).toBe("removed the rule 'sudo **'\n")
  })

  it('are shown beside those of a plan', async () => {
    await place.write(
      'p.yaml',
      'planfold: 1\nname: p\npolicy: { network: { allow: [b.example], unknown: ask } }\ntasks: [{ id: a, network: [] }, { id: b }]\n',
    )
    await place.say(context => run(context, 'p.yaml', { start: false }), { environment: environment() })
    await place.say(context => allow(context, 'a.example', {}), options())
    const { stdout } = await place.say(context => showPolicy(context, 'p'), { environment: environment() })
    expect(stdout.split('\n').map(line => line.trim().split(/ {2,}/))).toEqual([
      ['what', 'rule', 'where'],
      ['network', 'b.example', 'the plan'],
      ['network', 'others when a person allows them', 'the plan'],
      ['network', 'nothing', 'task a'],
      ['network', 'a.example', 'allowed by you, all workspaces'],
      [''],
    ])
  })

  it('that cannot be read, or are not there, are refused with a hint', async () => {
    expect(await place.say(context => allow(context, 'ftp://a.example', {}), options())).toMatchObject({
      exit: 'invalid',
    })
    expect(await place.say(context => remove(context, 'a.example', {}), options())).toMatchObject({ exit: 'not-found' })
  })

  it('are not changed by a task', async () => {
    const task = { json: true, environment: { ...environment(), PLANFOLD_KEY: 'p/t/1' } }
    expect(await place.say(context => allow(context, '*', {}), task)).toMatchObject({ exit: 'policy' })
    const open = await place.say(context => change(context, 'allow', 'command', ['rm', '**'], {}), task)
    expect(open).toMatchObject({ exit: 'policy' })
    expect(await rules(place.folder)).toEqual([])
  })
})

describe('a file that others could have written allows nothing', () => {
  const wide = '{ "network": { "allow": ["*"] } }'
  it('when others may change it', async () => {
    await mkdir(join(config, 'planfold'))
    await writeFile(file(), wide, { mode: 0o600 })
    expect(await rules(place.folder)).toEqual(['*'])
    await chmod(file(), 0o622)
    expect(await rules(place.folder)).toEqual([])
    expect(await place.say(showPolicy, options())).toMatchObject({ exit: 'policy' })
  })

  it('when it lies in the workspace, also through a link', async () => {
    await place.write('policy.json', wide)
    await chmod(join(place.folder, 'policy.json'), 0o600)
    await mkdir(join(config, 'planfold'))
    await symlink(join(place.folder, 'policy.json'), file())
    expect(await rules(place.folder)).toEqual([])
    const inside = { json: true, environment: { XDG_CONFIG_HOME: join(place.folder, 'config') } }
    expect(await place.say(context => allow(context, '*', {}), inside)).toMatchObject({ exit: 'policy' })
  })

  it('when it says something that cannot be', async () => {
    await mkdir(join(config, 'planfold'))
    await writeFile(file(), '{ "network": { "allow": ["user@host"] } }', { mode: 0o600 })
    expect(await rules(place.folder)).toEqual([])
    const { stderr, exit } = await place.say(showPolicy, options())
    expect({ exit, stderr }).toMatchObject({ exit: 'policy' })
  })
})
