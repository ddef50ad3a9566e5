// With which choice: reads environment and configuration, opens the rooms, hands out an Engine bound to a
// caller. The only file that knows implementations.

import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { VERSION } from './cli/version.ts'
import type { Wording } from './domain/hint.ts'
import type { ActionType } from './domain/plan.ts'
import { systemClock } from './engine/clock.ts'
import type { EngineInProcess, Feed, Worker } from './engine/engine.ts'
import { EngineLocal } from './engine/engine-local.ts'
import { LifeSignFiles } from './engine/files/life-signs.ts'
import { WorkerLocal } from './engine/loop/worker.ts'
import { openFeed } from './engine/notifications/live-feed.ts'
import { type Caller, RIGHTS } from './engine/roles.ts'
import type { Rooms } from './engine/rooms.ts'
import { readSize } from './format/text/units.ts'
import type { ModelRecording, Models } from './models/model.ts'
import type { DraftWithAgent } from './planners/agent-planner.ts'
import type { Planner, PlanningModels, RepositoryView } from './planners/planner.ts'
import type { Publisher, Tracer } from './publishers/publisher.ts'
import { type CustomRunner, customRunner } from './runners/custom/custom-runner.ts'
import { dbRunner } from './runners/db/db-runner.ts'
import { decideRunner } from './runners/decide/decide-runner.ts'
import { editRunner } from './runners/edit/edit-runner.ts'
import { gitRunner } from './runners/git/git-runner.ts'
import { httpRunner } from './runners/http/http-runner.ts'
import { modelRunner } from './runners/model/model-runner.ts'
import { processTree } from './runners/run/process-tree.ts'
import { runRunner } from './runners/run/run-runner.ts'
import type { KnownAgent, ProcessTree, Runner, RunnerAbout } from './runners/runner.ts'
import { makeFolder } from './safety/files/directory.ts'
import { bubblewrap } from './safety/sandbox/bubblewrap.ts'
import { shellWord } from './safety/text/terminal.ts'
import { thisHost } from './stores/leases/host.ts'
import { StoreSqlite } from './stores/sqlite/store-sqlite.ts'
import type { AgentScriptOptions } from './testing/agent-script.ts'
import type { ScriptedModel } from './testing/scripted-model.ts'
import type { Git } from './workspace/git/git.ts'
import { captureBetweenRollbacks } from './workspace/rollback/rollback-lock.ts'
import { openWorkspace } from './workspace/scope/scope-workspace.ts'
import type { SnapshotsOptions } from './workspace/snapshots/snapshots.ts'
import { StatCache } from './workspace/snapshots/stat-cache.ts'
import type { OnProgress, Snapshots } from './workspace/workspace.ts'

export interface ComposeOptions {
  /** Where the person stands; the workspace root is found upwards from here. */
  readonly cwd: string
  readonly environment: Environment
  /** `--dir`: the state folder, instead of the nearest `.planfold`. */
  readonly dir?: string
  /** The workspace, when it is not to be found upwards from `cwd`. */
  readonly root?: string
  /** In whose name the engine acts, and what they may do. */
  readonly caller: Caller | Promise<Caller>
  /** False: do not create `.planfold` when there is none; throws NoState instead. */
  readonly create?: boolean
  /** Only look: the state is opened so that nothing in it can change, and must be there. */
  readonly reading?: boolean
  /** Runners of this program, which tasks name: `runner: { use: NAME }`. */
  readonly runners?: readonly CustomRunner[]
  /** How steps are said in what people are handed; plain names when nobody says it. */
  readonly word?: Wording
  /** How long an agent waits for a person before it is parked. */
  readonly agentPatienceMs?: number
}

type Environment = { readonly [name: string]: string | undefined }

export interface Composed {
  readonly engine: EngineInProcess
  readonly worker: Worker
  /** What live streams are fed from. */
  readonly feed: Feed
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
  readonly now: () => number
  /** The repository around the workspace, for what is no part of a plan. */
  readonly git: Git
  /** Who carries out tasks, by action; the program's own stand behind `runner`. */
  readonly runners: ReadonlyMap<ActionType, Runner>
  /** Language models, for what is no part of a plan: drafting one, listing and testing. */
  readonly models: Models
  /** By their names; what a person may choose with `--planner`. */
  readonly planners: ReadonlyMap<string, Planner>
  /** The workspace as planners see it. */
  readonly repository: RepositoryView
  /** Tells whether commands can be held here. */
  readonly sandbox: Pick<NonNullable<Rooms['sandbox']>, 'check'>
  /** What in the environment is not followed, though it was meant to be: a sentence each. */
  readonly warnings: readonly string[]
  /** Tells this listener, instead of the one before, while the files of the workspace are looked at. */
  onProgress(listener: OnProgress): void
  close(): Promise<void>
}

