// The sandbox by bubblewrap: its arguments. Before the first use it is tested with a command that must fail in everything (`canary.ts`).

import { existsSync, realpathSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { findProgram, isWithin, programVersion, realOrSame } from '../find-program.ts'
import { answering, failure, refuse } from '../safety-refusal.ts'
import { inScope } from '../scope.ts'
import { canary } from './canary.ts'
import { type HomeView, homeView, isInHome } from './home-view.ts'
import { isSystem, systemMounts, toolchainMounts } from './host-folders.ts'
import { ARGUMENTS, type Forwarding, launcherMounts, launching } from './launcher.ts'
import { defaultLimits } from './resource-limits.ts'
import {
  INSTALL_HINT,
  type ProxiedNetwork,
  type Sandbox,
  type SandboxCheck,
  type SandboxDoor,
  type SandboxLimits,
  type SandboxNetwork,
  type SandboxRequest,
  type Wrapped,
} from './sandbox.ts'
import { syscallFilter } from './syscall-filter.ts'
import { copyMounts, workspaceMounts } from './workspace-mounts.ts'

const TMP_MAX_BYTES = 4 * 1024 ** 3
const HOME_MAX_BYTES = 2 * 1024 ** 3

/** Not `--die-with-parent`: with it, bubblewrap leaves a process that waits forever if it is killed during the setup. */
const WALLS = [
  ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--as-pid-1', '--new-session', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
]

export interface BubblewrapOptions {
  readonly environment: { readonly [name: string]: string | undefined }
  /** Folders that are not searched for helpers: the workspace. */
  readonly outside: readonly string[]
}

export function bubblewrap(options: BubblewrapOptions): Sandbox {
  let checked: Promise<SandboxCheck> | null = null
  const sandbox: Sandbox = {
    check() {
      checked ??= tried(options)
      return checked
    },
    async wrap(request) {
      const checked = await sandbox.check()
      if (!checked.ok) return { ok: false, failure: checked.failure }
      return await wrapped(checked.program, request, options.environment)
    },
  }
  return sandbox
}

async function tried({ environment, outside }: BubblewrapOptions): Promise<SandboxCheck> {
  if (process.platform !== 'linux')
    return missing('there is no sandbox on this system', 'run Planfold in a Linux container or virtual machine')
  if (syscallFilter() === null)
    return missing(
      `there is no sandbox for processors of the kind ${process.arch}`,
      'use a machine with x86-64 or ARM64',
    )
  const program = findProgram('bwrap', { path: environment.PATH, outside })
  if (program === null) return missing('there is no sandbox: bubblewrap (bwrap) is not installed', INSTALL_HINT)
  const found = statSync(program, { bigint: true, throwIfNoEntry: false })
  const key = [program, found?.dev, found?.ino, found?.size, found?.mtimeNs].join(' ')
  const trial = trials.get(key) ?? triedProgram(program, environment)
  trials.set(key, trial)
  const checked = await trial
  if (!checked.ok) trials.delete(key)
  return checked
}

/** A successful trial is cached in this process. After a failure, or with another program, it is repeated. */
const trials = new Map<string, Promise<SandboxCheck>>()

async function triedProgram(program: string, environment: BubblewrapOptions['environment']): Promise<SandboxCheck> {
  const version = await programVersion(program)
  if (version === null) return missing(`${program} does not say its version`, INSTALL_HINT)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major === 0 && minor < 8)
    return missing(`bubblewrap ${version} is too old: 0.8 is needed`, 'install a newer bubblewrap')
  const found = await canary(request => wrapped(program, request, environment), environment)
  if (found !== null)
    return missing(`the sandbox does not hold here: ${found.fault}`, found.isMade ? REPAIR_HINT : SANDBOX_HINT)
  return { ok: true, program, version }
}

const REPAIR_HINT = 'fix what the message names, and try again'
const SANDBOX_HINT =
  'allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)'

