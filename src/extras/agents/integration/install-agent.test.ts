// Installing into settings that somebody has, and taking it back to the byte.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { parse as parseJson } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { afterEach, describe, expect, test } from 'vitest'
import type { AgentRow } from '../agent-settings.ts'
import { stockRows } from '../known-agents.ts'
import { agentSetup, type InstallScope } from './agent-files.ts'
import { type InstallPlan, planInstall, planUninstall } from './install-agent.ts'
import { recordFolder } from './install-record.ts'
import { jsonSettings, tomlSettings } from './settings.arbitrary.ts'

const AGENTS = stockRows().filter(({ install }) => install !== undefined)

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const rowOf = (agent: string, better: (row: string) => string = row => row): AgentRow =>
  JSON.parse(better(JSON.stringify(AGENTS.find(({ name }) => name === agent)))) as AgentRow

/** A home and a project of their own. */
function place(files: { readonly [path: string]: string } = {}) {
  const base = mkdtempSync(join(tmpdir(), 'planfold-install-'))
  folders.push(base)
  const [home, project] = [join(base, 'home'), join(base, 'project')]
  for (const folder of [home, project]) mkdirSync(folder)
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text)
  }
  for (const [path, text] of Object.entries(files)) write(path, text)
  const ask = (agent: string, { scope = 'project', environment = {}, better }: AskOptions = {}) => ({
    setup: agentSetup(rowOf(agent, better), scope, { project, home, environment }, '1')!,
    scope,
    records: recordFolder(home, environment),
  })
  return {
    base,
    project,
    home,
    write,
    read: (path: string): string => readFileSync(join(base, path), 'utf8'),
    tree: () => treeOf(base),
    plan: (agent: string, options?: AskOptions) => planInstall(ask(agent, options)),
    install: async (agent: string, options?: AskOptions) => await applied(await planInstall(ask(agent, options))),
    uninstall: async (agent: string, options?: AskOptions) => await applied(await planUninstall(ask(agent, options))),
  }
}

interface AskOptions {
  readonly scope?: InstallScope
  readonly environment?: { readonly [name: string]: string }
  /** What a later version says instead. */
  readonly better?: (row: string) => string
}

async function applied(plan: InstallPlan): Promise<readonly string[]> {
  if (!plan.ok) throw new Error(plan.refused.map(({ path, why }) => `${path} ${why}`).join('; '))
  await plan.apply()
  return plan.changes.map(({ path }) => path)
}

/** Every folder, and every file with its mode and bytes. Our own record is not among them. */
function treeOf(base: string): { readonly [path: string]: string } {
  const names = (readdirSync(base, { recursive: true }) as string[]).filter(
    name => !name.startsWith('home/.config/planfold'),
  )
  return Object.fromEntries(
    names.sort().map(name => {
      const stat = statSync(join(base, name))
      return [name, stat.isFile() ? `${stat.mode} ${readFileSync(join(base, name)).toString('hex')}` : 'folder']
    }),
  )
}

interface Shared {
  readonly path: string
  readonly kind: 'json' | 'toml'
  readonly keys: readonly (readonly [string, string])[]
}

/** The files that get entries of ours, by agent; and how each entry is reached. */
const SHARED: { readonly [agent in 'codex' | 'opencode' | 'gemini' | 'cursor']: readonly Shared[] } = {
  codex: [
    { path: 'project/.codex/config.toml', kind: 'toml', keys: [['mcp_servers', 'planfold']] },
    {
      path: 'project/.codex/hooks.json',
      kind: 'json',
      keys: [
        ['hooks', 'SessionStart'],
        ['hooks', 'PreToolUse'],
      ],
    },
  ],
  opencode: [{ path: 'project/opencode.json', kind: 'json', keys: [['mcp', 'planfold']] }],
  gemini: [
    {
      path: 'project/.gemini/settings.json',
      kind: 'json',
      keys: [
        ['mcpServers', 'planfold'],
        ['hooks', 'SessionStart'],
      ],
    },
  ],
  cursor: [{ path: 'project/.cursor/mcp.json', kind: 'json', keys: [['mcpServers', 'planfold']] }],
}

