// The list of extras: what Planfold runs without. To remove one, delete its entry and its folder. No file of the core imports these folders:
// it calls `openExtra`, which loads the extra when it is first needed.

import { type Doors, type Extra, type ExtraName, type Extras, MissingExtra } from './composition/extra.ts'

export {
  type ExtraName,
  MissingExtra,
  missingFailure,
  needsExtra,
  OTHER_BUILD,
  withoutCommand,
  withoutExtra,
} from './composition/extra.ts'

const EXTRAS: Extras = {
  agents: {
    open: () => import('./extras/agents/agents.ts'),
    commands: () => import('./extras/agents/commands/agents-commands.ts'),
    routes: () => import('./extras/agents/agent-routes.ts'),
  },
  artifacts: {
    open: () => import('./extras/artifacts/artifacts.ts'),
    commands: () => import('./extras/artifacts/commands/artifact-commands.ts'),
    routes: () => import('./extras/artifacts/artifact-routes.ts'),
  },
  dialects: {
    open: () => import('./extras/dialects/dialects.ts'),
    commands: () => import('./extras/dialects/commands/dialect-commands.ts'),
  },
  memory: {
    open: () => import('./extras/memory/open-memory.ts'),
    commands: () => import('./extras/memory/commands/memory-commands.ts'),
    routes: () => import('./extras/memory/memory-routes.ts'),
  },
  models: {
    open: () => import('./extras/models/models.ts'),
    commands: () => import('./extras/models/commands/models-commands.ts'),
  },
  pictures: { open: () => import('./extras/pictures/pictures.ts') },
  planners: {
    open: () => import('./extras/planners/planners.ts'),
    commands: () => import('./extras/planners/commands/goals-commands.ts'),
    routes: () => import('./extras/planners/service/planner-routes.ts'),
  },
  postgres: { open: () => import('./stores/postgres/postgres.ts') },
  publishers: { open: () => import('./extras/publishers/publishers.ts') },
}

/** The door of an extra; throws `MissingExtra`, whose message is for people. */
export async function openExtra<Name extends ExtraName>(name: Name): Promise<Doors[Name]> {
  const found = await findExtra(name)
  if (found === null) throw new MissingExtra(name)
  return found
}

/** Like `openExtra`, for callers that continue without it: null if this build does not have it. */
export async function findExtra<Name extends ExtraName>(name: Name): Promise<Doors[Name] | null> {
  return (await EXTRAS[name]?.open()) ?? null
}

export const hasExtra = (name: ExtraName): boolean => EXTRAS[name] !== undefined

/** What the extras of this build add to the command line and to the service. */
export const extraCommands = async () =>
  await Promise.all(LISTED.flatMap(({ commands }) => (commands === undefined ? [] : [commands()])))
export const extraRoutes = async () =>
  await Promise.all(LISTED.flatMap(({ routes }) => (routes === undefined ? [] : [routes()])))

const LISTED: readonly Extra<unknown>[] = Object.values(EXTRAS)
