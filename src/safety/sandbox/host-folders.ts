// What of this machine a sandboxed command sees, all of it read-only: an allow list of system folders, and the toolchains that are on
// PATH. Homes, sockets, other people's files and the rest of /etc are not there. Nothing of the list need exist.

import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../find-program.ts'

const SYSTEM = ['/usr', '/opt', '/nix/store', '/gnu/store']
/** Links into /usr on most systems. */
const ALIASES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Of /etc only what programs need to start: never shadow, keys, or the configuration of services. */
const ETC = [
  ...['passwd', 'group', 'hosts', 'nsswitch.conf', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust/extracted', 'crypto-policies'],
  ...['localtime', 'timezone', 'locale.conf', 'mime.types', 'protocols', 'services', 'os-release', 'debian_version'],
  ...['java-17-openjdk', 'java-21-openjdk', 'python3', 'perl', 'fonts', 'magic', 'terminfo', 'gitattributes'],
]
/** Folders of a home that hold programs and what they load, when PATH leads into them; each with what must not be seen of it. */
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

/** A mount as arguments of bubblewrap. */
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

/** The toolchains that PATH leads into; `home` is the person's own. What lies below one of `not` is left out. */
export function toolchainMounts(path: string, home: string, not: readonly string[]): Mounts {
  const mounts: string[] = []
  const shown = new Set<string>()
  const show = (folder: string, hidden: readonly string[] = []): void => {
    if (shown.has(folder) || !exists(folder) || not.some(held => isWithin(folder, held))) return
    shown.add(folder)
    mounts.push('--ro-bind', folder, folder)
    for (const name of hidden) if (exists(join(folder, name))) mounts.push('--ro-bind', '/dev/null', join(folder, name))
  }
  for (const entry of new Set(path.split(':'))) {
    if (!entry.startsWith('/') || !exists(entry)) continue
    for (const place of new Set([entry, realpathSync(entry)])) {
      if (isSystem(place)) continue
      const known = TOOLCHAINS.find(([folder]) => isWithin(place, join(home, folder)))
      if (known !== undefined) show(join(home, known[0]), known[1])
      else for (const folder of prefixOf(place, home)) show(folder)
    }
  }
  // Its programs only pass on to those in the other.
  if (shown.has(join(home, '.cargo'))) show(join(home, '.rustup'))
  return mounts
}

/** A folder of programs, and beside it what they load, as `make install` puts it; never a home or the root themselves. */
function prefixOf(place: string, home: string): readonly string[] {
  const parent = dirname(place)
  if (basename(place) !== 'bin' || parent === '/' || isWithin(home, parent)) return [place]
  return [place, ...['lib', 'lib64', 'libexec', 'share', 'include'].map(name => join(parent, name))]
}

export const isSystem = (place: string): boolean => [...SYSTEM, ...ALIASES].some(folder => isWithin(place, folder))

const exists = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
