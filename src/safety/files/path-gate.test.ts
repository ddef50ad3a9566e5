import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { openGate, type PathGate } from './path-gate.ts'
import { sha256Of } from './regular-file.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function setup(via?: 'descriptors' | 'paths') {
  const base = fs.mkdtempSync(join(tmpdir(), 'gate-'))
  const root = join(base, 'repo')
  fs.mkdirSync(join(root, 'src'), { recursive: true })
  fs.mkdirSync(join(base, 'repo-evil'))
  fs.writeFileSync(join(base, 'outside.txt'), 'outside')
  fs.writeFileSync(join(root, 'src/a.txt'), 'alpha')
  const opened = await openGate({ root, stateDir: join(root, 'state'), ...(via && { via }) })
  if (!opened.ok) throw new Error(opened.failure.message)
  const gate = opened.value
  closers.push(() => fs.rmSync(base, { recursive: true, force: true }))
  closers.push(() => gate.close())
  return { base, root, gate }
}

const ALPHA = sha256Of(Buffer.from('alpha'))
const write = (gate: PathGate, path: string, expected: Sha256 | null = null) =>
  gate.write(path, Buffer.from('new'), { expect: expected })

/** Every way of touching the path must be refused as policy. */
async function expectBlocked(gate: PathGate, path: string) {
  for (const act of [
    () => write(gate, path),
    () => gate.remove(path, { expect: ALPHA }),
    () => gate.chmod(path, 0o755),
    () => gate.read(path),
    () => gate.directory(path),
  ]) {
    const answer = await act()
    expect(answer.ok, path).toBe(false)
    if (!answer.ok) expect(answer.failure, path).toMatchObject({ class: 'policy', retryable: false })
  }
}

