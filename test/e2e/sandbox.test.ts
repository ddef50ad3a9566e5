import { execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer, type Server } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { planfoldIn } from './in-process.fixture.ts'
import { MAIN } from './planfold.fixture.ts'

// Real plans with commands that want out, as root and as an ordinary user. What is outside is looked at as a whole before and after. What
// holds for each user is tried in the built program; the rest starts its sandboxes from this process.

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)
const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
/** What a coding agent starts is not the person's own. */
const BY_AGENT = { CLAUDECODE: '1' }
const USERS = isRoot ? ([0, NOBODY] as const) : ([process.getuid?.() ?? 0] as const)

// Not below a folder that is private inside: there a write would succeed, and be gone.
const base = join(isRoot ? '/srv' : homedir(), `planfold-sandbox-${process.pid}`)
let listener: Server
let port = 0
let reached = 0

beforeAll(async () => {
  mkdirSync(base, { recursive: true, mode: 0o755 })
  listener = createServer(socket => {
    reached++
    socket.destroy()
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  port = (listener.address() as { port: number }).port
})
afterAll(() => {
  listener.close()
  rmSync(base, { recursive: true, force: true })
})

interface Run {
  readonly code: number | null
  readonly out: string
}

class World {
  readonly folder: string
  readonly root: string
  readonly uid: number
  readonly #isBuilt: boolean

  /** As the user of this process, whose commands need no process of their own; as another, each has one. */
  constructor(name: string, uid?: number) {
    this.#isBuilt = uid !== undefined
    this.uid = uid ?? process.getuid?.() ?? 0
    this.folder = join(base, `${name}-${this.uid}`)
    this.root = join(this.folder, 'work')
    mkdirSync(join(this.root, 'src'), { recursive: true })
    mkdirSync(join(this.folder, 'home/.ssh'), { recursive: true })
    writeFileSync(join(this.folder, 'home/.ssh/id_key'), 'PRIVATE KEY\n', { mode: 0o600 })
    writeFileSync(join(this.folder, 'notes.txt'), 'mine\n')
    writeFileSync(join(this.root, 'README.md'), '# read me\n')
    writeFileSync(join(this.root, 'package.json'), '{}\n')
    execFileSync('git', ['init', '-q', this.root])
    if (isRoot && this.uid !== 0) execFileSync('chown', ['-R', `${uid}:${uid}`, this.folder])
  }

  /** To its end; in a process of its own when it stands `behind` another program. */
  async run(...asked: Parameters<World['start']>): Promise<Run> {
    const [argv, more, behind] = asked
    if (this.#isBuilt || behind !== undefined) return await this.start(...asked).ended
    const { exit, stdout, stderr } = await planfoldIn(this.root, this.#environment(more))(...argv)
    return { code: exit, out: stdout + stderr }
  }

  #environment(more: { readonly [name: string]: string } = {}): { readonly [name: string]: string | undefined } {
    return { PATH: process.env.PATH, HOME: join(this.folder, 'home'), PLANFOLD_AS: 'ana', TZ: 'UTC', ...more }
  }

  start(argv: readonly string[], more: { readonly [name: string]: string } = {}, behind: readonly string[] = []) {
    const env = this.#environment(more)
    const [file = '', ...args] = [...behind, process.execPath, MAIN, ...argv]
    const child = spawn(file, args, {
      cwd: this.root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(isRoot ? { uid: this.uid, gid: this.uid } : {}),
    })
    let out = ''
    const ended = new Promise<Run>(resolve => child.on('close', code => resolve({ code, out })))
    /** Until it has said this. */
    const says = (words: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (out.includes(words)) resolve()
        }
        for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
        look()
        void ended.then(() => reject(new Error(`it ended without saying '${words}': ${out}`)))
      })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text
      })
    return { child, ended, says }
  }

  async plan(text: string, more?: { readonly [name: string]: string }, behind?: readonly string[]): Promise<Run> {
    this.write(text)
    return await this.run(['run', 'plan.yaml'], more, behind)
  }

  write(plan: string): void {
    const file = join(this.root, 'plan.yaml')
    writeFileSync(file, plan)
    chownSync(file, this.uid, this.uid)
  }

  /** Everything outside what may change, by name and content. */
  outside(): ReadonlyMap<string, string> {
    const seen = new Map<string, string>()
    const walk = (at: string): void => {
      for (const name of readdirSync(join(this.folder, at))) {
        const path = join(at, name)
        if (path === 'work/src' || path === 'work/.planfold' || path === 'work/plan.yaml') continue
        const stat = lstatSync(join(this.folder, path))
        if (stat.isDirectory()) walk(path)
        else seen.set(path, stat.isFile() ? readFileSync(join(this.folder, path), 'utf8') : 'other')
      }
    }
    walk('')
    return seen
  }
}

