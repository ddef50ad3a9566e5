import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AskedTool, type JudgingPlace, judgePermission } from './permission-request.ts'

function setup(more: Partial<JudgingPlace> = {}) {
  const base = mkdtempSync(join(tmpdir(), 'permission-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'work')
  mkdirSync(join(root, 'src'), { recursive: true })
  mkdirSync(join(base, 'home'))
  writeFileSync(join(base, 'secret'), 'hush')
  const place = {
    ...{ root, stateDir: join(root, '.planfold'), home: join(base, 'home'), write: ['src/**'], isBoxed: true },
    ...more,
  }
  const judge = async (tool: AskedTool & { readonly title?: string; readonly locations?: readonly object[] }) =>
    (await judgePermission(tool, place)).allowed
  return { base, root, judge }
}

describe('a permission request', () => {
  test('for a file in the scope is allowed, by its raw input or its diff', async () => {
    const { root, judge } = setup()
    expect(await judge({ kind: 'edit', rawInput: { file_path: `${root}/src/a.ts`, old_string: 'x' } })).toBe(true)
    expect(await judge({ kind: 'edit', rawInput: { filePath: 'src/a.ts' } })).toBe(true)
    expect(await judge({ kind: 'edit', content: [{ type: 'diff', path: `${root}/src/b.ts`, newText: '' }] })).toBe(true)
  })

  test('whose title and locations lie is judged by what it would write', async () => {
    const { base, root, judge } = setup()
    const locations = [{ path: `${root}/src/a.ts` }]
    const lying = { title: 'Edit src/a.ts', locations, kind: 'edit' }
    expect(await judge({ ...lying, rawInput: { file_path: `${base}/secret` } })).toBe('ask')
    expect(await judge({ ...lying, rawInput: { path: 'package.json' } })).toBe('ask')
    expect(await judge({ ...lying, content: [{ type: 'diff', path: '/etc/passwd', newText: '' }] })).toBe('ask')
    expect(await judge({ ...lying, rawInput: { edits: [{ path: 'src/a.ts' }, { path: '../secret' }] } })).toBe('ask')
    expect(await judge({ ...lying, rawInput: { changes: { '/etc/passwd': { type: 'add' } } } })).toBe('ask')
    expect(await judge({ ...lying, rawInput: { input: '*** Begin Patch\n*** Update File: ../x\n' } })).toBe('ask')
  })

  test('with empty locations and nothing that can be judged is asked about', async () => {
    const { judge } = setup()
    expect(await judge({ title: 'Read a file', locations: [], kind: 'other', rawInput: {} })).toBe('ask')
    expect(await judge({ title: 'Read a file', locations: [], kind: 'edit' })).toBe('ask')
    expect(await judge({ kind: 'fetch', rawInput: { url: 'https://example.org' } })).toBe('ask')
  })

  test('for a link that leads outside is asked about, also past the link and back', async () => {
    const { base, root, judge } = setup()
    symlinkSync(join(base, 'secret'), join(root, 'src/link'))
    symlinkSync(base, join(root, 'src/folder'))
    symlinkSync(join(base, 'new-file'), join(root, 'src/dangling'))
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/link' } })).toBe('ask')
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/folder/secret' } })).toBe('ask')
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/dangling' } })).toBe('ask')
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/folder/../a.ts' } })).toBe('ask')
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/x/../../../secret' } })).toBe('ask')
  })

  test('for a protected file in the scope is asked about', async () => {
    const { judge } = setup({ write: ['**'] })
    for (const path of [
      '.git/hooks/pre-commit',
      '.GIT/config',
      '.planfold/planfold.db',
      'CLAUDE.md',
      '.vscode/tasks.json',
    ])
      expect([path, await judge({ kind: 'edit', rawInput: { path } })]).toEqual([path, 'ask'])
    expect(await judge({ kind: 'edit', rawInput: { path: 'any/other.ts' } })).toBe(true)
  })

  test('for a command is allowed in the sandbox, unless it pushes, deploys or deletes', async () => {
    const { judge } = setup()
    expect(await judge({ kind: 'execute', rawInput: { command: 'node test.js' } })).toBe(true)
    expect(await judge({ kind: 'execute', rawInput: { command: ['bash', '-lc', 'npm test'] } })).toBe(true)
    expect(await judge({ title: 'List files', kind: 'execute', rawInput: { command: 'git push origin main' } })).toBe(
      'ask',
    )
    expect(await judge({ kind: 'read', rawInput: { command: 'ls && git -C . push' } })).toBe('ask')
    expect(await judge({ kind: 'execute', rawInput: { commands: ['ls', 'npm publish'] } })).toBe('ask')
  })

  test('for a command or a read outside is asked about where there is no sandbox', async () => {
    const { base, judge } = setup({ isBoxed: false })
    expect(await judge({ kind: 'execute', rawInput: { command: 'node test.js' } })).toBe('ask')
    expect(await judge({ kind: 'read', rawInput: { path: `${base}/secret` } })).toBe('ask')
    expect(await judge({ kind: 'edit', rawInput: { path: 'src/a.ts' } })).toBe(true)
  })

  test('for a tool of Planfold is allowed', async () => {
    const { judge } = setup()
    expect(await judge({ rawInput: { server: 'planfold', tool: 'plan_read' } })).toBe(true)
    expect(await judge({ rawInput: { server: 'other', tool: 'plan_read' } })).toBe('ask')
    expect(await judge({ rawInput: { server: 'planfold', tool: 'plan_write', path: '/etc/passwd' } })).toBe('ask')
  })
})