type Settings = { readonly [key: string]: unknown }

/** What it says, without our entries and without what was made only to hold them. */
function foreign(kind: 'json' | 'toml', text: string, keys: Shared['keys']): Settings {
  const bare = text.replace(/^\ufeff/, '')
  const value: Settings =
    kind === 'toml' ? parseToml(bare, { integersAsBigInt: true }) : parseJson(bare, [], { allowTrailingComma: true })
  return keys.reduce(withoutEntry, value)
}

function withoutEntry(value: Settings, [outer, inner]: readonly [string, string]): Settings {
  const held = value[outer]
  if (typeof held !== 'object' || held === null) return value
  const isOurs = (one: unknown): boolean => /planfold (?:prime|hook)/.test(JSON.stringify(one) ?? '')
  const left = Object.entries(held).flatMap(([key, one]) => {
    if (key !== inner) return [[key, one]]
    const items = outer === 'hooks' && Array.isArray(one) ? one.filter(each => !isOurs(each)) : []
    return items.length === 0 ? [] : [[key, items]]
  })
  const { [outer]: _, ...rest } = value
  return left.length === 0 ? rest : { ...rest, [outer]: Object.fromEntries(left) }
}

describe('over random settings', () => {
  const settings = fc
    .constantFrom('codex' as const, 'opencode' as const, 'gemini' as const, 'cursor' as const)
    .chain(agent =>
      fc.record({
        agent: fc.constant(agent),
        files: fc.tuple(...SHARED[agent].map(({ kind }) => (kind === 'toml' ? tomlSettings : jsonSettings))),
        theirs: fc.constantFrom('// their comment', '/* theirs */'),
      }),
    )

  test('install and uninstall leave every byte, twice is once, and what is foreign is not touched', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(settings, async ({ agent, files }) => {
        runs++
        const shared = SHARED[agent]
        const here = place(Object.fromEntries(shared.map(({ path }, at) => [path, files[at]!.text])))
        const before = here.tree()
        expect(await here.install(agent)).not.toEqual([])
        for (const [at, { path, kind, keys }] of shared.entries()) {
          const { text, comments } = files[at]!
          const after = here.read(path)
          expect(foreign(kind, after, keys)).toEqual(foreign(kind, text, keys))
          for (const comment of comments) expect(after).toContain(comment)
          expect(/\r\n/.test(text) || !/\r/.test(after)).toBe(true)
          if (/\r\n/.test(text) && !/(?<!\r)\n/.test(text)) expect(after).not.toMatch(/(?<!\r)\n/)
        }
        const once = here.tree()
        expect(await here.install(agent)).toEqual([])
        expect(here.tree()).toEqual(once)
        await here.uninstall(agent)
        expect(here.tree()).toEqual(before)
        expect(await here.uninstall(agent)).toEqual([])
        rmSync(here.base, { recursive: true })
      }),
      { numRuns: 200 },
    )
    expect(runs).toBeGreaterThanOrEqual(200)
  })

  test('where the file was changed meanwhile, or the record is lost, only our entry goes', async () => {
    await fc.assert(
      fc.asyncProperty(settings, fc.boolean(), async ({ agent, files, theirs }, isLost) => {
        const shared = SHARED[agent]
        const here = place(Object.fromEntries(shared.map(({ path }, at) => [path, files[at]!.text])))
        await here.install(agent)
        for (const { path, kind } of shared) {
          const mark = kind === 'toml' ? '# their comment' : theirs
          if (!isLost) here.write(path, `${here.read(path)}\n${mark}\n`)
        }
        if (isLost) rmSync(join(here.home, '.config'), { recursive: true })
        await here.uninstall(agent)
        for (const [at, { path, kind, keys }] of shared.entries()) {
          const after = here.read(path)
          expect(after).not.toMatch(/planfold (?:prime|hook)|"planfold"|added by its installer/)
          expect(foreign(kind, after, keys)).toEqual(foreign(kind, files[at]!.text, keys))
          for (const comment of files[at]!.comments) expect(after).toContain(comment)
          if (!isLost) expect(after).toMatch(/their/)
        }
        rmSync(here.base, { recursive: true })
      }),
      { numRuns: 40 },
    )
  })
})