const script = (lines: readonly string[]): string => JSON.stringify(lines.join('\n'))
const one = (id: string, lines: readonly string[], more = ''): string => `planfold: 1
name: ${id}
tasks:
  - id: ${id}
    run: ${script(lines)}
    write: [src/**]
    network: []
${more}`

/**
 * Doubles until the limit stops it. By itself it would end at some thousands that sleep, so that a fault harms no machine. Some of its
 * processes stay: those that the kernel refuses to fork end by themselves, perhaps before anybody has counted.
 */
const BOMB = [
  'for one in $(seq 70); do sleep 60 & done',
  'b() { if [ "$1" -gt 11 ]; then sleep 60; else b $(($1 + 1)) & b $(($1 + 1)) & wait; fi; }',
  'b 0',
  'wait',
]

/** Each call with what came of it: the numbers are those of x86-64 and of 64-bit ARM. */
const CALLS = `
my $n = { 'x64' => 0, 'arm64' => 1 }->{'${process.arch}'};
my $byte = 'x';
my ($from, $to) = (pack('QQ', unpack('Q', pack('p', $byte)), 1), pack('QQ', 4096, 1));
my $path = "tmpfs\\0";
my @calls = (
  ['attach', [101, 117], 16, 1, 0, 0], ['seize', [101, 117], 0x4206, 1, 0, 0], ['write memory', [311, 271], 1, $from, 1, $to, 1, 0],
  ['add_key', [248, 217], 0, 0, 0, 0, 0], ['request_key', [249, 218], 0, 0, 0, 0], ['keyctl', [250, 219], 0, -3, 0, 0, 0],
  ['bpf', [321, 280], 0, 0, 0], ['perf', [298, 241], 0, 0, -1, -1, 0], ['userfaultfd', [323, 282], 1], ['io_uring', [425, 425], 1, 0],
  ['mount', [165, 40], 0, 0, 0, 0, 0], ['fsopen', [430, 430], $path, 0], ['unshare', [272, 97], 0x10000000],
  ['pidfd_getfd', [438, 438], 0, 3, 0], ['TIOCSTI', [16, 29], 0, 0x5412, 0], ['TIOCSTI, upper half set', [16, 29], 0, 0x100005412, 0],
  ['child', [101, 117], 0, 0, 0, 0],
);
print '{', join(',', map { my ($name, $number, @rest) = @$_; $! = 0; my $got = syscall($number->[$n], @rest);
  my $said = $got == -1 ? ($! == 1 ? 'EPERM' : "errno " . ($! + 0)) : 'done'; qq("$name":"$said") } @calls), "}\\n";
`