/** There is no `.planfold` folder from here upwards, and none was to be made. */
export class NoState extends Error {
  override readonly name = 'NoState'
}

/** How long a silent owner keeps its plans; it renews three times as often. */
const LEASE_MS = 15_000
/** Snapshots may fill this much; then they say so, and go without. */
const QUOTA_BYTES = 20_000_000_000
/** A lease shorter than this would be lost to a slow disk. */
const LEASE_MIN_MS = 500

const ABOUT = `planfold ${VERSION}, node ${process.version}, ${process.platform} ${process.arch}`

export async function compose(options: ComposeOptions): Promise<Composed> {
  const { environment } = options
  const { root, stateDir } = locate(options)
  const reading = options.reading === true
  if (!existsSync(join(stateDir, 'planfold.db')) && (options.create === false || reading)) {
    const inside = join(stateDir, '.planfold')
    const near = existsSync(join(inside, 'planfold.db')) ? `; there is one at ${inside}` : ''
    throw new NoState(`there is no Planfold state at ${stateDir}${near}`)
  }
  if (!reading) makeStateDir(stateDir)
  const clock = systemClock
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
    reading
      ? import('./stores/sqlite/store-sqlite-readonly.ts').then(({ StoreReading }) => StoreReading.open(opening))
      : StoreSqlite.open(opening),
    options.caller,
  ])
  const tree = processTree()
  const { tracer = null, fault = null } = reading ? {} : await tracerOf(environment)
  const models = modelsAt({ environment, root, stateDir })
  const runners = new Map(
    [
      ...builtInRunners({
        models,
        tree,
        own: options.runners ?? [],
        agent: async () =>
          (await import('./runners/agent/agent-runner.ts')).agentRunner({
            tree,
            version: VERSION,
            openGateway: request => models.openGateway(request),
            openPlanTools: async ({ attempt, agent, folder }) =>
              await (await import('./mcp/plan-socket.ts')).openPlanSocket({
                engine,
                now: clock.now,
                version: VERSION,
                templates: join(stateDir, 'templates'),
                plan: attempt.plan,
                agent,
                folder,
              }),
          }),
      }),
    ].map(runner => [runner.action, runner] as const),
  )
  let listener: OnProgress = () => {}
  const onProgress: OnProgress = progress => listener(progress)
  const files = (folder: string) =>
    filesIn(folder, { stateDir, blobs: store.blobs, now: clock.now, environment, onProgress, failpoint })
  const rooms: Rooms = {
    store,
    ...files(root),
    at: onceEach(place => {
      const folder = join(root, place)
      return { ...rooms, ...files(folder), root: folder, environment: { ...environment, ...ownGit(stateDir) } }
    }),
    runners,
    publisher: whenAsked<Publisher>(async () =>
      (await import('./publishers/open-publisher.ts')).openPublisher({ root, stateDir, environment, about: ABOUT }),
    ),
    ...(tracer === null ? {} : { tracer }),
    processes: tree,
    sandbox: bubblewrap({ environment, outside: [root] }),
    policy: async () =>
      (await import('./safety/policy/policy-files.ts')).readPolicyLayers({ environment, root, stateDir }),
    signs: new LifeSignFiles({ stateDir, now: clock.now }),
    clock,
    random: randomBytes,
    root,
    stateDir,
    environment,
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
    now: clock.now,
    git: rooms.git as Git,
    runners,
    models,
    planners: openPlanners({ models, stateDir, draftWith: agentDrafts({ models, environment, root, stateDir }) }),
    repository: openRepository({ root, stateDir, environment }),
    sandbox: rooms.sandbox!,
    warnings: fault === null ? [] : [fault],
    onProgress: told => {
      listener = told
    },
    async close() {
      await worker.close()
      await tracer?.flush()
      await store.close()
    },
  }
}

