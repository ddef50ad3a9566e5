// With which choice: reads environment and configuration, opens the rooms, hands out an Engine bound to a
// caller. The only file that knows implementations.

import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { VERSION } from './cli/version.ts'
import type { Composed, ComposeOptions } from './composition/composition.ts'
import { databaseOf, workspaceIdIn } from './composition/database.ts'
import { ABOUT, type Environment, failpointOf, leaseMsOf, quotaOf } from './composition/environment.ts'
import { onceEach, whenAsked } from './composition/lazy-room.ts'
import { locate, makeStateDir, NoState } from './composition/state-folder.ts'
import { userStore } from './composition/user-store.ts'
import { agentProgram, type Programs } from './domain/result.ts'
import { systemClock } from './engine/clock.ts'
import { EngineLocal } from './engine/engine-local.ts'
import { LifeSignFiles } from './engine/files/life-signs.ts'
import { WorkerLocal } from './engine/loop/worker.ts'
import type { MemoryRoom } from './engine/memory.ts'
import { openFeed } from './engine/notifications/live-feed.ts'
import type { Publisher, Publishers } from './engine/notifications/publisher.ts'
import type { AnswerOf } from './engine/queries.ts'
import type { Rooms } from './engine/rooms.ts'
import { findExtra, hasExtra, missingFailure, openExtra, withoutExtra } from './extras.ts'
import { QueueLocal } from './queues/local.ts'
import type { Models, ModelsPlace } from './runners/models.ts'
import { processTree } from './runners/run/process-tree.ts'
import type { KnownAgent, Runner } from './runners/runner.ts'
import { type ExtraRunner, openRunners } from './runners/runners.ts'
import { programsIn } from './safety/find-program.ts'
import { bubblewrap } from './safety/sandbox/bubblewrap.ts'
import { thisHost } from './stores/leases/host.ts'
import { StoreSqlite } from './stores/sqlite/store-sqlite.ts'
import type { Git } from './workspace/git/git.ts'
import { captureBetweenRollbacks } from './workspace/rollback/rollback-lock.ts'
import { openWorkspace } from './workspace/scope/scope-workspace.ts'
import type { SnapshotsOptions } from './workspace/snapshots/snapshots.ts'
import { StatCache } from './workspace/snapshots/stat-cache.ts'
import type { OnProgress, Snapshots } from './workspace/workspace.ts'

export type { Composed, ComposeOptions } from './composition/composition.ts'
export { databaseOf } from './composition/database.ts'
export { BadConfiguration, locate, NoState } from './composition/state-folder.ts'
export { copyStores, createBackup, restoreBackup, verifyBackup } from './composition/store-copies.ts'