describe.skipIf(!standing.ok)('a command that is shut in', () => {
  test.each(USERS)(
    'works as user %i: it reads the workspace, writes its scope, has a home, node and git',
    async uid => {
      const world = new World('works', uid)
      const { code, out } = await world.plan(
        one('works', [
          'cat README.md > src/copy',
          'echo x > "$HOME/x"',
          'echo y > /tmp/y',
          'git status --short',
          'node -e 0',
        ]),
        BY_AGENT,
      )
      expect(out, out).toContain('works completed')
      expect(code).toBe(0)
      expect(readFileSync(join(world.root, 'src/copy'), 'utf8')).toBe('# read me\n')
      expect(existsSync(join(world.folder, 'home/x'))).toBe(false)
    },
  )

  test.each(USERS)('reaches nothing outside as user %i', async uid => {
    const world = new World('outside', uid)
    symlinkSync('/etc', join(world.root, 'src/etc'))
    symlinkSync(join(world.folder, 'notes.txt'), join(world.root, 'src/notes'))
    const before = world.outside()
    const heard = reached
    const tries = [
      `echo no > ${world.root}/package.json`,
      `echo no > ${world.root}/new.txt`,
      `echo no > ${world.root}/.git/hooks/pre-commit`,
      `echo no > ${world.root}/.git/config`,
      `echo no > ${world.folder}/notes.txt`,
      `echo no > ${world.folder}/new.txt`,
      `echo no > ${world.folder}/work2`,
      'echo no > src/notes',
      'echo no > src/etc/planfold-was-here',
      `cat ${world.folder}/home/.ssh/id_key`,
      'cat /etc/shadow',
      `cat ${world.root}/.planfold/planfold.db`,
      `mv ${world.root}/.git ${world.root}/src/git`,
      'echo no > /usr/planfold-was-here',
      'mount -o remount,rw /usr',
      'mount -t tmpfs none /mnt',
      'unshare -Ur true',
      `kill -9 ${process.pid}`,
      'echo core > /proc/sys/kernel/core_pattern',
      'ls /var/run/docker.sock /run/dbus/system_bus_socket /run/systemd',
      `node -e 'require("net").connect(${port}, "127.0.0.1").on("connect", () => process.exit(0)).on("error", () => process.exit(1))'`,
      'cat /proc/1/environ | tr "\\0" "\\n" | grep SECRET_OF_PLANFOLD',
    ]
    const lines = tries.map((line, at) => `if ( ${line} ) >/dev/null 2>&1; then echo "got out: ${at}"; fi`)
    const { out } = await world.plan(one('outside', [...lines, 'echo tried']), { SECRET_OF_PLANFOLD: 'x', ...BY_AGENT })
    expect(out).toContain('tried')
    expect(out.match(/got out: \d+/g) ?? []).toEqual([])
    expect(world.outside()).toEqual(before)
    expect(existsSync('/usr/planfold-was-here') || existsSync('/etc/planfold-was-here')).toBe(false)
    expect(reached).toBe(heard)
  })

  test.each(USERS)(
    'can do nothing to its process 1, and makes no calls that reach into the kernel, as user %i',
    async uid => {
      const world = new World('calls', uid)
      writeFileSync(join(world.root, 'calls.pl'), CALLS)
      const { out } = await world.plan(
        one('calls', [
          'perl calls.pl',
          'kill -STOP 1; kill -KILL 1; grep -q "^State:.[SR]" /proc/1/status && echo process 1 goes on',
          '(: > /proc/1/mem) 2>/dev/null || echo its memory is closed',
          '(readlink /proc/1/fd/3 || : > /proc/1/fd/3) 2>/dev/null || echo its descriptors are closed',
        ]),
      )
      const { child, ...refused } = JSON.parse(/\{.*\}/.exec(out)?.[0] ?? '{}') as { [name: string]: string }
      expect(child).toBe('done')
      expect(Object.keys(refused).length).toBe(16)
      for (const [name, what] of Object.entries(refused)) expect([name, what]).toEqual([name, 'EPERM'])
      expect(out).toContain('process 1 goes on')
      expect(out).toContain('its memory is closed')
      expect(out).toContain('its descriptors are closed')
    },
  )

  test.each(USERS)('ends when it has too many processes, or too much memory, as user %i', async uid => {
    const world = new World('limits', uid)
    // Four times what they may have, and then they stay, however late somebody looks.
    const eater =
      'node -e "const all = []; while (all.length < 80) all.push(Buffer.alloc(10e6, 1)); setInterval(() => {}, 1e6)"'
    const filler = 'head -c 800M /dev/zero > /tmp/file; sleep 600'
    const tasks = Object.entries({ bomb: BOMB, eater: [eater], filler: [filler] }).map(
      ([id, lines]) => `  - { id: ${id}, run: ${script(lines)}, write: [src/**], network: [] }\n`,
    )
    const limits = 'policy: { limits: { memory: 200MB, processes: 50 } }\n'
    const { code, out } = await world.plan(
      `planfold: 1\nname: limits\nconcurrency: 1\ntasks:\n${tasks.join('')}${limits}`,
    )
    expect(code, out).toBe(1)
    expect(out).toContain(
      'bomb failed: it had more than 50 processes and threads at once (policy.limits.processes), and was ended',
    )
    for (const id of ['eater', 'filler'])
      expect(out).toContain(`${id} failed: it used more than 190.7 MiB of memory (policy.limits.memory), and was ended`)
  })

  test('of a plan that came from elsewhere has the limits of this machine, whatever the plan says', async () => {
    const world = new World('raised')
    const text = `${one('raised', BOMB)}policy: { limits: { processes: 100000 } }\n`
    const machine = { PLANFOLD_SANDBOX: 'required', PLANFOLD_PROCESSES_MAX: '60' }
    const { out } = await world.plan(text, machine)
    expect(out).toContain('it had more than 60 processes and threads at once')
  })

  test('of somebody else that makes files beside those it declares fails, and they are moved away', async () => {
    const world = new World('beside')
    const text = one('beside', [
      'echo new > README.md',
      'sed -i s/new/newer/ README.md',
      'echo x > extra.txt',
      'mkdir .vscode',
    ])
    const { code, out } = await world.plan(text.replace('src/**', 'README.md'), BY_AGENT)
    expect(code).toBe(1)
    expect(out).toContain("'.vscode', 'extra.txt' appeared outside its write scope while it ran")
    expect(existsSync(join(world.root, 'extra.txt')) || existsSync(join(world.root, '.vscode'))).toBe(false)
    const moved = () => execFileSync('find', [join(world.root, '.planfold/outside-scope')]).toString()
    expect(moved()).toContain('extra.txt')
    expect((await world.run(['prune'])).out).not.toContain('outside-scope')
    expect((await world.run(['prune', '--before', '1ms'])).out).toContain('extra.txt')
    expect(moved()).toContain('extra.txt')
    await world.run(['prune', '--before', '1ms', '--yes'])
    expect(moved()).not.toContain('extra.txt')
  })

  test('leaves protected places that were there, links too, and finds new ones below a declared folder', async () => {
    const world = new World('stood')
    mkdirSync(join(world.root, '.idea'))
    symlinkSync('.idea', join(world.root, '.vscode'))
    const all = await world.plan(one('all', ['echo x > any']).replace('    write: [src/**]\n', ''))
    expect(all.code, all.out).toBe(0)
    expect(lstatSync(join(world.root, '.vscode')).isSymbolicLink()).toBe(true)
    const deep = one('deep', ['mkdir -p src/a/.vscode', 'echo x > README.md']).replace('src/**', 'README.md, src/**')
    const { code, out } = await world.plan(deep, BY_AGENT)
    expect(code).toBe(1)
    expect(out).toContain("'src/a/.vscode' appeared outside its write scope while it ran")
  })

  test('may write everything but instructions for agents, unless it names them, and then it is asked about', async () => {
    const world = new World('instructions')
    writeFileSync(join(world.root, 'AGENTS.md'), 'be kind\n')
    const wide = (id: string, line: string) => one(id, [line]).replace('src/**', '"**"').replace('network: []', '')
    const old = await world.plan(wide('old', 'echo be evil > AGENTS.md'))
    expect(old.code, old.out).toBe(1)
    expect(old.out).toContain('Read-only file system')
    const fresh = `${wide('fresh', 'mkdir docs; echo be evil > docs/CLAUDE.md')}  - { id: other, needs: fresh, run: ls, write: ["**"] }\n`
    expect((await world.plan(fresh, BY_AGENT)).out).toContain(
      "'docs/CLAUDE.md' appeared outside its write scope while it ran",
    )
    const named = await world.plan(wide('named', 'echo be kinder > AGENTS.md').replace('"**"', '"**", AGENTS.md'))
    expect(named.out).toContain('named waits for approval before it starts')
    expect(readFileSync(join(world.root, 'AGENTS.md'), 'utf8')).toBe('be kind\n')
    await world.run(['approve', 'named', 'named'])
    expect((await world.run(['resume', 'named'])).code).toBe(0)
    expect(readFileSync(join(world.root, 'AGENTS.md'), 'utf8')).toBe('be kinder\n')
  })

  test('may declare a whole repository: what is protected in it is not its own, and not captured', async () => {
    const world = new World('whole')
    mkdirSync(join(world.root, '.git'), { recursive: true })
    const all = (id: string, line: string) => one(id, [line]).replace('src/**', '"**"')
    const made = await world.plan(all('made', 'echo x > made'))
    expect(made.code, made.out).toBe(0)
    const refused = await world.plan(all('hook', 'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit'))
    expect(refused.code, refused.out).toBe(1)
    expect(existsSync(join(world.root, '.git/hooks/pre-commit'))).toBe(false)
    expect((await world.run(['rollback', 'made', '--yes'])).code).toBe(0)
    expect(existsSync(join(world.root, 'made'))).toBe(false)
  })

  test('may write a folder that is not there yet, and mounting makes nothing', async () => {
    const world = new World('absent')
    const made = await world.plan(one('absent', ['mkdir -p dist/a', 'echo x > dist/a/b']).replace('src/**', 'dist/**'))
    expect(made.code, made.out).toBe(0)
    expect(readFileSync(join(world.root, 'dist/a/b'), 'utf8')).toBe('x\n')
    const unmade = await world.plan(one('unmade', ['true']).replace('src/**', 'lib/deep/**'))
    expect(unmade.code, unmade.out).toBe(0)
    expect(existsSync(join(world.root, 'lib'))).toBe(false)
  })

  test('of a plan that came from another format is shut in, whatever the plan says', async () => {
    const world = new World('import')
    writeFileSync(join(world.root, 'todo.md'), '# Todo\n\n- [ ] one\n')
    const { out } = await world.run(['import', 'todo.md', '--name', 'todo'])
    expect(out).toContain('todo')
    const log = await world.run(['export', 'todo', '--to', 'journal'])
    expect(log.out).toContain('"outside":true')
    await world.run(['run', 'todo'])
    const started = await world.run(['export', 'todo', '--to', 'journal'])
    expect(started.out).toMatch(/"type":"plan.started"[^}]*"sandbox":"required"/)
  })
})