/** Who carries out tasks; needs no store. */
export function builtInRunners({
  models,
  tree = processTree(),
  own = [],
  agent,
}: {
  readonly models: Models
  readonly tree?: ProcessTree
  readonly own?: readonly CustomRunner[]
  /** Loaded when an agent is started; absent where none is. */
  readonly agent?: () => Promise<Runner>
}): readonly Runner[] {
  const acting = [runRunner({ tree }), editRunner(), gitRunner(), httpRunner(), dbRunner()]
  const started = whenAttempted('agent', ABOUT_AGENTS, agent)
  return [...acting, modelRunner({ models }), started, decideRunner(), customRunner(own)]
}

/** Language models; needs no store, and reads the user's settings when it is asked first. */
export function modelsAt(place: {
  readonly environment: Environment
  readonly root: string
  readonly stateDir: string
}): Models {
  const models = whenAsked<Models>(async () =>
    (await import('./models/open-models.ts')).openModels({
      environment: place.environment,
      stateDir: place.stateDir,
      outside: [
        { folder: place.root, is: 'the workspace' },
        { folder: place.stateDir, is: 'the state folder' },
      ],
      clock: systemClock,
      newId: randomUUID,
    }),
  )
  // Where nothing may leave the machine, nothing is asked; a recording is not sent anywhere.
  const refused = async (replay: unknown) =>
    replay === undefined ? await (await import('./safety/policy/policy-files.ts')).refusesModels(place) : null
  return {
    list: besides => models.list(besides),
    calls: () => models.calls(),
    async open(request) {
      const failure = await refused(request.replay)
      if (failure !== null) return { ok: false, failure }
      if (request.budget !== undefined || request.replay !== undefined) return await models.open(request)
      const most = await (await import('./safety/policy/policy-files.ts')).modelCaps(place)
      const caps = { ...request.caps }
      for (const key of ['calls', 'tokens', 'usd'] as const)
        if (most[key] !== undefined) caps[key] = Math.min(most[key], caps[key] ?? most[key])
      return await models.open({ ...request, caps })
    },
    async openGateway(request) {
      const failure = await refused(request.recorded?.else === 'refuse' ? request.recorded : undefined)
      return failure === null ? await models.openGateway(request) : { ok: false, failure }
    },
  }
}

/** The coding agents that are installed here, and those that are known and are not. */
export async function agentsAt(place: {
  readonly environment: Environment
  readonly root: string
}): Promise<readonly KnownAgent[]> {
  return (await import('./runners/agent/find-agent.ts')).listAgents(place)
}

/** A model on this machine that makes an agent do these steps in this folder, for trying it. Nothing is sent anywhere. */
export async function openAgentModel(
  root: string,
  scripts: AgentScriptOptions['scripts'],
): Promise<Pick<ScriptedModel, 'environment' | 'close'>> {
  const { agentScript } = await import('./testing/agent-script.ts')
  const { scriptedModel } = await import('./testing/scripted-model.ts')
  return await scriptedModel(agentScript({ root, scripts }))
}

/**
 * The planners there are, by name. Each is loaded when it is asked. `look`: who looks at goal and repository before a model is asked,
 * when not this thread. `replay`: a model answers from this recording, and nothing is sent.
 */
export function openPlanners({
  models,
  stateDir,
  look,
  replay,
  draftWith,
}: {
  readonly models: Models
  readonly stateDir: string
  /** How the person's own agent is asked; absent where nobody starts one. */
  readonly draftWith?: DraftWithAgent
  readonly look?: Planner['propose']
  readonly replay?: ModelRecording
}): ReadonlyMap<string, Planner> {
  const replayed = replay === undefined ? {} : { replay }
  const drafting: PlanningModels = { open: request => models.open({ ...request, purpose: 'draft', ...replayed }) }
  const open: { readonly [name: string]: () => Promise<Planner> } = {
    heuristic: async () => (await import('./planners/heuristic-planner.ts')).heuristicPlanner(),
    model: async () => (await import('./planners/model-planner.ts')).modelPlanner(drafting, look),
    template: async () =>
      (await import('./planners/template-planner.ts')).templatePlanner({ folder: join(stateDir, 'templates') }),
    agent: async () => (await import('./planners/agent-planner.ts')).agentPlanner(draftWith ?? noAgents),
  }
  return new Map(
    Object.entries(open).map(([name, opened]) => [
      name,
      {
        name,
        propose: async request => await (await opened()).propose(request),
        split: async request => await (await opened()).split(request),
      },
    ]),
  )
}