test.each(AGENTS.map(({ name }) => name))(
  '%s: where nothing is, files and folders are made, and all of them go again',
  async agent => {
    for (const scope of ['project', 'user'] as const) {
      const here = place()
      const before = here.tree()
      await here.install(agent, { scope })
      expect(Object.keys(here.tree()).length).toBeGreaterThan(Object.keys(before).length)
      await here.uninstall(agent, { scope })
      expect(here.tree()).toEqual(before)
      expect(readdirSync(here.home)).toEqual([])
    }
  },
)

test('an entry of the same name that somebody made is left alone, and nothing is written', async () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['gemini', 'project/.gemini/settings.json', '{"mcpServers":{"planfold":{"command":"mine"}}}'],
    ['opencode', 'project/opencode.jsonc', '{ // mine\n "mcp": { "planfold": false } }'],
    ['codex', 'project/.codex/config.toml', '[mcp_servers.planfold]\ncommand = "mine"\n'],
    ['codex', 'project/.codex/config.toml', 'mcp_servers.planfold = { command = "mine" }'],
    ['codex', 'project/.codex/config.toml', 'mcp_servers = { other = {} }'],
    ['claude', 'project/.claude/skills/planfold/.mcp.json', '{}'],
  ]
  for (const [agent, path, text] of cases) {
    const here = place({ [path]: text })
    const before = here.tree()
    const plan = await here.plan(agent)
    expect(plan).toMatchObject({ ok: false, refused: [{ path: join(here.base, path) }] })
    expect(here.tree()).toEqual(before)
    await here.uninstall(agent)
    expect(here.tree()).toEqual(before)
  }
})

test.each([
  ['is not valid JSON', '{ "a": '],
  ['is not a JSON object', '[]'],
  ["has no object at 'mcpServers'", '{"mcpServers": []}'],
  ["has 'mcpServers' twice", '{"mcpServers": {}, "mcpServers": {}}'],
  ['is nested too deeply', `{"a":${'['.repeat(100_000)}`],
])('a file that %s is refused', async (why, text) => {
  const here = place({ 'project/.gemini/settings.json': text })
  const before = here.tree()
  const plan = await here.plan('gemini')
  expect(plan.ok ? '' : plan.refused[0]!.why).toContain(why)
  expect(here.tree()).toEqual(before)
})

test('bytes that are no text, folders, fifos of the same name and other names of a file are refused', async () => {
  const here = place({ 'project/.gemini/settings.json/inside': '' })
  expect(await here.plan('gemini')).toMatchObject({ ok: false })
  const other = place()
  mkdirSync(join(other.project, '.gemini'))
  writeFileSync(join(other.project, '.gemini/settings.json'), Buffer.from([0xff, 0xfe, 0x7b]))
  expect(await other.plan('gemini')).toMatchObject({ ok: false, refused: [{ why: 'is not UTF-8 text' }] })
})

test('a link inside the place is followed and stays a link; one that leads out of it is refused', async () => {
  const here = place({ 'project/dotfiles/gemini.json': '{}', 'outside/gemini.json': '{}' })
  mkdirSync(join(here.project, '.gemini'))
  const link = join(here.project, '.gemini/settings.json')
  symlinkSync('../dotfiles/gemini.json', link)
  await here.install('gemini')
  expect(here.read('project/dotfiles/gemini.json')).toContain('planfold')
  await here.uninstall('gemini')
  expect(here.read('project/dotfiles/gemini.json')).toBe('{}')
  rmSync(link)
  symlinkSync('../../outside/gemini.json', link)
  expect(await here.plan('gemini')).toMatchObject({ ok: false, refused: [{ path: link }] })
  rmSync(link)
  symlinkSync('../nowhere.json', link)
  expect(await here.plan('gemini')).toMatchObject({ ok: false, refused: [{ why: 'is a broken symbolic link' }] })
  rmSync(join(here.project, '.gemini'), { recursive: true })
  symlinkSync('../outside', join(here.project, '.gemini'))
  expect(await here.plan('gemini')).toMatchObject({ ok: false })
  expect(here.read('outside/gemini.json')).toBe('{}')
})