describe.skipIf(!standing.ok)('everything that a plan has run is shut in', () => {
  // Only inside is the machine called so.
  const IS_INSIDE = JSON.stringify('[ "$(uname -n)" = sandbox ]')

  test('commands, checks before and after, compensation, the definition of done, and hooks', async () => {
    const world = new World('all')
    const good = await world.plan(`planfold: 1
name: all
policy: { network: [] }
done: [{ check: ${IS_INSIDE} }]
notify: [{ run: ${IS_INSIDE} }]
tasks:
  - id: work
    run: ${script(['uname -n > src/run'])}
    write: [src/**]
    preconditions: [{ check: ${IS_INSIDE} }]
    accept: [{ check: ${IS_INSIDE} }]
    postconditions: [{ check: ${IS_INSIDE} }]
`)
    expect(good.code, good.out).toBe(0)
    expect(readFileSync(join(world.root, 'src/run'), 'utf8')).toBe('sandbox\n')
    const journal = await world.run(['export', 'all', '--to', 'journal'])
    const told = journal.out.split('\n').filter(line => line.includes('"notice.sent"'))
    expect(told.join('\n')).toContain('"kind":"completed"')
    expect(told.join('\n')).not.toContain('"failure"')
    const bad = await world.plan(`planfold: 1
name: bad
policy: { network: [] }
notify: [{ run: "echo told from $(uname -n) > told; exit 1" }]
tasks:
  - id: work
    run: ['true']
    write: [src/**]
    compensate: { run: ${script(['uname -n > src/undone'])} }
  - { id: fails, needs: work, run: ['false'] }
`)
    expect(bad.code, bad.out).toBe(1)
    expect(readFileSync(join(world.root, 'src/undone'), 'utf8')).toBe('sandbox\n')
    // A hook tells; what it would write belongs to no task.
    expect(existsSync(join(world.root, 'told'))).toBe(false)
    expect((await world.run(['export', 'bad', '--to', 'journal'])).out).toContain('Read-only file system')
  })

  test('a probe after a crash', async () => {
    const world = new World('probe')
    const text = `planfold: 1
name: probe
tasks:
  - id: work
    run: ${script(['echo began > src/began', 'sleep 60'])}
    write: [src/**]
    effect: probed
    probe: ${IS_INSIDE}
`
    writeFileSync(join(world.root, 'plan.yaml'), text)
    const { child, ended } = world.start(['run', 'plan.yaml'])
    while (!existsSync(join(world.root, 'src/began'))) await new Promise(resolve => setTimeout(resolve, 20))
    child.kill('SIGKILL')
    await ended
    const { code, out } = await world.run(['resume', 'probe'])
    expect(code, out).toBe(0)
    expect((await world.run(['export', 'probe', '--to', 'journal'])).out).toContain('it had happened before the crash')
  })

  test('steps with `tool:`, and a file that is read is no link', async () => {
    const world = new World('tools')
    symlinkSync('/etc/hostname', join(world.root, 'link'))
    const plans = {
      good: [
        { id: 'say', tool: 'bash', params: { command: 'uname -n > src/tool' } },
        { id: 'read', tool: 'read_file', params: { path: 'README.md' } },
      ],
      reads: [{ id: 'leave', tool: 'read_file', params: { path: 'link' } }],
      searches: [{ id: 'leave', tool: 'search', params: { path: 'link', pattern: '.' } }],
    }
    for (const [name, steps] of Object.entries(plans)) {
      writeFileSync(join(world.root, 'p.json'), JSON.stringify({ name, tools: 'run', steps }))
      await world.run(['run', 'p.json'])
      await world.run(['approve', name, 'allow-steps'])
      const { out } = await world.run(['resume', name])
      expect(out).toContain(name === 'good' ? 'read completed' : 'leave failed: reading "link": it is a symbolic link')
    }
    expect(readFileSync(join(world.root, 'src/tool'), 'utf8')).toBe('sandbox\n')
    expect((await world.run(['show', 'good', 'read'])).out).toContain('# read me')
  })
})

