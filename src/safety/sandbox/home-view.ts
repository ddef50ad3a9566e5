// The user's home as their own sandboxed command sees it: read-only, with credentials hidden, and with configuration files without the
// lines that contain credentials. Variables direct the caches of package managers to a private folder.

import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { realOrNull } from '../files/real-path.ts'
import { isWithin } from '../find-program.ts'
import { covers, type Patterns } from '../scope.ts'
import { CONFIG_PLACES, CREDENTIAL_PLACES, isHistory, withoutCredentials } from './credential-places.ts'
import type { OwnView } from './sandbox.ts'

type Variables = { readonly [name: string]: string }

export interface HomeView {
  readonly folder: string
  /** Mounted before the workspace: the home, and what hides folders around the workspace. */
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly env: Variables
}

interface Whose {
  readonly home: string
  readonly root: string
  readonly write: Patterns
  readonly stateDir: string
  readonly env: Variables
  /** The inherited environment: variables that the task sets stay. */
  readonly inherited: { readonly [name: string]: string | undefined }
  readonly own: OwnView
}

export function homeView({ home, root, write, stateDir, env, inherited, own }: Whose): HomeView | null {
  const folder = realOrNull(home)
  if (folder === null || folder === '/') return null
  const caches = cacheFolders(own.caches)
  const isShown = (path: string): boolean => shown.some(one => isWithin(path, one))
  const shown = own.show.flatMap(path => realOrNull(path) ?? []).filter(path => isWithin(path, folder))
  // A pattern of the scope shows a place in the workspace, unless it consists of wildcards only and so means everything.
  const isWritten = (path: string): boolean =>
    isWithin(path, root) && (write ?? []).some(one => !/^[*?.]*$/.test(one) && covers([one], relative(root, path)))
  const find = (place: string): readonly string[] =>
    placesOf(place, folder, inherited).filter(path => !isShown(path) && !isWritten(path))
  const state = realOrNull(stateDir)
  const histories = namesIn(folder).filter(isHistory)
  const hidden = [
    ...new Set([
      ...[...CREDENTIAL_PLACES, ...histories].flatMap(find),
      ...(state !== null && isWithin(state, folder) && !isWithin(state, root) ? [state] : []),
    ]),
  ]
  // A workspace that is itself such a place stays visible, because it was chosen.
  const masks = hidden.filter(path => path !== root && !hidden.some(outer => outer !== path && isWithin(path, outer)))
  const isAround = (path: string): boolean => isWithin(root, path)
  const mask = (path: string): readonly string[] =>
    statOrNull(path)?.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', join(caches.shown, 'empty'), path]
  const copies = CONFIG_PLACES.flatMap(place =>
    find(place).flatMap((path, at) => copied(path, join(caches.shown, `${place.replaceAll('/', '_')}-${at}`))),
  )
  const cargo = copies.find(({ to }) => to.endsWith('/config.toml'))
  const isInWorkspace = isWithin(folder, root)
  return {
    folder,
    before: [
      ...(isInWorkspace ? [] : ['--ro-bind', folder, folder]),
      ...(home === folder || isInWorkspace ? [] : ['--symlink', folder, home]),
      ...masks.filter(isAround).flatMap(mask),
    ],
    after: [
      ...masks.filter(path => !isAround(path)).flatMap(mask),
      ...copies.flatMap(({ from, to }) => ['--ro-bind', from, to]),
      ...shown.flatMap(path => ['--ro-bind', path, path]),
      ...linksTo(own.show).flatMap(({ from, to }) =>
        masks.some(one => isWithin(to, one)) ? ['--ro-bind', from, to] : [],
      ),
      ...['--bind', own.caches, own.caches, '--ro-bind', caches.shown, caches.shown],
      ...(cargo === undefined ? [] : ['--ro-bind', cargo.from, join(own.caches, 'cargo/config.toml')]),
      ...masks.filter(path => statOrNull(path)?.isDirectory()).flatMap(path => ['--remount-ro', path]),
    ],
    env: { ...xdgBelow(env, folder, home), ...caches.env(env, inherited) },
  }
}

