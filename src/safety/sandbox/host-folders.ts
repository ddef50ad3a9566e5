// The folders of this machine that a sandboxed command sees, all read-only: an allow list of system folders, and the toolchains on PATH.
// Not homes, sockets, other users' files, or the rest of /etc. Missing ones are skipped.

import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { realOrNull } from '../files/real-path.ts'
import { isWithin } from '../find-program.ts'

const SYSTEM = ['/usr', '/opt', '/nix/store', '/gnu/store']
const ALIASES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** From /etc only what programs need to start: never shadow, keys, or service configuration. */
const ETC = [
  ...['passwd', 'group', 'hosts', 'nsswitch.conf', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust/extracted', 'crypto-policies'],
  ...['localtime', 'timezone', 'locale.conf', 'mime.types', 'protocols', 'services', 'os-release', 'debian_version'],
  ...['java-17-openjdk', 'java-21-openjdk', 'python3', 'perl', 'fonts', 'magic', 'terminfo', 'gitattributes'],
]
/** Toolchain folders of a home, if PATH leads into them, each with the parts to hide. */
const TOOLCHAINS: readonly (readonly [string, readonly string[]])[] = [
  ...['.nvm', '.pyenv', '.rbenv', '.nodenv', '.goenv', '.asdf', '.volta', '.sdkman', '.deno', '.bun', '.ghcup'].map(
    folder => [folder, []] as const,
  ),
  ...['.rustup', '.juliaup', '.dotnet', '.elan', '.opam', '.fnm', '.local/bin', '.local/lib', 'bin', 'go', 'sdk'].map(
    folder => [folder, []] as const,
  ),
  ...['mise', 'pnpm', 'pipx', 'uv', 'fnm', 'rtx'].map(folder => [`.local/share/${folder}`, []] as const),
  ['.cargo', ['credentials', 'credentials.toml', 'config', 'config.toml']],
]

export type Mounts = readonly string[]

export function systemMounts(): Mounts {
  const mounts: string[] = []
  for (const folder of SYSTEM) if (exists(folder)) mounts.push('--ro-bind', folder, folder)
  for (const path of ALIASES) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink()) mounts.push('--symlink', readlinkSync(path), path)
    else if (stat !== undefined) mounts.push('--ro-bind', path, path)
  }
  for (const name of ETC) if (exists(`/etc/${name}`)) mounts.push('--ro-bind', `/etc/${name}`, `/etc/${name}`)
  return mounts
}

export interface Seen {
  readonly path: string
  readonly home: string
  readonly readable: readonly string[]
  /** Excluded: the workspace, and Planfold's state. */
  readonly not: readonly string[]
}

export interface Toolchains {
  readonly mounts: Mounts
  readonly shown: readonly string[]
}

/** The sandbox has its own. */
const OWN = ['/proc', '/dev', '/tmp', '/etc', '/run']

/**
 * The toolchains on PATH. From a folder around the home, the workspace or one of the sandbox's own folders, only the programs directly in it
 * are shown: mounting all of it would cover those, and expose the rest of a home.
 */
export function toolchainMounts({ path, home, readable, not }: Seen): Toolchains {
  const mounts: string[] = []
  const shown = new Set<string>()
  const held = [...OWN, ...not, resolve(home), realOrNull(home) ?? home]
  const show = (folder: string, hidden: readonly string[] = []): void => {
    if (shown.has(folder) || !exists(folder) || not.some(one => isWithin(folder, one))) return
    shown.add(folder)
    mounts.push('--ro-bind', folder, folder)
    for (const name of hidden) if (exists(join(folder, name))) mounts.push('--ro-bind', '/dev/null', join(folder, name))
  }
  const showPrograms = (folder: string): void => {
    const isAround = held.some(one => isWithin(one, folder))
    for (const path of isAround ? programsIn(folder) : [folder]) show(path)
  }
  for (const entry of new Set(path.split(':'))) {
    if (!entry.startsWith('/') || !exists(entry)) continue
    for (const place of new Set([resolve(entry), realpathSync(entry)])) {
      if (isSystem(place)) continue
      const known = TOOLCHAINS.find(([folder]) => isWithin(place, join(home, folder)))
      if (known !== undefined) show(join(home, known[0]), known[1])
      else prefixOf(place, home).forEach(showPrograms)
    }
  }
  // Cargo's programs only delegate to those of rustup.
  if (shown.has(join(home, '.cargo'))) show(join(home, '.rustup'))
  for (const folder of readable) if (!isSystem(folder)) showPrograms(folder)
  return { mounts, shown: [...shown] }
}

function programsIn(folder: string): readonly string[] {
  const isProgram = (path: string): boolean => {
    const stat = statOrNull(path)
    return stat?.isFile() === true && (stat.mode & 0o111) !== 0
  }
  const names = orElse(() => readdirSync(folder), []).filter(name => !name.startsWith('.'))
  return names.map(name => join(folder, name)).filter(isProgram)
}

/** A folder of programs with its libraries beside it, as by `make install`; never a home or the root. */
function prefixOf(place: string, home: string): readonly string[] {
  const parent = dirname(place)
  if (basename(place) !== 'bin' || parent === '/' || isWithin(home, parent)) return [place]
  return [place, ...['lib', 'lib64', 'libexec', 'share', 'include'].map(name => join(parent, name))]
}

export const isSystem = (place: string): boolean => [...SYSTEM, ...ALIASES].some(folder => isWithin(place, folder))

const exists = (path: string): boolean => statOrNull(path) !== null

const statOrNull = (path: string): Stats | null => orElse(() => statSync(path, { throwIfNoEntry: false }) ?? null, null)