describe.skipIf(!standing.ok)('the network of a command that is shut in', () => {
  test('is what it declares; what else it asks for is told, with the command that allows it', async () => {
    const world = new World('network')
    const call = ['git', 'ls-remote', 'https://example.org/repository.git'].join(' ')
    const { code } = await world.plan(one('network', [call]).replace('[]', '["https://git.example.com"]'))
    expect(code).toBe(1)
    const log = await world.run(['log', 'network', '--output'])
    expect(log.out).toContain(
      'asked for example.org:443: not allowed; allow with `planfold policy allow network https://example.org`',
    )
  })

  test('is asked about where the plan says so: a person answers, the connection goes on, and all of it is journaled', async () => {
    const world = new World('asked')
    const site = createHttp((_request, response) => response.end('from outside\n'))
    await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
    const address = `127.0.0.1:${(site.address() as { port: number }).port}`
    try {
      // Without --noproxy, programs do not send this machine's addresses to a proxy.
      const get = `curl -sS --noproxy '' http://${address}/a`
      const text = one('asked', [get, get, get]).replace('network: []', 'network: { allow: [], unknown: ask }')
      world.write(text)
      const running = world.start(['run', 'plan.yaml'])
      await running.says('Allow it?')
      const inbox = JSON.parse((await world.run(['inbox', '--json'])).out) as { data: { items: { id: string }[] } }
      const { id } = inbox.data.items[0]!
      const agent = await world.run(['answer', 'asked', id, 'allow=task'], { PLANFOLD_KEY: 'x/y/1' })
      expect(agent.out).toContain('a task may not answer this')
      expect((await world.run(['answer', 'asked', id, 'allow=task'])).code).toBe(0)
      const { code, out } = await running.ended
      expect(code, out).toBe(0)
      expect(out.match(/from outside/g)).toHaveLength(3)
      const log = await world.run(['log', 'asked'])
      expect(log.out).toContain(`planfold asks: task 'asked' asks for ${address}. Allow it?`)
      expect(log.out).toContain(`asked asked for ${address} (GET /a): allowed by http://${address}`)
      expect(log.out).toContain(`asked asked for ${address} 2 times: allowed`)
      const shown = await world.run(['show', 'asked', 'asked'])
      expect(shown.out).toContain(`asked for ${address} 3 times: allowed by http://${address}`)
    } finally {
      site.close()
    }
  })

  test('is told of to a program that ignores the proxy', async () => {
    const world = new World('ignores')
    const { code } = await world.plan(
      one('ignores', ["node -e 'fetch(`https://git.example.com`)'"]).replace('[]', '["https://git.example.com"]'),
    )
    expect(code).toBe(1)
    const log = await world.run(['log', 'ignores', '--output'])
    expect(log.out).toContain('a program that ignores these variables reaches nothing')
  })

  test('`off` is told when the plan begins', async () => {
    const world = new World('off')
    const { code, out } = await world.plan(`${one('off', ['echo ran'])}policy: { sandbox: off }\n`)
    expect(code).toBe(0)
    expect(out).toContain('policy.sandbox is off: commands of this plan run with your permissions')
    const log = await world.run(['log', 'off'])
    expect(log.out).toContain('plan started; policy.sandbox is off: its commands run with your permissions')
  })
})