/** For shown paths that are symbolic links: where the link itself is hidden, its target is mounted in its place. */
function linksTo(paths: readonly string[]): readonly { readonly from: string; readonly to: string }[] {
  return paths.flatMap(path => {
    const [from, parent] = [realOrNull(path), realOrNull(dirname(path))]
    if (from === null || parent === null) return []
    const to = join(parent, basename(path))
    return to === from ? [] : [{ from, to }]
  })
}

const CACHE_VARIABLES: { readonly [name: string]: string } = {
  npm_config_cache: 'npm',
  YARN_CACHE_FOLDER: 'yarn',
  YARN_GLOBAL_FOLDER: 'yarn-global',
  pnpm_config_store_dir: 'pnpm',
  COREPACK_HOME: 'corepack',
  BUN_INSTALL_CACHE_DIR: 'bun',
  DENO_DIR: 'deno',
  PIP_CACHE_DIR: 'pip',
  UV_CACHE_DIR: 'uv',
  POETRY_CACHE_DIR: 'poetry',
  MYPY_CACHE_DIR: 'mypy',
  RUFF_CACHE_DIR: 'ruff',
  CARGO_HOME: 'cargo',
  GOCACHE: 'go-build',
  GOMODCACHE: 'go-mod',
  GRADLE_USER_HOME: 'gradle',
  COMPOSER_CACHE_DIR: 'composer',
  NUGET_PACKAGES: 'nuget',
  BUNDLE_USER_CACHE: 'bundle',
  PUB_CACHE: 'pub',
}

/** `shown` is not writable inside, because it contains the files mounted over the home's. */
function cacheFolders(caches: string) {
  const shown = join(caches, 'shown')
  for (const folder of [shown, join(caches, 'cargo')]) {
    // An earlier command may have put a link or a file there.
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) unlinkSync(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
  write(join(shown, 'empty'), '')
  const env = (own: Variables, inherited: Whose['inherited']): Variables =>
    Object.fromEntries(
      Object.entries(CACHE_VARIABLES).flatMap(([name, folder]) =>
        own[name] === undefined || own[name] === inherited[name] ? [[name, join(caches, folder)]] : [],
      ),
    )
  return { shown, env }
}

const ELSEWHERE: readonly (readonly [string, string])[] = [
  ['.config/', 'XDG_CONFIG_HOME'],
  ['.local/share/', 'XDG_DATA_HOME'],
  ['.local/state/', 'XDG_STATE_HOME'],
  ['.cache/', 'XDG_CACHE_HOME'],
  ['.cargo/', 'CARGO_HOME'],
]

/** Its real path below the home; empty when it does not exist. */
function placesOf(place: string, home: string, inherited: Whose['inherited']): readonly string[] {
  const other = ELSEWHERE.find(([usual]) => place.startsWith(usual))
  const set = other === undefined ? undefined : inherited[other[1]]
  const moved = other === undefined || set === undefined ? [] : [join(set, place.slice(other[0].length))]
  const found = [join(home, place), ...moved].flatMap(path => realOrNull(path) ?? [])
  return [...new Set(found)].filter(path => path !== home && isWithin(path, home))
}

const CONFIG_MAX_BYTES = 1_000_000

function copied(path: string, to: string): readonly { readonly from: string; readonly to: string }[] {
  if (statOrNull(path)?.isFile() !== true) return []
  // What cannot be read here the command could not read either.
  const text = orElse(() => readFileSync(path, 'utf8').slice(0, CONFIG_MAX_BYTES), '')
  write(to, withoutCredentials(text))
  return [{ from: to, to: path }]
}

/** By rename, because another command may be mounting it. */
function write(path: string, text: string): void {
  if (orElse(() => readFileSync(path, 'utf8'), null) === text) return
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}

function xdgBelow(env: Variables, folder: string, home: string): Variables {
  const isBelow = (path: string): boolean => isWithin(path, home) || isWithin(path, folder)
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => name.startsWith('XDG_') && isBelow(value)))
}

const namesIn = (folder: string): readonly string[] => orElse(() => readdirSync(folder), [])

function statOrNull(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null
}

/** Does the home view already show the folder around the workspace? */
export const isInHome = (root: string, view: HomeView | null): boolean =>
  view !== null && isWithin(dirname(root), view.folder)