const missing = (message: string, hint: string): SandboxCheck => ({
  ok: false,
  failure: failure('policy', message, hint),
})

/** The argument limit of this bubblewrap. */
const ARGUMENTS_MAX = 9_000

async function wrapped(program: string, request: SandboxRequest, inherited: BubblewrapOptions['environment']) {
  return await answering('setting up the sandbox', async (): Promise<Wrapped> => {
    const { network, env, limits = defaultLimits() } = request
    const root = realpathSync(request.root)
    const view = viewOf(request, root, inherited)
    const own = view === null ? homeOf(env.HOME, root) : (env.HOME ?? view.folder)
    const toolchains = toolchainMounts({
      path: env.PATH ?? '',
      home: env.HOME ?? '/nonexistent',
      readable: request.readable ?? [],
      not: [root, realOrSame(request.stateDir), ...(view === null ? [] : [own, view.folder])],
    })
    const beside = isInHome(root, view) ? null : folderAround(root, own, toolchains.shown)
    const inMemory = [...(view === null ? [own] : []), ...(beside === null ? [] : [beside])]
    const workspace = request.copy === undefined ? workspaceMounts(request) : copyMounts(root, request.copy)
    const proxied = typeof network === 'object'
    const doors = network === 'host' ? [] : (request.doors ?? [])
    const forwarding = forwardingFor(network, doors)
    const mounts = [
      ...WALLS,
      ...(network === 'host' ? [] : ['--unshare-net']),
      ...systemMounts(),
      ...(network === 'host' && existsSync('/etc/resolv.conf')
        ? ['--ro-bind', realpathSync('/etc/resolv.conf'), '/etc/resolv.conf']
        : []),
      ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
      ...['--size', String(TMP_MAX_BYTES), '--tmpfs', '/dev/shm', '--size', String(TMP_MAX_BYTES), '--tmpfs', '/tmp'],
      ...['--symlink', '../tmp', '/var/tmp'],
      ...launcherMounts(),
      // Outer folders first, because they may be nested.
      ...inMemory
        .toSorted((a, b) => a.length - b.length)
        .flatMap(folder =>
          folder === own && request.home !== undefined
            ? ['--bind', realpathSync(request.home), folder]
            : ['--size', String(HOME_MAX_BYTES), '--tmpfs', folder],
        ),
      ...(view?.before ?? []),
      ...toolchains.mounts,
      ...workspace.mounts,
      ...(view?.after ?? []),
      ...workspace.last,
      ...(proxied ? ['--ro-bind', network.proxyFolder, PROXY_INSIDE] : []),
      ...doors.flatMap(({ folder, port }) => ['--ro-bind', folder, doorInside(port)]),
      ...(forwarding === null ? [] : ['--ro-bind', process.execPath, process.execPath]),
      ...(beside === null ? [] : ['--remount-ro', beside]),
      ...['--remount-ro', '/', '--chdir', request.cwd],
    ]
    if (mounts.length > ARGUMENTS_MAX) {
      workspace.release()
      refuse(
        'policy',
        'the sandbox would need more mounts than bubblewrap can make',
        'let `write` and `read` name whole folders',
      )
    }
    const isKept = request.home !== undefined
    return {
      file: program,
      args: ['--args', String(ARGUMENTS), '--', ...launching(request.argv, forwarding, processesMax(limits))],
      env: {
        ...environmentInside(env, own, proxied ? network.port : null),
        ...(request.write === null ? {} : { PYTHONDONTWRITEBYTECODE: env.PYTHONDONTWRITEBYTECODE ?? '1' }),
        // Tests that measure coverage write it beside the tested code, and fail if they cannot.
        ...(inScope(request.write, relative(root, join(request.cwd, '.coverage')))
          ? {}
          : { COVERAGE_FILE: env.COVERAGE_FILE ?? '/tmp/.coverage' }),
        ...view?.env,
      },
      mounts,
      writable: workspace.writable,
      inMemory: ['/tmp', '/dev/shm', ...workspace.scratch, ...inMemory.filter(folder => !isKept || folder !== own)],
      temporary: ['/tmp', ...(view === null && !isKept ? [own] : [])],
      limits,
      lookAfter: async () => workspace.lookAfter(),
      release: () => workspace.release(),
    }
  })
}

