// Real commands in a sandbox that shows the home of the person, and in one that does not: what they see, what they may write, and what
// is said afterwards.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bubblewrap } from './bubblewrap.ts'
import { withoutCredentials } from './credential-places.ts'
import type { SandboxRequest } from './sandbox.ts'
import { type Boxed, spawnBoxed } from './sandboxed-process.ts'

const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`
const standing = await bubblewrap({ environment: { PATH, HOME: '/nonexistent' }, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

interface Asked {
  readonly write?: readonly string[]
  readonly show?: readonly string[]
  readonly env?: { readonly [name: string]: string }
  readonly cwd?: string
  readonly caches?: string
  /** Called when the command says `now`, before it may go on. */
  readonly meanwhile?: () => void
}

function setup(...workspace: readonly string[]) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'planfold-own-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const home = join(base, 'home')
  const root = join(base, ...(workspace.length === 0 ? ['work'] : workspace))
  for (const folder of [home, root]) mkdirSync(folder, { recursive: true })
  const make = (path: string, text = ''): void => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text)
  }
  const run = async (who: 'own' | 'other', script: string, asked: Asked = {}) => {
    const { write = [], show = [], env = {}, cwd = root, caches = join(base, 'caches'), meanwhile } = asked
    const environment = { PATH, HOME: home }
    const request: SandboxRequest = {
      ...{ root, cwd, stateDir: join(root, '.planfold'), write, network: 'none' },
      ...{ argv: ['/bin/sh', '-c', script], env: { ...environment, ...env } },
      ...(who === 'own' ? { own: { show, caches } } : {}),
    }
    const wrapped = await bubblewrap({ environment: { ...environment, ...env }, outside: [] }).wrap(request)
    if (!wrapped.ok) throw new Error(wrapped.failure.message)
    const boxed = spawnBoxed(wrapped.value, { stdin: meanwhile === undefined ? 'ignore' : 'pipe' })
    const out = heard(boxed, meanwhile)
    const { exit, leftover } = await boxed.exited
    wrapped.value.release()
    const beyond = await wrapped.value.lookAfter()
    return { exit, out: await out, beyond, leftover }
  }
  return { base, home, root, make, run }
}

async function heard({ child }: Boxed, meanwhile?: () => void): Promise<string> {
  let out = ''
  const hear = (chunk: Buffer): void => {
    const before = out
    out += String(chunk)
    if (!before.includes('now\n') && out.includes('now\n') && meanwhile !== undefined) {
      meanwhile()
      child.stdin?.end('go\n')
    }
  }
  child.stdout?.on('data', hear)
  child.stderr?.on('data', hear)
  await new Promise(resolve => child.once('close', resolve))
  return out.trim()
}

const NOTHING = { appeared: [], changed: [] }

describe.skipIf(!standing.ok)('the home of the person', () => {
  test('is visible and read-only; credentials are not, wherever links put them', async () => {
    const { home, make, run } = setup()
    make('home/notes', 'mine\n')
    make('home/.ssh/id', 'KEY\n')
    make('home/dots/netrc', 'KEY\n')
    symlinkSync('dots/netrc', join(home, '.netrc'))
    make('home/.zsh_history', 'KEY\n')
    make('home/.npmrc', 'registry=https://r.example/\n//r.example/:_authToken=KEY\n')
    make('home/.gitconfig', '[user]\n\tname = Ana\n[http]\n\textraheader = Authorization: KEY\n')
    const script = `cat ~/notes ~/.npmrc; git config user.name; ls -A ~/.ssh; cat ~/.netrc ~/dots/netrc ~/.zsh_history
      grep -r KEY ~; (echo no > ~/new) 2>&1; (echo no > ~/.ssh/new) 2>&1; echo x > /tmp/x && echo $TMPDIR`
    const { out, exit } = await run('own', script)
    expect(exit).toBe(0)
    expect(out.split('\n')).toEqual([
      ...['mine', 'registry=https://r.example/', 'Ana'],
      expect.stringContaining('Read-only file system'),
      expect.stringContaining('Read-only file system'),
      '/tmp',
    ])
  })

  test('shows whole what the task names, also inside a hidden folder', async () => {
    const { home, make, run } = setup()
    make('home/.ssh/deploy', 'deploy key\n')
    make('home/.ssh/id', 'KEY\n')
    make('home/.npmrc', '_auth=mine\n')
    make('home/dots/conf', 'linked\n')
    symlinkSync('../dots/conf', join(home, '.ssh/config'))
    const show = ['.ssh/deploy', '.npmrc', '.ssh/config'].map(path => join(home, path))
    const { out } = await run('own', 'cat ~/.ssh/deploy ~/.npmrc ~/.ssh/config; ls ~/.ssh', { show })
    expect(out.split('\n')).toEqual(['deploy key', '_auth=mine', 'linked', 'config', 'deploy'])
  })

  test.each([
    ['the workspace is in it', ['home', 'code', 'project']],
    ['it is in the workspace', ['.']],
    ['it is the workspace', ['home']],
    ['the workspace is in a hidden place of it', ['home', '.config', 'opencode']],
  ])('works when %s', async (_, workspace) => {
    const { home, root, make, run } = setup(...workspace)
    make('home/.ssh/id', 'KEY\n')
    make('home/notes', 'mine\n')
    mkdirSync(join(root, '.planfold'))
    writeFileSync(join(root, '.planfold/token'), 'KEY\n')
    const script = `cat ~/notes; ls -A ~/.ssh .planfold; grep -r KEY ~ .; mkdir out && echo x > out/x; (echo no > ~/new) 2> /dev/null; echo $HOME`
    const { out, beyond } = await run('own', script, { write: ['out/**'] })
    expect(
      out
        .replaceAll(/^.*:$|\n(?=\n)/gm, '')
        .split('\n')
        .filter(line => line !== ''),
    ).toEqual(['mine', home])
    expect(readFileSync(join(root, 'out/x'), 'utf8')).toBe('x\n')
    // Where the home is the folder that holds the scope, a new name can be made, and is told.
    expect(beyond.appeared).toEqual(root === home ? ['new'] : [])
  })

  test('a home that is a link is found under both names', async () => {
    const { base, home, make, run } = setup()
    make('home/notes', 'mine\n')
    make('home/.ssh/id', 'KEY\n')
    symlinkSync('home', join(base, 'link'))
    const { out } = await run('own', `cat ~/notes ${home}/notes; ls -A ~/.ssh ${home}/.ssh/`, {
      env: { HOME: join(base, 'link'), XDG_CONFIG_HOME: join(home, 'cfg') },
    })
    expect(out.split('\n').slice(0, 2)).toEqual(['mine', 'mine'])
    expect(out).not.toContain('id')
  })

  test('package managers keep their caches in a private folder, unless the task says where', async () => {
    const { base, home, make, run } = setup()
    make('home/.cargo/config.toml', '[registries.x]\nindex = "sparse+https://r/"\ntoken = "KEY"\n')
    const script = `mkdir -p "$npm_config_cache" && echo kept > "$npm_config_cache/x"
      cat "$CARGO_HOME/config.toml" ~/.cargo/config.toml; echo "$PIP_CACHE_DIR $XDG_CONFIG_HOME"; (echo no > "$(dirname "$CARGO_HOME")/shown/empty") 2>&1`
    const env = { PIP_CACHE_DIR: '/tmp/pip', XDG_CONFIG_HOME: join(home, '.config') }
    const inherited = await run('own', script, { env: { XDG_CONFIG_HOME: env.XDG_CONFIG_HOME } })
    expect(inherited.out).toContain(`${join(base, 'caches/pip')} ${env.XDG_CONFIG_HOME}`)
    expect(inherited.out.match(/sparse\+https/g)).toHaveLength(2)
    expect(inherited.out).not.toContain('KEY')
    expect(inherited.out).toContain('Read-only file system')
    const again = await run('own', 'cat "$npm_config_cache/x"')
    expect(again.out).toBe('kept')
  })

  test.each(['work/.planfold/caches', 'home/.local/state/planfold/caches', 'home/.cache/planfold/x'])(
    'the caches may lie in a hidden place: %s',
    async at => {
      const { base, make, run } = setup()
      make(join(dirname(at), 'token'), 'KEY\n')
      const script = `mkdir -p "$npm_config_cache" && echo kept > "$npm_config_cache/x"; ls ${join(base, dirname(at))}; grep -r KEY ~ .; :`
      const { out, beyond } = await run('own', script, { caches: join(base, at), write: ['dist/**'] })
      expect({ out, beyond }).toEqual({ out: at.slice(at.lastIndexOf('/') + 1), beyond: NOTHING })
      expect(readFileSync(join(base, at, 'npm/x'), 'utf8')).toBe('kept\n')
    },
  )

  test('a home that is the workspace keeps its credentials hidden, unless the scope names them', async () => {
    const { make, run } = setup('home')
    make('home/.ssh/id', 'KEY\n')
    expect((await run('own', 'ls .ssh', { write: ['**'] })).out).toBe('')
    expect((await run('own', 'ls .ssh', { write: ['.ssh/**'] })).out).toBe('id')
  })

  test('others keep an empty home of their own', async () => {
    const { make, run } = setup('home', 'project')
    make('home/notes', 'mine\n')
    const { out, leftover } = await run(
      'other',
      'ls -A ~; echo x > ~/x; echo y > /tmp/y; mkdir /tmp/empty; echo ${npm_config_cache-none}',
    )
    expect(out).toBe('project\nnone')
    expect(leftover?.count).toBe(2)
    expect(leftover?.names[0]).toBe('/tmp/y')
  })
})

describe.skipIf(!standing.ok)('a scope that names a folder', () => {
  const REBUILD = 'rm -rf dist && mkdir dist && echo new > dist/a && mv dist old && mv old dist && cat dist/a'

  test.each(['dist/**', 'dist/', 'dist'])('%s can be removed and made again by an own task, twice', async pattern => {
    const { root, make, run } = setup()
    make('work/README.md', 'mine\n')
    make('work/src/a.ts')
    for (let times = 0; times < 2; times++) {
      const script = `rm -rf dist && mkdir dist && echo new > dist/a && cat dist/a; (echo no > README.md) 2>/dev/null; rm -rf src 2>/dev/null; :`
      const { out, beyond } = await run('own', script, { write: [pattern] })
      expect({ out, beyond }).toEqual({ out: 'new', beyond: NOTHING })
    }
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('mine\n')
    expect(existsSync(join(root, 'src/a.ts'))).toBe(true)
  })

  test('for others it is made first, cannot be removed, and goes again when it stays empty', async () => {
    const { root, make, run } = setup()
    make('work/README.md')
    const used = await run('other', 'echo new > deep/dist/a; (echo no > b) 2>/dev/null; rm -rf deep/dist', {
      write: ['deep/dist/**'],
    })
    expect(used.out).toContain("cannot remove 'deep/dist'")
    expect(used.beyond).toEqual(NOTHING)
    expect(readdirSync(root)).toEqual(['README.md'])
    await run('other', 'echo new > deep/dist/a', { write: ['deep/dist/**'] })
    expect(readFileSync(join(root, 'deep/dist/a'), 'utf8')).toBe('new\n')
    await run('own', 'ls -d other/one', { write: ['other/one/two/**'] })
    expect(readdirSync(root)).toEqual(['README.md', 'deep'])
  })

  test('with many names beside it, it is itself the only writable place', async () => {
    const { make, run } = setup()
    for (let at = 0; at < 250; at++) make(`work/file${at}`)
    const { out, beyond } = await run('own', `echo a > dist/a; (echo no > new) 2>&1; ${REBUILD}`, {
      write: ['dist/**'],
    })
    expect(out).toMatch(/create new: Read-only file system\n.*remove 'dist': Read-only file system/)
    expect(beyond).toEqual(NOTHING)
  })

  test('more names than can be closed are refused in our words', async () => {
    const { make, run } = setup()
    for (let at = 0; at < 2_001; at++) make(`work/file${at}`)
    await expect(run('own', 'true', { write: ['VERSION'] })).rejects.toThrow(/more than 2000 names stand beside/)
  })

  test('a link of that name is not followed', async () => {
    const { base, root, make, run } = setup()
    make('outside/a', 'mine\n')
    make('work/src/a', 'mine\n')
    symlinkSync(join(base, 'outside'), join(root, 'dist'))
    symlinkSync('src', join(root, 'inner'))
    for (const who of ['own', 'other'] as const)
      for (const write of [['dist'], ['dist/**'], ['inner'], ['inner/**']])
        await run(who, 'echo no > dist/a; echo no > inner/a; echo no > src/a', { write })
    for (const path of ['outside/a', 'work/src/a']) expect(readFileSync(join(base, path), 'utf8')).toBe('mine\n')
  })

  test('two tasks in parallel with new folders both keep their files', async () => {
    const { root, make, run } = setup()
    make('work/README.md')
    const build = (name: string) => `mkdir -p ${name}; for i in 1 2 3 4 5; do echo $i > ${name}/$i; done; cat ${name}/5`
    for (const who of ['own', 'other'] as const) {
      const names = ['a', 'b', 'c'].map(name => `${who}/${name}`)
      const all = await Promise.all(names.map(name => run(who, build(name), { write: [`${name}/**`] })))
      expect(all.map(({ out }) => out)).toEqual(['5', '5', '5'])
      for (const name of names) expect(readdirSync(join(root, name))).toHaveLength(5)
    }
  })
})

describe.skipIf(!standing.ok)('what is looked at afterwards', () => {
  const WAIT = 'echo now; read -r go'

  test('a closed file that somebody replaced meanwhile, and what the command then wrote into it', async () => {
    const { root, make, run } = setup()
    make('work/README.md', 'mine\n')
    make('work/other.md', 'mine\n')
    const { beyond } = await run('own', `${WAIT}; echo overwritten > README.md; echo 2 > VERSION`, {
      write: ['VERSION'],
      meanwhile: () => {
        writeFileSync(join(root, 'saved'), 'mine, saved\n')
        renameSync(join(root, 'saved'), join(root, 'README.md'))
      },
    })
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('overwritten\n')
    expect(beyond).toEqual({ appeared: [], changed: ['README.md'] })
  })

  test('a closed folder that was replaced, a link that leads elsewhere, and new names', async () => {
    const { root, make, run } = setup()
    make('work/src/a')
    symlinkSync('src', join(root, 'link'))
    const { beyond } = await run('other', `${WAIT}; ln -sfn / link; echo 2 > VERSION; echo x > new`, {
      write: ['VERSION'],
      meanwhile: () => {
        rmSync(join(root, 'src'), { recursive: true })
        make('work/src/a')
      },
    })
    expect(beyond).toEqual({ appeared: ['new'], changed: ['link', 'src'] })
  })

  test('edits inside a closed folder are nobody’s concern', async () => {
    const { make, run } = setup()
    make('work/src/a')
    const meanwhile = () => make('work/src/b')
    expect((await run('own', `${WAIT}; mkdir dist`, { write: ['dist/**'], meanwhile })).beyond).toEqual(NOTHING)
  })
})

describe.skipIf(!standing.ok)('caches of tools in the workspace', () => {
  test('are private scratch for everybody, and nothing stays behind', async () => {
    const { root, make, run } = setup()
    make('work/node_modules/x/index.js')
    make('work/node_modules/.cache/old', 'old\n')
    make('work/packages/a/node_modules/y/index.js')
    make('work/pyproject.toml')
    make('work/Cargo.lock')
    const script = `for i in node_modules packages/a/node_modules; do echo x > $i/.vite-temp/x && mkdir -p $i/.vite/deps && echo x > $i/.cache/x; done
      echo x > .pytest_cache/x; echo x > target/x; ls -A node_modules/.cache; (echo no > node_modules/x/index.js) 2>/dev/null; echo $PYTHONDONTWRITEBYTECODE $COVERAGE_FILE`
    for (const who of ['own', 'other'] as const)
      for (const write of [['dist/**'], [], ['VERSION']]) {
        const { out, beyond } = await run(who, script, { write })
        expect({ out, beyond }).toEqual({ out: 'x\n1 /tmp/.coverage', beyond: NOTHING })
      }
    const declared = await run('other', 'echo "${COVERAGE_FILE-beside the tests}"', { write: ['.coverage'] })
    expect(declared.out).toBe('beside the tests')
    expect(readdirSync(root).sort()).toEqual(['Cargo.lock', 'node_modules', 'packages', 'pyproject.toml'])
    expect(readdirSync(join(root, 'node_modules')).sort()).toEqual(['.cache', 'x'])
    expect(readdirSync(join(root, 'node_modules/.cache'))).toEqual(['old'])
  })
})

test('lines that hold credentials are taken out, others stay', () => {
  const kept = [
    'registry=https://r.example/',
    'index-url = https://r.example/simple',
    '[url "ssh://git@github.com/"]',
    '[credential]',
    '\thelper = store',
    'email = ana@example.org',
    '[registries.x]',
  ]
  const gone = [
    '//r.example/:_authToken=abc',
    '_auth=abc',
    '_password = "abc"',
    'username=ana',
    'token = "abc"',
    'x = { index = "i", token = "abc" }',
    'npmAuthToken: abc',
    '\textraheader = Authorization: Basic abc',
  ]
  expect(withoutCredentials([...kept, ...gone].join('\n')).split('\n')).toEqual(kept)
  // Without its address, a package manager would ask the public registry.
  const addresses = ['extra-index-url = https://ana:abc@r.example/simple', '[url "https://abc@github.com/"]'].join('\n')
  expect(withoutCredentials(addresses)).toBe('extra-index-url = https://r.example/simple\n[url "https://github.com/"]')
})
