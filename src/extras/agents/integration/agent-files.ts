// The files that a coding agent needs to have Planfold's two tools and to read the plan when it starts: files of ours, and entries in its
// own files, as the agent's row says.

import { join } from 'node:path'
import { isMap, type Json } from '../../../domain/json.ts'
import type { JsonEntry } from '../../../format/text/json-entry.ts'
import type { TomlBlock } from '../../../format/text/toml-block.ts'
import type { AgentRow, InstallFiles } from '../agent-settings.ts'

/** For everybody who works in this folder, or for one person everywhere. */
export type InstallScope = 'project' | 'user'

/** The settings folder of an agent, and the bounds that links in it must not leave. */
export interface AgentHomes {
  readonly project: string
  readonly home: string
  readonly environment: { readonly [name: string]: string | undefined }
}

/** One required file. Nothing is written outside `within`, also not through a link. */
export type AgentFile = { readonly path: string; readonly within: string } & (
  | { readonly kind: 'whole'; readonly text: string }
  /** `others`: alternative names of the file; the first that exists is used. */
  | { readonly kind: 'json'; readonly entries: readonly JsonEntry[]; readonly others?: readonly string[] }
  | { readonly kind: 'toml'; readonly block: TomlBlock }
)

export interface AgentSetup {
  readonly agent: string
  /** The name as its makers write it. */
  readonly title: string
  readonly files: readonly AgentFile[]
  /** Folders that are ours alone, the outermost first. */
  readonly folders: readonly string[]
  readonly tested: boolean
  readonly next: string
}

/** Null: its row has no install section. */
export function agentSetup(
  { name, title, install }: AgentRow,
  scope: InstallScope,
  homes: AgentHomes,
  version: string,
): AgentSetup | null {
  if (install === undefined) return null
  const base = baseOf(name, install, scope, homes)
  const { next, next_in_project: more } = install
  return {
    ...{ agent: name, title, tested: install.tested === true },
    folders: (install.folders ?? []).map(folder => join(base.folder, folder)),
    files: install.files
      .filter(({ project_only: isForProjects }) => isForProjects !== true || scope === 'project')
      .map(file => fileOf(file, base, version)),
    next: scope === 'project' && more !== undefined ? `${next} ${more}` : next,
  }
}

interface Base {
  readonly folder: string
  readonly within: string
  readonly root: string
}

/** In a project, a dot folder; for a user, the folder in the agent's own variable, else the usual one. */
function baseOf(name: string, install: InstallFiles, scope: InstallScope, homes: AgentHomes): Base {
  const { project, home, environment } = homes
  if (scope === 'project') return { folder: join(project, `.${name}`), within: project, root: project }
  const configured = install.variable === undefined ? undefined : environment[install.variable]
  if (configured !== undefined && configured !== '') return { folder: configured, within: configured, root: configured }
  const { folder: usual = `.${name}` } = install
  const config = usual.startsWith('.config/') ? environment.XDG_CONFIG_HOME : undefined
  const [within, below] = config?.startsWith('/') === true ? [config, usual.slice('.config/'.length)] : [home, usual]
  return { folder: join(within, below), within, root: join(within, below) }
}

function fileOf(file: InstallFiles['files'][number], { folder, within, root }: Base, version: string): AgentFile {
  const { path, text, json, toml, entries, others } = file
  const place = { path: join(file.at_root === true ? root : folder, path), within }
  if (toml !== undefined) return { kind: 'toml', ...place, block: toml }
  if (entries === undefined)
    return { kind: 'whole', ...place, text: text ?? `${JSON.stringify(withVersion(json as Json, version), null, 2)}\n` }
  const beside = others?.flatMap(name => [join(root, name), join(folder, name)])
  return {
    ...{ kind: 'json', ...place, entries: entries as readonly JsonEntry[] },
    ...(beside === undefined ? {} : { others: [...beside, join(folder, path)] }),
  }
}

function withVersion(value: Json, version: string): Json {
  if (Array.isArray(value)) return value.map(item => withVersion(item as Json, version))
  if (isMap(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withVersion(one, version)]))
  return value === '{version}' ? version : value
}