for (const via of ['descriptors', 'paths'] as const) {
  describe(`attacks on paths, via ${via}`, () => {
    const texts: { readonly [attack: string]: readonly string[] } = {
      'A01 leaving with ..': ['../outside.txt', 'a/../../outside.txt', './../x', 'a/b/../../../x', '..', 'src/..'],
      'A02 other places': [
        ...['/etc/passwd', '~/.ssh/id_rsa', '~root/x', 'file:///etc/passwd', 'FILE:x', 'http://a/b', 'C:\\Windows\\x'],
        ...['c:x', '\\\\srv\\share\\x', '//srv/x', 'src\\..\\..\\x', 'src/..\\x', ''],
      ],
      'A09 NUL and controls': ['ok.txt\0../../x', 'a\nb', 'a\u001b[2Jb', 'a\u202eb', 'a\ud800b', 'a\u0085b'],
      'A10 long paths': ['x'.repeat(10_000), 'y'.repeat(300), 'ü'.repeat(128), Array(5000).fill('d').join('/')],
      'A13 proc and dev': ['/proc/self/root/etc/passwd', '/proc/self/cwd/../x', '/proc/1/environ', '/dev/fd/3'],
      'A14 our own environment': ['/proc/self/environ', '../../../../../../proc/self/environ'],
      'odd components': ['a//b', 'src/', '/'],
    }
    for (const [attack, paths] of Object.entries(texts)) {
      test(`${attack} is refused before any file is looked at`, async () => {
        const { gate } = await setup(via)
        for (const path of paths) await expectBlocked(gate, path)
      })
    }

    test('A04 a directory that is a link out of the workspace is not entered', async () => {
      const { base, root, gate } = await setup(via)
      fs.symlinkSync(base, join(root, 'link'))
      fs.symlinkSync('src', join(root, 'inner'))
      await expectBlocked(gate, 'link/outside.txt')
      await expectBlocked(gate, 'link/repo-evil/x')
      await expectBlocked(gate, 'inner/a.txt')
      expect(fs.readdirSync(join(base, 'repo-evil'))).toEqual([])
    })

    test('A05, A06 a file that is a link is neither read nor written, wherever the chain leads', async () => {
      const { base, root, gate } = await setup(via)
      fs.symlinkSync(join(base, 'outside.txt'), join(root, 'notes.txt'))
      fs.symlinkSync('b', join(root, 'a'))
      fs.symlinkSync('c', join(root, 'b'))
      fs.symlinkSync('../outside.txt', join(root, 'c'))
      fs.symlinkSync(join(base, 'not-yet'), join(root, 'dangling'))
      fs.symlinkSync('..', join(root, 'up'))
      for (const path of ['notes.txt', 'a', 'dangling', 'up']) await expectBlocked(gate, path)
      await expectBlocked(gate, 'up/outside.txt')
      expect(fs.readFileSync(join(base, 'outside.txt'), 'utf8')).toBe('outside')
      expect(fs.existsSync(join(base, 'not-yet'))).toBe(false)
    })

    test('A15 special and huge files are refused at once', async () => {
      const { root, gate } = await setup(via)
      execFileSync('mkfifo', [join(root, 'fifo')])
      const server = createServer().listen(join(root, 'socket'))
      closers.push(() => void server.close())
      await new Promise(resolve => server.once('listening', resolve))
      fs.writeFileSync(join(root, 'huge'), '')
      fs.truncateSync(join(root, 'huge'), 2 ** 40)
      for (const path of ['fifo', 'socket', 'huge']) {
        expect(await gate.read(path), path).toMatchObject({ ok: false, failure: { class: 'policy' } })
        expect(await write(gate, path, ALPHA), path).toMatchObject({ ok: false, failure: { class: 'policy' } })
      }
      expect(await gate.chmod('fifo', 0o777)).toMatchObject({ ok: false, failure: { class: 'policy' } })
    })

    test('a device is refused, as a link and as itself', async () => {
      const { root, gate } = await setup(via)
      fs.symlinkSync('/dev/zero', join(root, 'zero'))
      await expectBlocked(gate, 'zero')
      try {
        execFileSync('mknod', [join(root, 'null'), 'c', '1', '3'], { stdio: 'ignore' })
      } catch {
        // Only root may make one, and not everywhere.
        console.warn('no device could be made: only the link to one was tried')
        return
      }
      expect(await gate.read('null')).toMatchObject({ ok: false, failure: { class: 'policy' } })
      expect(await write(gate, 'null', ALPHA)).toMatchObject({ ok: false, failure: { class: 'policy' } })
    })

    test('a hard link is not written, so that its other name keeps its bytes', async () => {
      const { base, root, gate } = await setup(via)
      fs.linkSync(join(base, 'outside.txt'), join(root, 'hard'))
      const outside = sha256Of(Buffer.from('outside'))
      expect(await write(gate, 'hard', outside)).toMatchObject({ ok: false, failure: { class: 'policy' } })
      expect(await gate.chmod('hard', 0o777)).toMatchObject({ ok: false, failure: { class: 'policy' } })
      expect(fs.readFileSync(join(base, 'outside.txt'), 'utf8')).toBe('outside')
    })

    test('A03, A11 protected places are not written in any spelling, even before they exist', async () => {
      const { root, gate } = await setup(via)
      const paths = [
        ...[
          '.git/config',
          '.GIT/hooks/pre-commit',
          '.Git/config',
          '.git',
          'sub/.git/x',
          '.g\u200cit/config',
          'git~1/x',
        ],
        ...[
          '.git./config',
          '.git /x',
          '.gıt/x',
          '.gitmodules',
          '.GitAttributes',
          '.bashrc',
          'home/.ZSHRC',
          '.vscode/x',
        ],
        ...['.idea/x', '.mcp.json', '.MCP.json', '.claude/settings.json', '.codex/x', '.cursor/rules'],
        ...['.github/workflows/ci.yml', '.GITHUB/Workflows/x', '.gitlab-ci.yml', 'Jenkinsfile', '.circleci/config.yml'],
        ...['.ssh/authorized_keys', '.SSH', '.npmrc', 'packages/a/.npmrc', '.yarnrc', '.yarnrc.yml', '.YarnRC.yml'],
        ...['.yarn/releases/yarn.cjs', '.vimrc', '.exrc', '.nvimrc', '.pre-commit-config.yaml', '.config/git/config'],
        ...['lefthook.yml', '.lefthook.toml', '.lefthook-local.yml', '.lefthook/pre-commit/x', '.aider.conf.yml'],
        ...['.gemini/settings.json', '.qwen/x', '.opencode/x', 'opencode.json', '.grok/x', '.kimi/x', '.cline/x'],
        ...['.clinerules', '.continue/x', '.windsurf/x', '.envrc', '.netrc', '.zed/settings.json', '.agents/x'],
        // Full-width, small-capital and ligature forms; characters that are not seen; streams of Windows.
        ...['.ｇｉｔ/config', '．git/config', '.ＮＰＭＲＣ', '.ſsh/x', '.n\u00adpmrc', '.npm\ufe0frc', '.s\u2060sh/x'],
        ...['.\u{e0067}git/x', '.git::$INDEX_ALLOCATION/config', '.npmrc::$DATA', '.npmrc. .', '.mcp.json:$DATA'],
        ...['.planfold/store.db', '.PLANFOLD/x', 'state/store.db', 'State/x', 'state'],
      ]
      for (const path of paths) {
        expect(await write(gate, path), path).toMatchObject({ ok: false, failure: { class: 'policy' } })
      }
      expect(fs.readdirSync(root)).toEqual(['src'])
      for (const path of ['.planfold/token', 'STATE/x']) expect(await gate.read(path)).toMatchObject({ ok: false })
      const free = [
        '.github/CODEOWNERS',
        '.config/app.json',
        'npmrc',
        '.yarn/cache/x',
        'src/.eslintrc.json',
        'docs/git',
      ]
      for (const path of [...free, 'aider.md', '.gitignore', '.env.example'])
        expect((await write(gate, path)).ok).toBe(true)
    })
  })
}

