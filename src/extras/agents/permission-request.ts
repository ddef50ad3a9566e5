// Decides permission requests of agents by what they would really do: the raw input of the tool and the files of a diff. The
// title is written by the model, and the listed locations may be empty or wrong, so both are ignored.
//
//   a file in the write scope          → allowed        a file elsewhere, or protected       → a person is asked
//   a command in the sandbox           → allowed        a command that pushes, deploys, …    → a person is asked
//   a tool of Planfold                 → allowed        anything else that is not only read  → a person is asked
//
// This is a courtesy and a record. The sandbox enforces the limits: what is allowed here by mistake fails there.

import { isAbsolute, relative, resolve } from 'node:path'
import { isMap } from '../../domain/json.ts'
import { commandImpact } from '../../domain/plan-rules/command-impact.ts'
import { IMPACT_WORDS } from '../../domain/plan-rules/impact.ts'
import { stateInside } from '../../safety/files/path-gate.ts'
import { realTarget } from '../../safety/files/real-path.ts'
import { isClosed } from '../../safety/sandbox/workspace-mounts.ts'
import { inScope, type Patterns } from '../../safety/scope.ts'

export interface JudgingPlace {
  readonly root: string
  readonly stateDir: string
  /** The private home as the agent sees it, where it may write freely. */
  readonly home: string
  readonly write: Patterns
  /** The sandbox limits what commands can reach. */
  readonly isBoxed: boolean
}

/** As received over ACP; untrusted. */
export interface AskedTool {
  readonly kind?: string | null
  /** The name of the tool as the agent's program reports it, not the title. */
  readonly name?: string | null
  readonly rawInput?: unknown
  readonly content?: readonly unknown[] | null
}

export type PermissionVerdict =
  | { readonly allowed: true; readonly why: string }
  /** `what`: a sentence for the person. `about`: equal for equal requests. */
  | { readonly allowed: 'ask'; readonly what: string; readonly about: string }

export async function judgePermission(tool: AskedTool, place: JudgingPlace): Promise<PermissionVerdict> {
  const { paths, commands, isOurs } = readTool(tool)
  if (isOurs || OUR_TOOL.test(tool.name ?? '')) return { allowed: true, why: 'a tool of Planfold' }
  for (const path of paths) {
    const beyond = await beyondScope(path, place)
    if (beyond === null) continue
    // The sandbox limits what it can read.
    if (commands.length === 0 && tool.kind === 'read' && place.isBoxed) continue
    return ask(`write ${JSON.stringify(path)}: ${beyond}`)
  }
  for (const command of commands) {
    const impact = commandImpact({ script: command })
    if (impact !== null && impact !== 'unknown')
      return ask(`run ${JSON.stringify(command)}: it ${IMPACT_WORDS[impact]}`)
    if (!place.isBoxed) return ask(`run ${JSON.stringify(command)} without a sandbox`)
  }
  if (paths.length > 0) return { allowed: true, why: 'inside the scope of the task' }
  // Gemini does not say which commands it asks about.
  if (commands.length > 0 || (tool.kind === 'execute' && place.isBoxed))
    return { allowed: true, why: 'the sandbox limits it' }
  return READING.has(tool.kind ?? '')
    ? { allowed: true, why: 'it only reads' }
    : ask(`use a tool whose input Planfold cannot check: ${JSON.stringify(tool.rawInput ?? null).slice(0, 500)}`)
}

/** A tool of our own MCP server, as agents spell its name. */
const OUR_TOOL = /^(mcp[_.]{1,2})?planfold([_./-]{1,2}|: ?)plan_(read|write)$/

const READING: ReadonlySet<string> = new Set(['read', 'search', 'think', 'switch_mode'])

const ask = (what: string): PermissionVerdict => ({ allowed: 'ask', what, about: what })