export async function compose(options: ComposeOptions): Promise<Composed> {
  const { environment } = options
  const { root, stateDir } = locate(options)
  const reading = options.reading === true
  const database = await databaseOf(options, options.database)
  if (database === undefined && !existsSync(join(stateDir, 'planfold.db')) && (options.create === false || reading)) {
    const inside = join(stateDir, '.planfold')
    const near = existsSync(join(inside, 'planfold.db')) ? `; there is one at ${inside}` : ''
    throw new NoState(`there is no Planfold state at ${stateDir}${near}`)
  }
  if (!reading) makeStateDir(stateDir)
  const clock = systemClock
  const workspace =
    database === undefined ? null : { id: workspaceIdIn(stateDir), root: existsSync(root) ? realpathSync(root) : root }
  const labels = new Set([process.platform, process.arch, ...(options.labels ?? [])])
  const failpoint = failpointOf(environment)
  const opening = {
    folder: stateDir,
    clock,
    host: thisHost(process.pid),
    newId: randomUUID,
    failpoint,
    quotaBytes: quotaOf(environment),
  }
  const [store, caller] = await Promise.all([
    database !== undefined
      ? openExtra('postgres').then(({ openStore }) =>
          openStore({
            ...opening,
            url: database,
            appendUrl: environment.PLANFOLD_DATABASE_APPEND,
            workspace: workspace!,
          }),
        )
      : reading
        ? import('./stores/sqlite/store-sqlite-readonly.ts').then(({ StoreReading }) => StoreReading.open(opening))
        : StoreSqlite.open(opening),
    options.caller,
  ])
  const tree = processTree()
  let openedMemory: MemoryRoom | null = null
  const memory = whenAsked<MemoryRoom>(async () => {
    openedMemory ??= (await openExtra('memory')).openMemory({
      store: store.memories,
      // On one that several share, people's memory is in it.
      user: async create => (database === undefined ? await userStore(opening, environment, { create }) : store),
      models,
      now: clock.now,
      root,
    })
    return openedMemory
  })
  const { tracer = null, fault = null } = reading ? {} : await tracerOf(environment)
  const models = modelsAt({ environment, root, stateDir })
  const runners = openRunners({
    tree,
    own: options.runners ?? [],
    model: ofExtra('models', async () => (await openExtra('models')).modelRunner({ models })),
    agent: ofExtra('agents', async () =>
      (await openExtra('agents')).openRunner({ tree, models, engine: () => engine, now: clock.now, stateDir }),
    ),
  })
  let listener: OnProgress = () => {}
  const onProgress: OnProgress = progress => listener(progress)
  const files = (folder: string) =>
    filesIn(folder, { stateDir, blobs: store.blobs, now: clock.now, environment, onProgress, failpoint })
  const programs = programsIn(environment, root, join(stateDir, 'versions'))
  const rooms: Rooms = {
    store,
    ...files(root),
    at: onceEach(place => {
      const folder = resolve(root, place)
      return { ...rooms, ...files(folder), root: folder, environment: { ...environment, ...ownGit(stateDir) } }
    }),
    runners,
    publisher: whenAsked<Publisher>(
      async () =>
        (await findExtra('publishers'))?.openPublisher({ root, stateDir, environment, about: ABOUT }) ?? noPublisher,
    ),
    ...(tracer === null ? {} : { tracer }),
    processes: tree,
    sandbox: bubblewrap({ environment, outside: [root] }),
    policy: async () =>
      (await import('./safety/policy/policy-files.ts')).readPolicyLayers({ environment, root, stateDir }),
    signs: new LifeSignFiles({ stateDir, now: clock.now }),
    clock,
    random: randomBytes,
    memory,
    root,
    stateDir,
    ...(workspace === null
      ? {}
      : { workspaceId: (folder: string) => `${workspace.id}:${relative(workspace.root, folder)}` }),
    queue: everyMs => store.shared?.queue(labels) ?? new QueueLocal({ store, clock, everyMs }),
    labels,
    environment,
    agentLogin: async agent =>
      (await (await findExtra('agents'))?.loginOf({ environment, root, stateDir }, agent)) ?? null,
    programs: async how => ({
      ...(await programs(how)),
      // What an attempt of an agent ran with is in its outcome.
      ...(how.asks
        ? {}
        : agentPrograms((await (await findExtra('agents'))?.listAgents({ environment, root, stateDir })) ?? [])),
    }),
    leaseMs: leaseMsOf(environment),
    ...(options.agentPatienceMs === undefined ? {} : { agentPatienceMs: options.agentPatienceMs }),
    about: ABOUT,
    word: options.word,
  }
  const worker = new WorkerLocal(rooms)
  const engine = new EngineLocal(rooms, caller)
  return {
    engine,
    worker,
    feed: openFeed(store),
    root,
    stateDir,
    labels: [...labels],
    now: clock.now,
    git: rooms.git as Git,
    runners,
    models,
    sandbox: rooms.sandbox!,
    warnings: fault === null ? [] : [fault],
    onProgress: told => {
      listener = told
    },
    async close() {
      await worker.close()
      await tracer?.flush()
      await openedMemory?.close()
      await store.close()
    },
  }
}

const agentPrograms = (agents: readonly KnownAgent[]): Programs =>
  Object.fromEntries(
    agents.map(({ name, program, version }) => [
      agentProgram(name),
      program === null ? null : { path: program, version },
    ]),
  )

/** What this build can carry out, for who only wants to know. */
export const listRunners = (): ReturnType<typeof openRunners> =>
  openRunners({ model: ofExtra('models', notOpened), agent: ofExtra('agents', notOpened) })

const notOpened = async (): Promise<never> => {
  throw new Error('bug: a runner that is only listed was opened')
}