const noAgents: DraftWithAgent = async () => ({
  ok: false,
  failure: {
    class: 'logic',
    code: 'planner:agent',
    retryable: false,
    message: 'agents are not started from here',
    hint: 'draft at the command line, with `--with AGENT`, or with another planner',
  },
})

/**
 * Drafting by an agent: it is started in a sandbox where it can only read, with the tools of a state folder of its own, in which the plan
 * it submits is found. Nothing of the person's plans is shown to it.
 */
export function agentDrafts(place: {
  readonly models: Models
  readonly environment: Environment
  readonly root: string
  readonly stateDir: string
}): DraftWithAgent {
  return async request => {
    const { draftWithAgent } = await import('./runners/agent/draft-plan.ts')
    const { environment, root, models } = place
    return await draftWithAgent({
      ...{ ...place, ...request, version: VERSION, about: ABOUT },
      ...{ now: systemClock.now(), id: randomUUID(), monotonic: systemClock.monotonic },
      sandbox: bubblewrap({ environment, outside: [root] }),
      calls: () => models.calls(),
      openGateway: asked => models.openGateway(asked),
      openState: async folder => {
        const dir = join(folder, 'state')
        const { engine, now, close } = await compose({ cwd: root, root, environment, dir, caller: draftsman })
        return {
          close,
          openPlanTools: async ({ agent, folder: at }) =>
            await (await import('./mcp/plan-socket.ts')).openPlanSocket({
              ...{ engine, now, version: VERSION, plan: null, agent, folder: at },
              templates: join(folder, 'templates'),
            }),
          submitted: async () => {
            const [latest] = (await engine.ask({ type: 'plans', limit: 1 })).items
            const found = latest === undefined ? null : await engine.ask({ type: 'definition', plan: latest.id })
            return found?.definition ?? null
          },
        }
      },
    })
  }
}

const draftsman: Caller = { actor: 'planfold' as Caller['actor'], rights: RIGHTS.admin, scope: null }

/** A workspace as planners see it; looked at when they ask. */
export function openRepository(place: {
  readonly root: string
  readonly stateDir: string
  readonly environment: Environment
}): RepositoryView {
  const { root, stateDir, environment } = place
  return whenAsked<RepositoryView>(async () =>
    (await import('./workspace/repository-view.ts')).openRepositoryView({
      root,
      scratch: join(stateDir, 'scratch'),
      environment,
    }),
  )
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

/** A room whose every method answers later, opened at the first of them. */
function whenAsked<T extends { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> }>(
  open: () => Promise<T>,
): T {
  let opened: Promise<T> | null = null
  const ask =
    (method: keyof T) =>
    async (...args: never[]) => {
      opened ??= open()
      return await (await opened)[method](...args)
    }
  // Nobody who awaits the room itself may take it for a promise.
  return new Proxy({} as T, { get: (_, name) => (name === 'then' ? undefined : ask(name as keyof T)) })
}

/** A runner that is loaded with its first attempt. */
const ABOUT_AGENTS: RunnerAbout = {
  does: 'starts a coding agent, and checks its work with the acceptance checks of the task',
  effects: ['model', 'unsafe'],
  risks: [
    'its prompt leaves the machine, and its model costs money; a sandbox limits it to its write scope and network',
  ],
  dryRun: 'the agent and its prompt',
}

function whenAttempted(action: ActionType, about: RunnerAbout, open?: () => Promise<Runner>): Runner {
  let opened: Promise<Runner> | null = null
  const runner = (): Promise<Runner> => {
    if (open === undefined) throw new Error(`nobody here carries out '${action}'`)
    opened ??= open()
    return opened
  }
  return {
    action,
    about,
    preview: async (...asked) => (await (await runner()).preview?.(...asked)) ?? { text: '' },
    attempt: async (...asked) => await (await runner()).attempt(...asked),
  }
}

function onceEach<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>()
  return key => {
    const found = made.get(key) ?? make(key)
    made.set(key, found)
    return found
  }
}

/** In a folder of our own, commands see its repository or none: never the one our state folder stands in. */
const ownGit = (stateDir: string): Environment => ({ GIT_CEILING_DIRECTORIES: stateDir })

/** Somebody else's database, by its first bytes; and its tables, only read. Loaded late: few ever bring one. */
export async function foreignTables(): Promise<typeof import('./stores/sqlite/foreign-tables.ts')> {
  return await import('./stores/sqlite/foreign-tables.ts')
}

