// What the core calls in each extra, and what it says where one is missing. The interface of an extra is defined in the room that uses it.
// The list itself is src/extras.ts.

import type { Failure } from '../domain/result.ts'
import type { MemoryExtra } from '../engine/memory.ts'
import type { Publishers } from '../engine/notifications/publisher.ts'
import type { Dialects } from '../format/plan/dialect.ts'
import type { Pictures } from '../operations/pictures.ts'
import type { ModelsExtra } from '../runners/models.ts'
import type { SharedStores } from '../stores/shared-stores.ts'

/** The door of each extra: the exports of the module that its line in src/extras.ts opens. */
export interface Doors {
  readonly agents: CodingAgents & WorkerChoice
  /** It adds commands and routes only. */
  readonly artifacts: object
  readonly dialects: Dialects
  readonly memory: MemoryExtra
  readonly models: ModelsExtra
  readonly pictures: Pictures
  readonly planners: Planning & ServicePlanning & ToolPlanning & GoalList
  readonly postgres: SharedStores
  readonly publishers: Publishers
}

export type ExtraName = keyof Doors

/** Types of the faces, to which extras add commands and routes. Imported in place: faces import the list of extras, and this would be a cycle. */
type Act = import('../cli/context.ts').Act
type Command = import('commander').Command
type ListedRoute = import('../server/route.ts').ListedRoute
type CodingAgents = import('../operations/agents/coding-agents.ts').CodingAgents
type GoalList = import('../cli/commands/plans/list.ts').GoalList
type Planning = import('../operations/agents/plan-drafts.ts').Planning
type ServicePlanning = import('../server/plans/draft-request.ts').ServicePlanning
type ToolPlanning = import('../cli/commands/service/mcp.ts').ToolPlanning
type WorkerChoice = import('../cli/worker-choice.ts').WorkerChoice

/** Every part is loaded when it is first needed. */
export interface Extra<Door> {
  readonly open: () => Promise<Door>
  /** Declares its commands with their options. What they do is loaded when one is called. */
  readonly commands?: () => Promise<{ addCommands(program: Command, act: Act): void }>
  /** Its HTTP routes. */
  readonly routes?: () => Promise<{ readonly ROUTES: readonly ListedRoute[] }>
}

export type Extras = { readonly [Name in ExtraName]?: Extra<Doors[Name]> }

/** What is missing without it, as the subject of a sentence, and the names of its commands. */
const WITHOUT: { readonly [Name in ExtraName]: { readonly what: string; readonly commands?: readonly string[] } } = {
  agents: { what: 'coding agents', commands: ['agents', 'install', 'hook', 'prime'] },
  artifacts: { what: 'artifacts as files', commands: ['artifact'] },
  dialects: { what: 'formats of other tools', commands: ['import'] },
  memory: {
    what: 'memory by key',
    commands: ['memory set', 'memory get', 'memory search', 'memory forget'],
  },
  models: { what: 'language models', commands: ['models'] },
  pictures: { what: 'pictures' },
  planners: { what: 'planners and goals', commands: ['do', 'plan'] },
  postgres: { what: 'plans in PostgreSQL' },
  publishers: { what: 'notifications by command or webhook, and traces,' },
}

export const needsExtra = (name: ExtraName, verb: 'need' | 'needs' = 'needs'): string =>
  `${verb} the extra '${name}', which is not part of this build`

export const withoutExtra = (name: ExtraName): string => `${WITHOUT[name].what} are not part of this build`

export const missingFailure = (name: ExtraName): Failure => ({
  class: 'logic',
  code: 'not-in-build',
  message: withoutExtra(name),
  hint: OTHER_BUILD,
  retryable: false,
})

export const OTHER_BUILD = 'use a build of Planfold that has it'

/** The message for a command of an extra that this build does not have; null for a command of no extra. */
export function withoutCommand(word: string): string | null {
  const names = Object.keys(WITHOUT) as ExtraName[]
  const name = names.find(one => WITHOUT[one].commands?.includes(word))
  return name === undefined ? null : `'${word}' ${needsExtra(name)}`
}

/** `cli/exit.ts` recognises it by its name. */
export class MissingExtra extends Error {
  override readonly name = 'MissingExtra'

  readonly extra: ExtraName

  constructor(extra: ExtraName) {
    super(withoutExtra(extra))
    this.extra = extra
  }
}