test('a directory swapped for a link while it is walked never leads outside', async () => {
  const { base, root, gate } = await setup()
  const target = join(base, 'repo-evil')
  let swapping = true
  const swapper = (async () => {
    while (swapping) {
      // The gate makes missing directories meanwhile; whoever loses a step tries the next one.
      for (const step of [
        () => fs.rmSync(join(root, 'src'), { recursive: true, force: true }),
        () => fs.symlinkSync(target, join(root, 'src')),
        () => fs.unlinkSync(join(root, 'src')),
        () => fs.mkdirSync(join(root, 'src')),
      ]) {
        try {
          step()
        } catch {}
        await new Promise(setImmediate)
      }
    }
  })()
  for (let round = 0; round < 150; round++) await write(gate, `src/f${round}`)
  swapping = false
  await swapper
  expect(fs.readdirSync(target)).toEqual([])
})

test('a file swapped for a link or a hard link while it is written never changes what is outside', async () => {
  const { base, root, gate } = await setup()
  const [target, file] = [join(base, 'outside.txt'), join(root, 'src/a.txt')]
  fs.chmodSync(target, 0o644)
  let swapping = true
  const swapper = (async () => {
    while (swapping) {
      for (const step of [
        () => fs.rmSync(file, { force: true }),
        () => fs.symlinkSync(target, file),
        () => fs.rmSync(file, { force: true }),
        () => fs.linkSync(target, file),
        () => fs.rmSync(file, { force: true }),
        () => fs.writeFileSync(file, 'alpha', { flag: 'wx' }),
      ]) {
        try {
          step()
        } catch {}
        await new Promise(setImmediate)
      }
    }
  })()
  for (let round = 0; round < 100; round++) {
    await write(gate, 'src/a.txt', ALPHA)
    await gate.chmod('src/a.txt', 0o600)
    await write(gate, 'src/a.txt', null)
    await gate.remove('src/a.txt', { expect: ALPHA })
  }
  swapping = false
  await swapper
  expect([fs.readFileSync(target, 'utf8'), fs.statSync(target).mode & 0o777]).toEqual(['outside', 0o644])
})

test('a new file appears whole, with its directories and no leftovers', async () => {
  const { root, gate } = await setup()
  expect(await gate.write('new/deep/b.sh', Buffer.from('x'), { expect: null, mode: 0o755 })).toEqual({ ok: true })
  expect(fs.readFileSync(join(root, 'new/deep/b.sh'), 'utf8')).toBe('x')
  expect(fs.statSync(join(root, 'new/deep/b.sh')).mode & 0o777).toBe(0o755)
  expect(fs.readdirSync(join(root, 'new/deep'))).toEqual(['b.sh'])
})

test('a replaced file keeps its mode', async () => {
  const { root, gate } = await setup()
  fs.chmodSync(join(root, 'src/a.txt'), 0o640)
  expect(await write(gate, './src/a.txt', ALPHA)).toEqual({ ok: true })
  expect(fs.statSync(join(root, 'src/a.txt')).mode & 0o777).toBe(0o640)
  expect(fs.readFileSync(join(root, 'src/a.txt'), 'utf8')).toBe('new')
})

test('a file that changed since it was read is not overwritten or deleted', async () => {
  const { root, gate } = await setup()
  fs.writeFileSync(join(root, 'src/a.txt'), 'by a person')
  for (const answer of [
    await write(gate, 'src/a.txt', ALPHA),
    await write(gate, 'src/a.txt', null),
    await gate.remove('src/a.txt', { expect: ALPHA }),
  ]) {
    expect(answer).toMatchObject({
      ok: false,
      failure: { class: 'logic', message: expect.stringContaining('changed since') },
    })
  }
  expect(fs.readdirSync(join(root, 'src'))).toEqual(['a.txt'])
  expect(fs.readFileSync(join(root, 'src/a.txt'), 'utf8')).toBe('by a person')
})

test('reading a missing file gives null, reading a directory is refused', async () => {
  const { gate } = await setup()
  expect(await gate.read('src/none')).toEqual({ ok: true, value: null })
  expect(await gate.read('none/none')).toEqual({ ok: true, value: null })
  expect(await gate.read('src')).toMatchObject({ ok: false, failure: { class: 'logic' } })
  expect(await gate.read('src/a.txt', { maxBytes: 4 })).toMatchObject({ ok: false, failure: { class: 'policy' } })
  expect(await gate.read('src/a.txt', { maxBytes: 5 })).toMatchObject({ ok: true, value: { sha256: ALPHA } })
})

test('the gate leaves no descriptor open', async () => {
  const { gate } = await setup()
  const open = () => fs.readdirSync('/proc/self/fd').length
  await gate.read('src/a.txt')
  const before = open()
  for (let round = 0; round < 20; round++) {
    await gate.read('src/a.txt')
    await gate.read('x/y/z')
    await write(gate, '.git/x')
    await write(gate, 'src/a.txt')
  }
  expect(open()).toBeLessThanOrEqual(before)
})