const ofExtra = (name: 'agents' | 'models', open: () => Promise<Runner>): ExtraRunner =>
  hasExtra(name) ? { open } : { lacks: withoutExtra(name) }

/** Language models; needs no store, and reads the user's settings when it is asked first. */
export const modelsAt = (place: ModelsPlace): Models =>
  whenAsked<Models>(async () => (await findExtra('models'))?.modelsAt(place) ?? noModels)

const refused = { ok: false, failure: missingFailure('models') } as const

const noModels: Models = {
  list: async () => ({ default: null, embedding: null, models: [], providers: [], file: null, faults: [] }),
  open: async () => refused,
  openGateway: async () => refused,
  calls: async () => [],
  usageOf: async () => [],
}

/** The rooms of the files in a folder. Snapshots and git are opened when somebody asks them: few commands do. */
function filesIn(
  root: string,
  { environment, ...options }: Omit<SnapshotsOptions, 'root'> & { readonly environment: Environment },
): Required<Pick<Rooms, 'workspace' | 'snapshots' | 'git'>> {
  const scratch = join(options.stateDir, 'scratch')
  let opened: StatCache | null = null
  // One for both, so that what the one has hashed need not be read by the other.
  const cache = (): StatCache => {
    opened ??= new StatCache(options.stateDir, realpathSync(root))
    return opened
  }
  return {
    workspace: captureBetweenRollbacks(
      { root, stateDir: options.stateDir },
      openWorkspace({ root, ...options, cache }),
    ),
    snapshots: whenAsked<Snapshots>(async () =>
      (await import('./workspace/snapshots/snapshots.ts')).openSnapshots({ root, ...options, cache }),
    ),
    git: whenAsked<Git>(async () =>
      (await import('./workspace/git/open-git.ts')).openGit({ root, scratch, environment }),
    ),
  }
}

/** Why lines of a file are there, in a clone without a store: its commits answer. */
export async function whyInClone(
  { root, stateDir, environment }: Pick<Rooms, 'root' | 'stateDir' | 'environment'>,
  ask: { readonly path: string; readonly line?: number },
): Promise<NonNullable<AnswerOf<'why'>>> {
  const [{ openGit }, { whyByCommits }] = [
    await import('./workspace/git/open-git.ts'),
    await import('./engine/records/why.ts'),
  ]
  return await whyByCommits(
    { root, stateDir, git: openGit({ root, scratch: join(stateDir, 'scratch'), environment }) },
    ask,
  )
}

/** In a folder of our own, commands see its repository or none: never the one our state folder stands in. */
const ownGit = (stateDir: string): Environment => ({ GIT_CEILING_DIRECTORIES: stateDir })

/** For an administrator of a PostgreSQL database, and for `doctor`. */
export const migrateDatabase = async (url: string, now: number) =>
  (await openExtra('postgres')).migrateDatabase(url, {
    now,
    newPassword: () => randomBytes(24).toString('base64url'),
  })
export const examineDatabase = async (url: string) => (await openExtra('postgres')).examineDatabase(url)

/** Somebody else's database, by its first bytes; and its tables, only read. Loaded late: few ever bring one. */
export async function foreignTables(): Promise<typeof import('./stores/sqlite/foreign-tables.ts')> {
  return await import('./stores/sqlite/foreign-tables.ts')
}

/** Where traces are sent, and which variable says so; null when they are not. */
export async function tracesAddress(environment: Environment): Promise<ReturnType<Publishers['tracesAddress']>> {
  return (await findExtra('publishers'))?.tracesAddress(environment) ?? null
}

/** Only where the usual variables name a collector. */
async function tracerOf(environment: Environment): Promise<ReturnType<Publishers['openTracer']>> {
  if (!Object.keys(environment).some(name => /^OTEL_EXPORTER_OTLP_(TRACES_)?ENDPOINT$/.test(name))) return {}
  const publishers = await findExtra('publishers')
  return publishers?.openTracer(environment, VERSION) ?? { fault: withoutExtra('publishers') }
}

/** The engine writes down that nobody was told, as where a webhook answers nothing. */
const noPublisher: Publisher = {
  publish: async () => ({ ok: false, failure: withoutExtra('publishers'), again: false }),
}