test('the folders that agents and people name are used', async () => {
  const here = place()
  const environment = {
    CLAUDE_CONFIG_DIR: join(here.base, 'claude-home'),
    CODEX_HOME: join(here.base, 'codex-home'),
    XDG_CONFIG_HOME: join(here.base, 'config'),
  }
  const user = { scope: 'user', environment } as const
  const all = [
    ...(await here.install('claude', user)),
    ...(await here.install('codex', user)),
    ...(await here.install('opencode', user)),
  ]
  expect(all.map(path => path.slice(here.base.length + 1)).sort()).toEqual([
    'claude-home/skills/planfold/.claude-plugin/plugin.json',
    'claude-home/skills/planfold/.mcp.json',
    'claude-home/skills/planfold/hooks/hooks.json',
    'codex-home/config.toml',
    'codex-home/hooks.json',
    'config/opencode/opencode.json',
    'config/opencode/plugin/planfold.js',
  ])
  expect(readdirSync(join(here.base, 'config/planfold/installed')).length).toBe(3)
  for (const agent of ['opencode', 'codex', 'claude'] as const) await here.uninstall(agent, user)
  expect(readdirSync(here.base).sort()).toEqual(['home', 'project'])
})

test('Codex writes tables of its own behind ours, as it was seen to do; only ours goes', async () => {
  const here = place({ 'project/.codex/config.toml': '# mine\nmodel = "x"\n' })
  await here.install('codex')
  const theirs = '\n[projects."/p"]\ntrust_level = "trusted"\n'
  here.write('project/.codex/config.toml', `${here.read('project/.codex/config.toml')}${theirs}`)
  await here.uninstall('codex')
  expect(here.read('project/.codex/config.toml')).toBe(`# mine\nmodel = "x"\n${theirs}`)
})

test('a table of ours that somebody added to is taken away with its lines; one with tables below it is left to them', async () => {
  const here = place()
  await here.install('codex')
  const ours = here.read('project/.codex/config.toml')
  here.write('project/.codex/config.toml', `${ours}env = { A = "1" }\n`)
  expect(await here.plan('codex')).toMatchObject({ ok: true, changes: [] })
  await here.uninstall('codex')
  expect(readdirSync(here.project)).toEqual([])
  await here.install('codex')
  here.write('project/.codex/config.toml', `${ours}\n[mcp_servers.planfold.env]\nA = "1"\n`)
  await expect(here.uninstall('codex')).rejects.toThrow('cannot be changed without touching something else')
})

test('the mode of a file stays, and the record is only for its owner', async () => {
  const here = place({ 'project/.codex/config.toml': 'key = "secret"\n' })
  chmodSync(join(here.project, '.codex/config.toml'), 0o600)
  await here.install('codex')
  expect(statSync(join(here.project, '.codex/config.toml')).mode & 0o777).toBe(0o600)
  const records = join(here.home, '.config/planfold/installed')
  const [record] = readdirSync(records)
  expect(statSync(join(records, record!)).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(records, record!), 'utf8')).not.toContain('secret')
})

test('a newer version writes its own entry in place of ours, and is taken back to the same bytes', async () => {
  const text = '{\n  "hooks": { "SessionStart": [] } // mine\n}'
  const here = place({ 'project/.codex/hooks.json': text })
  const before = here.tree()
  await here.install('codex')
  const better = (row: string) =>
    row
      .replace('--format codex-hook', '--format codex-hook --better')
      .replace('[\\"mcp\\"]', '[\\"mcp\\", \\"--new\\"]')
  await here.install('codex', { better })
  expect(here.read('project/.codex/hooks.json').match(/codex-hook( --better)?/g)).toEqual(['codex-hook --better'])
  expect(here.read('project/.codex/hooks.json').match(/pre-tool-use/g)).toHaveLength(1)
  expect(here.read('project/.codex/config.toml').match(/--new/g)).toHaveLength(1)
  await here.uninstall('codex', { better })
  expect(here.tree()).toEqual(before)
})