describe('without a sandbox', () => {
  // This machine, with nothing where bubblewrap is.
  const hidden = standing.ok
    ? [standing.program, '--dev-bind', '/', '/', '--ro-bind', '/dev/null', realpathSync(standing.program)]
    : []
  test('`required` refuses with the hint; what a person wrote runs, and what is weaker is said', async () => {
    const world = new World('none')
    const strict = await world.plan(`${one('strict', ['echo ran'])}policy: { sandbox: required }\n`, {}, hidden)
    expect(strict.code, strict.out).toBe(1)
    expect(strict.out).toContain('bubblewrap (bwrap) is not installed')
    expect(strict.out).not.toContain('│ ran')
    const weak = await world.plan(one('weak', ['echo ran']), {}, hidden)
    expect(weak.code, weak.out).toBe(0)
    expect(weak.out).toContain('no sandbox here: what `write` and `network` say is not enforced')
    expect(weak.out.match(/no sandbox/g)).toHaveLength(1)
    expect(weak.out).toContain('│ ran')
    const told = await world.plan(
      one('told', ['echo ran']),
      { PLANFOLD_SANDBOX: 'preferred', HOME: world.root },
      hidden,
    )
    expect(told.out).toContain('│ ran')
    const log = await world.run(['log', 'weak', '--output'])
    expect(log.out).toContain('this command runs with your permissions')
  })

  test('`do` says it with the draft, before anybody approves', async () => {
    const world = new World('do')
    const programs = join(world.folder, 'bin')
    mkdirSync(programs)
    // Only looked for, not started.
    writeFileSync(join(programs, 'grok'), '#!/bin/sh\n', { mode: 0o755 })
    const words = ['do', 'Rename `read` to `look` in README.md', '--with', 'grok', '--model', 'openai-chat/scripted']
    const more = { PATH: `${programs}:${process.env.PATH}` }
    const { code, out } = await world.run(words, more, hidden)
    expect(code, out).toBe(4)
    expect(out).toContain('no sandbox here: you are asked before grok starts')
    expect((await world.run(['do', 'Rename `me` to `us` in README.md', ...words.slice(2)], more)).out).not.toContain(
      'no sandbox here',
    )
  })
})