/** Why the path may not be written, as the end of a sentence; null if it may. Links are resolved as they are now. */
async function beyondScope(path: string, place: JudgingPlace): Promise<string | null> {
  if (path.includes('\0')) return 'that is not a path'
  const raw = isAbsolute(path) ? path : `${place.root}/${path}`
  const root = await realTarget(place.root)
  const home = await realTarget(place.home)
  // Programs normalise `link/../file` before opening it, the system does not: both targets must be allowed.
  for (const target of new Set([await realTarget(raw), await realTarget(resolve(raw))])) {
    if (target === null || root === null) return 'links lead in a circle'
    const inside = below(root, target)
    if (inside === null) {
      if (home !== null && below(home, target) !== null) continue
      return raw === target ? 'it is outside the workspace' : `it leads to ${target}, outside the workspace`
    }
    const state = await stateInside({ root: place.root, stateDir: place.stateDir })
    const parts = inside.split('/')
    if (state?.every((name, at) => parts[at]?.toLowerCase() === name)) return "it is Planfold's own state"
    if (isClosed(place.write, inside)) return 'it is protected'
    if (!inScope(place.write, inside)) return 'it is outside the scope of the task'
  }
  return null
}

function below(folder: string, path: string): string | null {
  const inside = relative(folder, path)
  return inside === '..' || inside.startsWith('../') || isAbsolute(inside) ? null : inside
}

// Reads what a tool would touch from its raw input; agents use different keys.

const PATH_KEYS =
  /^(file_?path|path|file_?name|absolute_?path|target_?file|file|notebook_?path|destination|source|from|to)$/i
const COMMAND_KEYS = /^(command|cmd|script|commands)$/i
const DEPTH_MAX = 6

interface ReadTool {
  readonly paths: readonly string[]
  readonly commands: readonly string[]
  readonly isOurs: boolean
}

export function readTool({ rawInput, content }: AskedTool): ReadTool {
  const paths: string[] = []
  const commands: string[] = []
  collect(rawInput, paths, commands, 0)
  for (const item of content ?? []) {
    if (!isMap(item)) continue
    if (item.type === 'diff' && typeof item.path === 'string') paths.push(item.path)
    // Kimi puts the action as JSON into the text of the request.
    if (
      rawInput === undefined &&
      item.type === 'content' &&
      isMap(item.content) &&
      typeof item.content.text === 'string'
    )
      collect(parsed(item.content.text), paths, commands, 0)
  }
  // A patch names its files in its text.
  for (const text of [...commands, ...textsOf(rawInput)])
    for (const [, path] of text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm))
      if (path !== undefined) paths.push(path.trim())
  const isOurs = paths.length === 0 && commands.length === 0 && isPlanTool(rawInput)
  return { paths: [...new Set(paths)], commands: [...new Set(commands)], isOurs }
}

function collect(value: unknown, paths: string[], commands: string[], depth: number): void {
  if (depth > DEPTH_MAX) return
  if (Array.isArray(value)) {
    for (const item of value) collect(item, paths, commands, depth + 1)
    return
  }
  if (!isMap(value)) return
  for (const [key, item] of Object.entries(value)) {
    if (COMMAND_KEYS.test(key) && (typeof item === 'string' || isWords(item)))
      commands.push(...(typeof item === 'string' ? [item] : key.toLowerCase() === 'commands' ? item : [item.join(' ')]))
    else if (PATH_KEYS.test(key) && typeof item === 'string') paths.push(item)
    // Codex uses the files of a patch as keys.
    else if (/^(changes|files)$/i.test(key) && isMap(item)) {
      paths.push(...Object.keys(item))
      collect(item, paths, commands, depth + 1)
    } else collect(item, paths, commands, depth + 1)
  }
}

/** A call of plan_read or plan_write on the server `planfold`, as agents wrap it. */
function isPlanTool(rawInput: unknown): boolean {
  if (!isMap(rawInput)) return false
  const { server, serverName, tool, toolName, tool_name: name } = rawInput
  const ofServer = [server, serverName].some(word => word === 'planfold')
  const named = [tool, toolName, name].find(word => typeof word === 'string')
  return ofServer
    ? /^plan_(read|write)$/.test(String(named))
    : /^(mcp__)?planfold_{1,2}plan_(read|write)$/.test(String(named))
}

const textsOf = (value: unknown): readonly string[] =>
  isMap(value) ? Object.values(value).filter(item => typeof item === 'string') : []

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(word => typeof word === 'string')