/** The user's home for their own command; null for an empty home. */
function viewOf(
  { own, home, env, write, stateDir }: SandboxRequest,
  root: string,
  inherited: BubblewrapOptions['environment'],
): HomeView | null {
  if (own === undefined || home !== undefined || !env.HOME?.startsWith('/')) return null
  return homeView({ home: env.HOME, root, write, stateDir, env, inherited, own })
}

/** A little above the limit, so that the watcher detects the excess and the kernel bounds it. */
const PROCESSES_BEYOND = 100

/** Since Linux 5.14 the limit applies per user namespace; before, to all processes of the user. */
function processesMax({ processes }: SandboxLimits): number | null {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 14) ? processes + PROCESSES_BEYOND : null
}

const PROXY_INSIDE = '/run/planfold/proxy'
const doorInside = (port: number): string => `/run/planfold/door-${port}`

/** The forwarding from the loopback inside to sockets outside; null for none. */
function forwardingFor(network: SandboxNetwork, doors: readonly SandboxDoor[]): Forwarding | null {
  const isProxied = typeof network === 'object'
  if (!isProxied && doors.length === 0) return null
  const proxy = join(PROXY_INSIDE, 'proxy.sock')
  const tcp = isProxied ? portsOf(network, doors) : []
  return {
    node: process.execPath,
    doors: [
      ...(isProxied ? [{ port: network.port, socket: proxy }] : []),
      ...doors.map(({ port, socket }) => ({ port, socket: join(doorInside(port), socket) })),
    ],
    tcp: tcp.map(to => ({ ...to, proxy })),
  }
}

function portsOf(
  { port, tcp = [] }: ProxiedNetwork,
  doors: readonly SandboxDoor[],
): NonNullable<ProxiedNetwork['tcp']> {
  const taken = new Map<number, string>([[port, 'the proxy'], ...doors.map(door => [door.port, 'Planfold'] as const)])
  for (const to of tcp) {
    const by = taken.get(to.port)
    if (by !== undefined)
      refuse(
        'policy',
        `port ${to.port} is wanted for ${to.host} and for ${by}`,
        'a tcp:// rule needs a port of its own',
      )
    taken.set(to.port, to.host)
  }
  return tcp
}

/** An empty home at the usual path, unless the workspace is there or around it. */
function homeOf(home: string | undefined, root: string): string {
  if (home === undefined || !home.startsWith('/') || home === '/' || isWithin(home, root)) return '/tmp/home'
  return home
}

/** A folder in memory where a write beside the workspace would seem to succeed; null where it fails anyway. */
function folderAround(root: string, home: string, shown: readonly string[]): string | null {
  const around = dirname(root)
  const isReadOnly = isSystem(around) || shown.some(folder => isWithin(around, folder))
  return ['/', '/tmp', '/dev/shm', home].includes(around) || isReadOnly ? null : around
}

/** They name the user's folders, which do not exist inside. */
const OF_THE_PERSON = /^(XDG_|TMP$|TEMP$|TMPDIR$)/

function environmentInside(
  env: { readonly [name: string]: string },
  home: string,
  proxyPort: number | null,
): { readonly [name: string]: string } {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_THE_PERSON.test(name)))
  if (proxyPort === null) return { ...kept, HOME: home, TMPDIR: '/tmp' }
  const proxy = `http://127.0.0.1:${proxyPort}`
  const none = 'localhost,127.0.0.1,::1'
  const proxies = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: none }
  const lower = Object.fromEntries(Object.entries(proxies).map(([name, value]) => [name.toLowerCase(), value]))
  return { ...kept, ...proxies, ...lower, HOME: home, TMPDIR: '/tmp' }
}