/** `--dir`, `PLANFOLD_DIR`, the nearest `.planfold` upwards, else the git root, else here. */
export function locate(options: Pick<ComposeOptions, 'cwd' | 'environment' | 'dir' | 'root'>): {
  readonly root: string
  readonly stateDir: string
} {
  if (options.root !== undefined) {
    const { root: _, ...rest } = options
    const root = resolve(options.cwd, options.root)
    const told = options.dir ?? nonEmpty(options.environment.PLANFOLD_DIR)
    return { root, stateDir: told === undefined ? join(root, '.planfold') : locate(rest).stateDir }
  }
  const cwd = resolve(options.cwd)
  const told = options.dir ?? nonEmpty(options.environment.PLANFOLD_DIR)
  const found = upwards(cwd, folder => isFolder(join(folder, '.planfold')))
  const base = found ?? upwards(cwd, folder => existsSync(join(folder, '.git'))) ?? cwd
  if (told === undefined) return { root: base, stateDir: join(base, '.planfold') }
  const stateDir = resolve(cwd, told)
  // A state folder called `.planfold` belongs to the folder it stands in; any other serves the project we stand in.
  return { root: stateDir.endsWith('/.planfold') ? dirname(stateDir) : base, stateDir }
}

/** Private to its owner, and ignored by git through a file of its own. Never a folder with other people's files in it. */
function makeStateDir(stateDir: string): void {
  const isOurs = stateDir.endsWith('/.planfold') || existsSync(join(stateDir, 'planfold.db'))
  if (!isOurs && isFolder(stateDir) && readdirSync(stateDir).some(name => !OWN_FOLDERS.has(name)))
    throw new BadConfiguration(
      `${stateDir} holds other files, so it cannot be the folder for Planfold's state`,
      `--dir names the state folder itself; of a project in that folder it is: --dir ${shellWord(join(stateDir, '.planfold'))}`,
    )
  makeFolder(stateDir, 0o700)
  const ignore = join(stateDir, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
}

/** What may stand in a state folder before there is a store. */
const OWN_FOLDERS: ReadonlySet<string> = new Set([
  '.gitignore',
  'templates',
  'sessions',
  'codes',
  'server',
  'scratch',
  'models',
  'config.yaml',
])

/** Known by its name to whoever prints it. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** `PLANFOLD_FAILPOINT=store.commit:before:3` ends this process, without a word, the third time it passes that point. */
function failpointOf(environment: Environment): ((name: string) => void) | undefined {
  const told = nonEmpty(environment.PLANFOLD_FAILPOINT)
  if (told === undefined) return undefined
  const at = told.lastIndexOf(':')
  const point = told.slice(0, at)
  let left = Number(told.slice(at + 1))
  return name => {
    if (name === point && --left === 0) process.kill(process.pid, 'SIGKILL')
  }
}

/** Where traces are sent, and which variable says so; null when they are not. */
export async function tracesAddress(
  environment: Environment,
): Promise<{ readonly endpoint: string; readonly variable: string } | null> {
  return (await import('./publishers/otlp-tracer.ts')).tracesAddress(environment)
}

/** Only where the usual variables name a collector. */
async function tracerOf(
  environment: Environment,
): Promise<{ readonly tracer?: Tracer; readonly fault?: string | null }> {
  if (!Object.keys(environment).some(name => /^OTEL_EXPORTER_OTLP_(TRACES_)?ENDPOINT$/.test(name))) return {}
  const { OtlpTracer, otlpFault, otlpSettings } = await import('./publishers/otlp-tracer.ts')
  const settings = otlpSettings(environment, VERSION)
  return settings === null ? { fault: otlpFault(environment) } : { tracer: new OtlpTracer(settings) }
}

/** How large snapshots may make the content store. What cannot be read falls back to the default, and never to nothing. */
function quotaOf(environment: Environment): number {
  const told = readSize(environment.PLANFOLD_QUOTA ?? '')
  return told.ok ? told.value : QUOTA_BYTES
}

function leaseMsOf(environment: Environment): number {
  const told = Number(environment.PLANFOLD_LEASE_MS)
  return Number.isFinite(told) && told >= LEASE_MIN_MS ? told : LEASE_MS
}

function upwards(from: string, test: (folder: string) => boolean): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    if (test(folder)) return folder
    if (dirname(folder) === folder) return null
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
const nonEmpty = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text
