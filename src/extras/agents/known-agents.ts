// The coding agents that can be started by name: those that come with Planfold, and the user's own, in their settings folder. A row starts
// a program, so a workspace cannot add one: such a file there is only reported.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { plainHint } from '../../domain/hint.ts'
import { tidy } from '../../format/text/diagnostic.ts'
import type { CodingAgents } from '../../operations/agents/coding-agents.ts'
import { readPrivateFile, settingsFile } from '../../safety/files/private-file.ts'
import { outsideOf, type SettingsPlace } from '../../safety/files/user-settings.ts'
import { type AgentRow, isStartable, readAgentRows } from './agent-settings.ts'

export interface KnownAgents {
  /** Those that can be started: stock rows, then the user's, in file order. A row of the user's replaces the stock row of its name. */
  readonly rows: readonly AgentRow[]
  /** Those that Planfold can be installed into. */
  readonly installable: readonly AgentRow[]
  /** The path of the user's file, existing or not. */
  readonly file: string | null
  /** Faults of the file or of rows, which are skipped; other rows are valid. */
  readonly faults: readonly AgentsFault[]
}

export interface AgentsFault {
  readonly message: string
  readonly hint: string
  /** Whose row is wrong; absent if more than a row is. */
  readonly agent?: string
}

const NAME = 'agents.yaml'

export async function knownAgents(place: SettingsPlace): Promise<KnownAgents> {
  const file = settingsFile(place.environment, NAME)
  const own = file === null ? NONE : await ownRows(file, place)
  // A faulty row of the user's still replaces the stock row of that name.
  const names = new Set([...own.rows.map(({ name }) => name), ...own.faults.flatMap(({ agent }) => agent ?? [])])
  const all = [...stockRows().filter(({ name }) => !names.has(name)), ...own.rows]
  return {
    rows: all.filter(isStartable),
    installable: all.filter(({ install }) => install !== undefined),
    file,
    faults: [...own.faults, ...(await inWorkspace(place, file))],
  }
}

let stock: readonly AgentRow[] | null = null

export function stockRows(): readonly AgentRow[] {
  if (stock !== null) return stock
  const folder = dirname(createRequire(import.meta.url).resolve('planfold/package.json'))
  const { rows, diagnostics } = readAgentRows(readFileSync(join(folder, 'agents', NAME), 'utf8'), 'planfold')
  const [wrong] = diagnostics
  if (wrong !== undefined) throw new Error(`bug: agents/${NAME}:${wrong.line}: ${wrong.message}`)
  stock = rows
  return stock
}

const NONE: Pick<KnownAgents, 'rows' | 'faults'> = { rows: [], faults: [] }

async function ownRows(path: string, place: SettingsPlace): Promise<Pick<KnownAgents, 'rows' | 'faults'>> {
  const read = await readPrivateFile(path, { what: 'the file', outside: outsideOf(place), elsewhere: ELSEWHERE })
  if (!read.ok) return read.missing ? NONE : { rows: [], faults: [read.fault] }
  const { rows, diagnostics } = readAgentRows(read.value, 'user')
  return {
    rows,
    faults: tidy(diagnostics).map(({ line, column, message, hint, path: at = '' }) => {
      const [, agent] = /^agents\.([a-z0-9-]+)/.exec(at) ?? []
      return {
        message: `${path}:${line}:${column}: ${message}`,
        hint: hint === undefined ? 'repair the row; until then this agent is not known' : plainHint(hint),
        ...(agent === undefined ? {} : { agent }),
      }
    }),
  }
}

const ELSEWHERE = 'set XDG_CONFIG_HOME to a folder elsewhere: a task that writes there could have any program started'

/** Only a file in this format, because other tools have files of this name. */
async function inWorkspace({ root, stateDir }: SettingsPlace, file: string | null): Promise<KnownAgents['faults']> {
  const places = [join(root, NAME), join(stateDir, NAME)]
  const texts = await Promise.all(places.map(path => readFile(path, 'utf8').catch(() => '')))
  return places
    .filter((_, at) => /^["']?agents["']?[ \t]*:/m.test(texts[at]!))
    .map(path => ({
      message: `'${path}' is not read: a workspace cannot add an agent`,
      hint: `if you want its agents, put them into ${file ?? 'a folder for settings of yours'}`,
    }))
}

/** Names that no row has: the plan may be meant for another machine, or be misspelt. */
export const agentFaults: CodingAgents['agentFaults'] = async (place, named) => {
  const known = await knownAgents(place)
  const unknown = named.filter(({ name }) => !known.rows.some(row => row.name === name))
  const said = new Set(unknown.map(({ name }) => name))
  return [
    ...unknown.map(({ task, name }) => ({ task, ...unknownAgent(name, known) })),
    // Faults of other rows name no task: they stop no plan that does not use the row.
    ...known.faults
      .filter(({ agent }) => agent === undefined || !said.has(agent))
      .map(({ message, hint }) => ({ message, hint })),
  ]
}

export const loginOf: CodingAgents['loginOf'] = async (place, agent) =>
  (await knownAgents(place)).rows.find(({ name }) => name === agent)?.login ?? null

/** A name that none of them has. */
export function unknownAgent(
  name: string,
  { rows, file, faults }: KnownAgents,
): { readonly message: string; readonly hint: string } {
  const wrong = faults.find(({ agent }) => agent === name)
  if (wrong !== undefined) return { message: `the agent '${name}' cannot be used: ${wrong.message}`, hint: wrong.hint }
  const names = rows.map(row => row.name).join(', ')
  const more = faults.filter(({ agent }) => agent === undefined).map(({ message }) => `; ${message}`)
  return {
    message: `'${name.slice(0, 60)}' is not a known agent`,
    hint: `write one of ${names}${file === null ? '' : `, or add yours to ${file}`}${more.join('')}`,
  }
}
