// Finds installed agents: their programs are looked up on PATH, never inside the workspace. An agent is often a script with
// packages around it, so the sandbox has to show the folder that contains those.

import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { KnownAgent } from '../../runners/runner.ts'
import { realOrNull } from '../../safety/files/real-path.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import { findProgram, isWithin } from '../../safety/find-program.ts'
import type { AgentRow, LaunchCommand } from './agent-settings.ts'
import { knownAgents } from './known-agents.ts'

export interface AgentPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  /** The workspace: programs inside it are not started as agents. */
  readonly root: string
}

export interface FoundProgram {
  readonly program: string
  /** Folders that the sandbox has to show. */
  readonly folders: readonly string[]
  /** Version of the npm package; null if it was not installed as one. */
  readonly version: string | null
}

export interface FoundAgent {
  readonly acp: FoundProgram | null
  readonly headless: FoundProgram | null
}

export const listAgents = async (place: SettingsPlace): Promise<readonly KnownAgent[]> =>
  (await knownAgents(place)).rows.map(row => known(row, findAgent(place, row)))

function known(row: AgentRow, { acp, headless }: FoundAgent): KnownAgent {
  const { name, title, wire, from } = row
  const protocol = acp !== null ? 'acp' : headless !== null ? 'headless' : null
  const found = acp ?? headless
  const wanted = protocol === 'headless' ? row.headless : (row.acp ?? row.headless)
  const tested = wanted?.tested ?? row.tested
  const status =
    found === null ? 'missing' : tested === null || found.version === tested ? 'installed' : 'other-version'
  return {
    ...{
      name,
      title,
      from: from === 'user' ? from : 'planfold',
      status,
      road: protocol,
      tested,
      wire,
      needsModel: wire !== null && row.model === null,
    },
    ...{ program: found?.program ?? null, version: found?.version ?? null },
    install: wanted?.package ?? row.package,
    hasLogin: row.login !== null,
  }
}

export function findAgent(place: AgentPlace, row: AgentRow): FoundAgent {
  const root = realOrNull(place.root) ?? place.root
  const found = (launch: LaunchCommand | undefined): FoundProgram | null => {
    const way =
      launch === undefined ? null : resolveProgram(place, launch.command[0]!, launch.package ?? row.package ?? '')
    // Checked for absolute paths and through links as well: a task could write the program there.
    const isInside = launch?.command[0]?.startsWith('/') && way?.folders.some(folder => isWithin(folder, root))
    return isInside ? null : way
  }
  return { acp: found(row.acp), headless: found(row.headless) }
}

/** None of its programs was found; any of them would do, and each comes with a package. */
export function agentMissing({ title, package: own, acp, headless }: AgentRow): {
  readonly message: string
  readonly hint: string
} {
  const programs = new Set([acp, headless].flatMap(launch => launch?.command[0] ?? []))
  const packages = new Set(
    [acp, headless].flatMap(launch => (launch === undefined ? [] : (launch.package ?? own ?? []))),
  )
  return {
    message: `${title} is not installed: ${[...programs].map(program => `'${program}'`).join(' or ')} is not on PATH`,
    hint: packages.size === 0 ? 'install it' : `npm install -g ${[...packages].join(', or ')}`,
  }
}

/** Resolves a program by name or path, with its folders; null if missing. */
export function resolveProgram({ environment, root }: AgentPlace, name: string, of = ''): FoundProgram | null {
  const program = name.startsWith('/') ? name : findProgram(name, { path: environment.PATH, outside: [root] })
  if (program === null) return null
  const real = realOrNull(program)
  if (real === null) return null
  return { program, folders: foldersOf(program, real), version: versionOf(real, of) }
}

/** The outermost package folder in npm's layout, else the program's own folder; and the folders of links that lead to it. */
function foldersOf(program: string, real: string): readonly string[] {
  const shown = [...linksFrom(program), real].map(path => packagesAround(path) ?? dirname(path))
  return [...new Set(shown)].filter(folder => !shown.some(other => other !== folder && isWithin(folder, other)))
}

const LINKS_MAX = 40

/** The program path and each symbolic link on the way: the sandbox must contain all of them. */
function linksFrom(program: string): readonly string[] {
  const links = [program]
  for (let path = program; links.length < LINKS_MAX; links.push(path)) {
    if (!lstatSync(path).isSymbolicLink()) break
    path = resolve(dirname(path), readlinkSync(path))
    if (!existsSync(path)) break
  }
  return links
}

/** The outermost `node_modules` that contains it. */
function packagesAround(path: string): string | null {
  const at = path.indexOf('/node_modules/')
  return at < 0 ? null : path.slice(0, at + '/node_modules'.length)
}

/** Its package's version, if installed by npm or named like the agent. Other package.json files are of a surrounding project. */
function versionOf(real: string, of: string): string | null {
  for (let folder = dirname(real); folder !== '/' && basename(folder) !== 'node_modules'; folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        readonly name?: unknown
        readonly version?: unknown
      }
      if (typeof version === 'string' && (name === of || isInstalled(folder))) return version
    } catch {}
  }
  return null
}

const isInstalled = (folder: string): boolean => /\/node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)
