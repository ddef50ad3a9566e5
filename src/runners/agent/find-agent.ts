// Which agents are installed here: their programs are looked for on PATH, never inside the workspace. An agent is often a script with its
// packages around it, so what a sandbox has to show of it is the folder that holds those.

import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { realOrNull } from '../../safety/files/real-path.ts'
import { findProgram, isWithin } from '../../safety/find-program.ts'
import type { KnownAgent } from '../runner.ts'
import { AGENT_PROFILES, type AgentProfile, type Road } from './agent-profiles.ts'

export interface AgentPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  /** The workspace: what stands in it is not started as an agent. */
  readonly root: string
}

export interface FoundRoad {
  /** The program, by its absolute path. */
  readonly program: string
  /** Folders that a sandbox has to show. */
  readonly folders: readonly string[]
  /** Of the package it came with; null when it came in no package. */
  readonly version: string | null
  readonly tested: string
}

export interface FoundAgent {
  readonly profile: AgentProfile
  readonly acp: FoundRoad | null
  readonly headless: FoundRoad | null
}

/** All that are known, installed or not. */
export const listAgents = (place: AgentPlace): readonly KnownAgent[] =>
  AGENT_PROFILES.map(profile => known(findAgent(place, profile)))

function known({ profile, acp, headless }: FoundAgent): KnownAgent {
  const { name, title, wire } = profile
  const road = acp !== null ? 'acp' : headless !== null ? 'headless' : null
  const found = acp ?? headless
  const wanted = road === 'headless' ? profile.headless : (profile.acp ?? profile.headless)
  const tested = wanted?.tested ?? profile.tested
  const status = found === null ? 'missing' : found.version === tested ? 'installed' : 'other-version'
  return {
    ...{ name, title, status, road, tested, wire, needsModel: profile.model === null },
    ...{ program: found?.program ?? null, version: found?.version ?? null },
    install: wanted?.package ?? profile.package,
  }
}

export function findAgent(place: AgentPlace, profile: AgentProfile): FoundAgent {
  const found = (road: Road | undefined): FoundRoad | null =>
    road === undefined
      ? null
      : findRoad(place, road.command[0]!, road.tested ?? profile.tested, road.package ?? profile.package)
  return { profile, acp: found(profile.acp), headless: found(profile.headless) }
}

/** A program by its name or path, with what belongs to it; null when it is not there. */
export function findRoad({ environment, root }: AgentPlace, name: string, tested = '', of = ''): FoundRoad | null {
  const program = name.startsWith('/') ? name : findProgram(name, { path: environment.PATH, outside: [root] })
  if (program === null) return null
  const real = realOrNull(program)
  if (real === null) return null
  return { program, folders: foldersOf(program, real), version: versionOf(real, of), tested }
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

/**
 * That of the package it came in: one that npm has put into `node_modules`, or one that bears the agent's name. Any other package around it
 * is a project it happens to lie in, and tells nothing of it.
 */
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