test('in a file that was changed meanwhile, a newer version still replaces only ours, and twice is once', async () => {
  const here = place()
  await here.install('codex')
  const path = 'project/.codex/hooks.json'
  here.write(path, here.read(path).replace('{', '{ "mine": 1,'))
  expect(await here.plan('codex')).toMatchObject({ ok: true, changes: [] })
  const better = (row: string) => row.replace('hook pre-tool-use', 'hook pre-tool-use --better')
  await here.install('codex', { better })
  expect(await here.plan('codex', { better })).toMatchObject({ ok: true, changes: [] })
  const { hooks, ...rest } = JSON.parse(here.read(path))
  expect(rest).toEqual({ mine: 1 })
  expect([hooks.SessionStart.length, hooks.PreToolUse.length]).toEqual([1, 1])
  expect(hooks.PreToolUse[0]).toMatchObject({
    matcher: 'apply_patch',
    hooks: [{ command: 'planfold hook pre-tool-use --better || true' }],
  })
  await here.uninstall('codex', { better })
  expect(JSON.parse(here.read(path))).toEqual({ mine: 1 })
})

test('what a person changed in our own files and entries is theirs: an install keeps it, an uninstall says so', async () => {
  const here = place()
  await here.install('opencode')
  here.write('project/.opencode/plugin/planfold.js', '// mine now\n')
  here.write('project/opencode.json', here.read('project/opencode.json').replace('true', 'false'))
  const plan = await here.plan('opencode')
  expect(plan).toMatchObject({ ok: true, changes: [] })
  expect(plan.ok && plan.notes.length).toBe(2)
  await here.uninstall('opencode')
  expect(here.read('project/.opencode/plugin/planfold.js')).toBe('// mine now\n')
  expect(readdirSync(here.project)).toEqual(['.opencode'])
})

test('a file that changes between the look and the write is not overwritten, and what was written can be taken back', async () => {
  const here = place({ 'project/.codex/hooks.json': '{}' })
  const before = here.tree()
  const plan = await here.plan('codex')
  here.write('project/.codex/hooks.json', '{"mine":1}')
  await expect(plan.ok ? plan.apply() : null).rejects.toThrow('has changed since')
  expect(here.read('project/.codex/hooks.json')).toBe('{"mine":1}')
  await here.uninstall('codex')
  expect({ ...here.tree(), 'project/.codex/hooks.json': '' }).toEqual({ ...before, 'project/.codex/hooks.json': '' })
})

test('Gemini CLI: of two entries in one file, the one that somebody removed comes back, and both go again', async () => {
  for (const before of ['{"theme":"dark"}\n', null]) {
    const here = place(before === null ? {} : { 'project/.gemini/settings.json': before })
    await here.install('gemini')
    const settings = JSON.parse(here.read('project/.gemini/settings.json'))
    expect(settings.hooks.SessionStart[0].hooks[0]).toEqual({
      type: 'command',
      name: 'planfold',
      command: 'planfold prime --format gemini-hook || true',
      timeout: 15_000,
    })
    const { hooks: _, ...rest } = settings
    here.write('project/.gemini/settings.json', JSON.stringify(rest))
    await here.install('gemini')
    expect(JSON.parse(here.read('project/.gemini/settings.json'))).toEqual(settings)
    await here.uninstall('gemini')
    expect('project/.gemini/settings.json' in here.tree()).toBe(before !== null)
    if (before !== null) expect(JSON.parse(here.read('project/.gemini/settings.json'))).toEqual({ theme: 'dark' })
  }
})
