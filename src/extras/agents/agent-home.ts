// The private home folder of an agent for one visit of a task: its settings and sessions, and nothing of the user's. It is kept
// with the plan, so that the next attempt can resume the session, whose id is stored beside it as soon as it is known.

import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AGENT_HOMES } from '../../domain/plan-rules/agent-request.ts'
import type { Attempt } from '../../runners/runner.ts'
import type { AsideRule } from './agent-settings.ts'
import { filled } from './agent-start.ts'

export interface AgentHome {
  readonly folder: string
  /** A folder beside it, for files that the agent must not change. */
  readonly beside: string
  /** The session id of an earlier attempt of this visit, or of the one that it continues, with the same agent; null if there is none. */
  session(agent: string): string | null
  keepSession(agent: string, session: string): void
}

interface KeptSession {
  readonly agent: string
  readonly session: string
}

type HomeOwner = Pick<Attempt, 'plan' | 'task' | 'visit' | 'conversation' | 'tried'>

export function openHome(stateDir: string, { plan, task, visit, conversation = visit, tried }: HomeOwner): AgentHome {
  // A try begins with the work of whichever try was the best, which its own conversation does not know.
  const [run, own] = tried === undefined ? [conversation, ''] : [visit, `~${tried}`]
  const name = `${task.replaceAll('/', '+')}-${run}${own}`
  const place = join(stateDir, AGENT_HOMES, plan, name)
  const folder = join(place, 'home')
  const file = join(place, 'session.json')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    folder,
    beside: place,
    session(agent) {
      try {
        const kept = JSON.parse(readFileSync(file, 'utf8')) as Partial<KeptSession>
        return kept.agent === agent && typeof kept.session === 'string' ? kept.session : null
      } catch {
        return null
      }
    },
    keepSession(agent, session) {
      const kept: KeptSession = { agent, session }
      writeFileSync(`${file}.new`, JSON.stringify(kept))
      renameSync(`${file}.new`, file)
    },
  }
}

/** Writes the agent's settings. Existing files are replaced, never followed as links. */
export function furnish(
  home: string,
  files: { readonly [path: string]: string },
  values: { readonly [name: string]: string },
): void {
  for (const [path, text] of Object.entries(files)) writeNew(home, path, filled(text, values))
}

/** Readable by the owner only. */
export function writeNew(home: string, path: string, text: string): void {
  const at = join(home, path)
  removeLinks(home, path.split('/').slice(0, -1))
  mkdirSync(dirname(at), { recursive: true, mode: 0o700 })
  rmSync(at, { force: true, recursive: true })
  writeFileSync(at, text, { mode: 0o600, flag: 'wx' })
}

/** Removes what is no folder on this path: an earlier agent may have put a link there to make us write elsewhere. No agent runs now. */
export function removeLinks(home: string, folders: readonly string[]): void {
  let at = home
  for (const name of folders) {
    at = join(at, name)
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (stat !== undefined && !stat.isDirectory()) rmSync(at, { force: true })
  }
}

/** Renames session files that the agent would overwrite when it resumes. Does not follow links. */
export function setAside(home: string, { folder, from, to }: AsideRule): void {
  let places = [home]
  for (const name of folder.split('/'))
    places = places
      .flatMap(at => (name === '*' ? readdirSync(at) : [name]).map(each => join(at, each)))
      .filter(at => lstatSync(at, { throwIfNoEntry: false })?.isDirectory() === true)
  for (const place of places)
    for (const name of readdirSync(place).filter(each => each.startsWith(from)))
      renameSync(join(place, name), join(place, `${to}${name.slice(from.length)}`))
}
