// Which agents are installed here: their programs are looked for on PATH, never inside the workspace. An agent is often a script with its
// packages around it, so what a sandbox has to show of it is the folder that holds those.

import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { KnownAgent } from '../../runners/runner.ts'
import { realOrNull } from '../../safety/files/real-path.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import { findProgram, isWithin } from '../../safety/find-program.ts'
import type { AgentRow, Road } from './agent-settings.ts'
import { knownAgents } from './known-agents.ts'

export interface AgentPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  /** The workspace: what stands in it is not started as an agent. */
  readonly root: string
}

export interface FoundRoad {
  readonly program: string
  /** Folders that a sandbox has to show. */
  readonly folders: readonly string[]
  /** Of the package it came with; null when it came in no package. */
  readonly version: string | null
}

export interface FoundAgent {
  readonly acp: FoundRoad | null
  readonly headless: FoundRoad | null
}

/** All that are known, installed or not. */
export const listAgents = async (place: SettingsPlace): Promise<readonly KnownAgent[]> =>
  (await knownAgents(place)).rows.map(row => known(row, findAgent(place, row)))

function known(row: AgentRow, { acp, headless }: FoundAgent): KnownAgent {
  const { name, title, wire, from } = row
  const road = acp !== null ? 'acp' : headless !== null ? 'headless' : null
  const found = acp ?? headless
  const wanted = road === 'headless' ? row.headless : (row.acp ?? row.headless)
  const tested = wanted?.tested ?? row.tested
  const status =
    found === null ? 'missing' : tested === null || found.version === tested ? 'installed' : 'other-version'
  return {
    ...{
      name,
      title,
      from: from === 'user' ? from : 'planfold',
      status,
      road,
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
  const found = (road: Road | undefined): FoundRoad | null => {
    const way = road === undefined ? null : findRoad(place, road.command[0]!, road.package ?? row.package ?? '')
    // Also by its whole path, and through links: a task could write there what is started.
    const isInside = road?.command[0]?.startsWith('/') && way?.folders.some(folder => isWithin(folder, root))
    return isInside ? null : way
  }
  return { acp: found(row.acp), headless: found(row.headless) }
}

/** None of its programs was found; any of them would do, and each comes with a package. */
export function agentMissing({ title, package: own, acp, headless }: AgentRow): {
  readonly message: string
  readonly hint: string
} {
  const programs = new Set([acp, headless].flatMap(road => road?.command[0] ?? []))
  const packages = new Set([acp, headless].flatMap(road => (road === undefined ? [] : (road.package ?? own ?? []))))
  return {
    message: `${title} is not installed: ${[...programs].map(program => `'${program}'`).join(' or ')} is not on PATH`,
    hint: packages.size === 0 ? 'install it' : `npm install -g ${[...packages].join(', or ')}`,
  }
}

/** A program by its name or path, with what belongs to it; null when it is not there. */
export function findRoad({ environment, root }: AgentPlace, name: string, of = ''): FoundRoad | null {
  const program = name.startsWith('/') ? name : findProgram(name, { path: environment.PATH, outside: [root] })
  if (program === null) return null
  const real = realOrNull(program)
  if (real === null) return null
  return { program, folders: foldersOf(program, real), version: versionOf(real, of) }
}

/** The folder of its packages, as npm lays them out, else the one it stands in; and those of the links that lead to it. */
function foldersOf(program: string, real: string): readonly string[] {
  const shown = [...linksFrom(program), real].map(path => packagesAround(path) ?? dirname(path))
  return [...new Set(shown)].filter(folder => !shown.some(other => other !== folder && isWithin(folder, other)))
}

const LINKS_MAX = 40

/** The program as it is called, and each link on the way to the file: a sandbox that lacks one of them does not find it. */
function linksFrom(program: string): readonly string[] {
  const links = [program]
  for (let path = program; links.length < LINKS_MAX; links.push(path)) {
    if (!lstatSync(path).isSymbolicLink()) break
    path = resolve(dirname(path), readlinkSync(path))
    if (!existsSync(path)) break
  }
  return links
}

/** The outermost `node_modules` it stands in. */
function packagesAround(path: string): string | null {
  const at = path.indexOf('/node_modules/')
  return at < 0 ? null : path.slice(0, at + '/node_modules'.length)
}

/** The version of the package it came in: installed by npm, or named like the agent. Any other is a project around it. */
function versionOf(real: string, of: string): string | null {
  for (let folder = dirname(real); folder !== '/' && basename(folder) !== 'node_modules'; folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        readonly name?: unknown
        readonly version?: unknown
      }
      if (typeof version === 'string' && (name === of || isInstalled(folder))) return version
    } catch {
      // Not here.
    }
  }
  return null
}

/** `node_modules/name` or `node_modules/@scope/name`. */
const isInstalled = (folder: string): boolean => /\/node_modules\/(@[^/]+\/)?[^/]+$/.test(folder)
