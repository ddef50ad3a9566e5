// The sandbox of a command, and its network. Whether it has one is decided by `domain/policy/run-mode.ts`; the person says otherwise for this
// machine with PLANFOLD_SANDBOX.

import { mkdtempSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { actionFacts } from '../../domain/actions/actions.ts'
import { quoted } from '../../domain/hint.ts'
import type { PlanId } from '../../domain/id.ts'
import type { Criterion, PlanDefinition, SandboxMode } from '../../domain/plan.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { isOffline, type NetworkUse, networkOf, withOwnRules } from '../../domain/plan-rules/network.ts'
import { isBelowHome, networkAround, policyOf } from '../../domain/policy/policy-in-state.ts'
import { type Limit, layerWords, type PolicyLayer } from '../../domain/policy/policy-layer.ts'
import { confinementOf, notifyConfinement } from '../../domain/policy/run-mode.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import type { Attempt, RunnerTools } from '../../runners/runner.ts'
import type { Ask } from '../../safety/network/network-judge.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import type { SandboxUse } from '../../safety/sandbox/command-sandbox.ts'
import { machineLimits } from '../../safety/sandbox/resource-limits.ts'
import type { OpenNetwork, SandboxLimits } from '../../safety/sandbox/sandbox.ts'
import type { Entry } from '../../stores/store.ts'
import { lazy } from '../lazy-imports.ts'
import type { Rooms } from '../rooms.ts'
import type { DecisionJournal, NetworkUser } from './network-use.ts'

const MODES: ReadonlySet<string> = new Set<SandboxMode>(['required', 'preferred', 'off'])
const FORKS_MAX = 50

/** How commands of the plan are held, recorded when it starts: the person's word for this machine, else the author of each task decides. */
export async function sandboxAtStart(
  rooms: Rooms,
  plan: PlanId,
  layers: readonly PolicyLayer[],
): Promise<{ readonly sandbox: SandboxMode | 'by-task' } | { readonly refusal: Refusal }> {
  const refusal = await refuseUnwalled(rooms, plan, layers)
  if (refusal !== null) return { refusal }
  const told = rooms.environment.PLANFOLD_SANDBOX
  if (told !== undefined && MODES.has(told)) return { sandbox: told as SandboxMode }
  const authors = (await rooms.store.state(plan))?.authors
  // A file of the person's own may have replaced all that came from elsewhere.
  const isAllOwn = authors?.most === 'person' && Object.keys(authors.tasks).length === 0
  return { sandbox: !isAllOwn && (await cameFromElsewhere(rooms, plan)) ? 'required' : 'by-task' }
}

/** A layer demands a sandbox, there are commands to shut in, and this machine cannot. */
async function refuseUnwalled(
  { store, sandbox }: Rooms,
  plan: PlanId,
  layers: readonly PolicyLayer[],
): Promise<Refusal | null> {
  const demanding = layers.find(({ policy }) => policy.sandbox === 'required')
  if (demanding === undefined || sandbox === undefined) return null
  const definition = (await store.state(plan))?.definition
  if (definition === undefined || !hasCommands(definition)) return null
  const standing = await sandbox.check()
  if (standing.ok) return null
  const { message, hint } = standing.failure
  return refuse('not-allowed', `${layerWords(demanding, 'sandbox')} demands a sandbox: ${message}`, hint)
}

function hasCommands(definition: PlanDefinition): boolean {
  const isCheck = (one: Criterion): boolean => commandOf(one) !== null
  return (
    (definition.done ?? []).some(isCheck) ||
    allTasks(definition).some(
      ({ action, probe, accept = [], preconditions = [], postconditions = [] }) =>
        actionFacts(action).runsCommands === true ||
        probe !== undefined ||
        [...accept, ...preconditions, ...postconditions].some(isCheck),
    )
  )
}

/** A fork is as foreign as what it was forked from. */
async function cameFromElsewhere({ store }: Rooms, plan: PlanId): Promise<boolean> {
  let at: PlanId | undefined = plan
  for (let forks = 0; at !== undefined && forks < FORKS_MAX; forks++) {
    const [first]: readonly Entry[] = await store.read(at, { limit: 1 })
    const created = first?.events.find(event => event.type === 'plan.created')
    if (created?.type !== 'plan.created') return false
    if (created.outside === true) return true
    at = created.origin
  }
  return false
}

/** Whose commands are shut in: an attempt, the compensation of a task, or a check that belongs to no attempt. */
export interface SandboxUser extends Pick<Attempt, 'definition' | 'visit' | 'attempt'> {
  readonly as: 'attempt' | 'compensation' | 'check'
}

/** What the runner of commands needs to know. Null: a hook of the plan. `also`: what an agent's login needs, whatever the plan says. */
export function sandboxFor(
  rooms: Rooms,
  state: PlanState,
  user: SandboxUser | null,
  also: readonly string[] = [],
): Pick<RunnerTools, 'sandbox'> {
  const { isHeld, isOwn, isRequired } = user === null ? notifyConfinement(state) : confinementOf(state, user.definition)
  if (rooms.sandbox === undefined || !isHeld) return {}
  const isLimited = isRequired || state.layers.some(({ policy }) => policy.write !== undefined)
  const own = isOwn ? { own: { ...ownView(rooms, user?.definition.read ?? []), isLimited } } : {}
  const room = { room: rooms.sandbox, isRequired, limits: limitsFor(rooms, state, isRequired), ...own }
  const around = networkAround(state, user?.definition ?? {})
  // What an agent says of the network counts; said nothing, it has none but its model.
  const isAgent = user?.definition.action.type === 'agent'
  const said = networkOf(state.definition, user?.definition ?? {}) ?? (isAgent ? NO_NETWORK : letThrough(around))
  const declared = said === null || also.length === 0 ? said : { ...said, allow: [...said.allow, ...also] }
  // Whoever wrote the plan here and says nothing of the network has always had it.
  if (declared === null && !isRequired) return { sandbox: { ...room, network: 'host' } }
  if ([declared, ...around.map(({ says }) => says)].some(isOffline)) return { sandbox: { ...room, network: 'none' } }
  const who = user === null ? null : networkUser(state.id, user)
  let way: Promise<WayOut | null> | null = null
  const network = async (log: RunnerTools['log']): Promise<Answer<OpenNetwork>> => {
    // One for all commands of the attempt: what one of them asked for is known to the next.
    way ??= (async () => {
      const { DecisionJournal } = await lazy.networkUse()
      if (who === null) return null
      return { journal: new DecisionJournal(rooms.store, who), who }
    })()
    return await openNetwork(rooms, declared, around, await way, log, also.length > 0 && isOffline(said))
  }
  return { sandbox: { ...room, network } }
}

/** What a held command of the person's own sees of their home. */
const ownView = ({ environment, stateDir }: Rooms, read: readonly string[]): NonNullable<SandboxUse['own']> => ({
  show: read.filter(isBelowHome).map(path => join(environment.HOME ?? homedir(), path.slice(2))),
  caches: join(stateDir, 'caches'),
})

const NO_NETWORK: NetworkUse = { allow: [], unknown: 'deny' }

/** Of a plan that says nothing itself: what those around it let through. */
export const letThrough = (around: readonly Limit<NetworkUse>[]): NetworkUse | null =>
  around.length === 0
    ? null
    : {
        allow: [...new Set(around.flatMap(({ says }) => says.allow))],
        unknown: around.every(({ says }) => says.unknown === 'ask') ? 'ask' : 'deny',
      }

interface WayOut {
  readonly journal: DecisionJournal
  readonly who: NetworkUser
}

export function networkUser(plan: PlanId, { as, definition: { id: task }, visit, attempt }: SandboxUser): NetworkUser {
  const isWanted = (state: PlanState): boolean => {
    if (PLAN_ENDED.has(state.status)) return false
    if (as === 'compensation') return state.compensation !== null
    if (state.ending !== null) return false
    const now = state.tasks.get(task)
    if (as === 'check') return now !== undefined && now.visit === visit
    return now?.status === 'running' && now.visit === visit && now.attempt === attempt
  }
  return { plan, task, visit, attempt, isWanted }
}

/** A plan that came from elsewhere can lower the limits of this machine, not raise them. */
function limitsFor({ environment }: Rooms, state: PlanState, isRequired: boolean): SandboxLimits {
  const { limits } = machineLimits(environment)
  const { memoryBytes = limits.memoryBytes, processes = limits.processes } = policyOf(state).limits
  if (!isRequired) return { memoryBytes, processes }
  return {
    memoryBytes: Math.min(memoryBytes, limits.memoryBytes),
    processes: Math.min(processes, limits.processes),
  }
}

interface NetworkLimits {
  readonly within?: readonly (NetworkUse & { readonly who: string })[]
  readonly person?: readonly string[]
  readonly asksBeyond?: boolean
}

/** Which addresses may be reached, and who is asked about others: for commands and for requests of our own. `isAlone`: no rule of the person's counts. */
export async function wayOut(
  { environment, root, stateDir, store }: Rooms,
  declared: NetworkUse | null,
  around: readonly Limit<NetworkUse>[],
  who: NetworkUser | null,
  signal: AbortSignal,
  isAlone = false,
): Promise<{ readonly allow: readonly string[]; readonly ask: Ask | null } & NetworkLimits> {
  const { userNetworkRules } = await lazy.userRules()
  const { askForAddress, permittedRules } = await lazy.networkUse()
  const own = isAlone ? [] : await userNetworkRules({ environment, root, stateDir })
  const within = around.map(({ by, says }) => ({ ...says, who: layerWords(by, 'network') }))
  const asking = [declared, ...within].some(use => use?.unknown === 'ask') ? who : null
  const state = asking === null ? null : await store.state(asking.plan)
  const permitted = state === null || asking === null ? [] : permittedRules(state, asking.task)
  return {
    allow: [...(declared === null ? own : withOwnRules(declared, own).allow), ...permitted],
    ask: asking === null ? null : target => askForAddress(store, asking, target, signal),
    ...(within.length === 0 ? {} : { within, person: [...own, ...permitted], asksBeyond: declared?.unknown === 'ask' }),
  }
}

const PORT = 3128

/** The way out for one command: our proxy, which lets through what the plan and the person allow, and tells every decision. */
async function openNetwork(
  rooms: Rooms,
  declared: NetworkUse | null,
  around: readonly Limit<NetworkUse>[],
  way: WayOut | null,
  log: RunnerTools['log'],
  isAlone: boolean,
): Promise<Answer<OpenNetwork>> {
  const { openProxy, proxyNotice } = await lazy.networkProxy()
  const closing = new AbortController()
  const { allow, ask, ...limits } = await wayOut(rooms, declared, around, way?.who ?? null, closing.signal, isAlone)
  const { word } = rooms
  const say = (text: string): void => log('engine', Buffer.from(`${text}\n`))
  const folder = mkdtempSync(join(tmpdir(), 'pfn-'))
  const howToAllow =
    word === undefined ? undefined : (rule: string): string => word(quoted('allow-network', { address: rule }))
  let isUsed = false
  const opened = await openProxy({
    folder,
    allow,
    ...limits,
    onEach: decision => {
      isUsed = true
      if (way !== null && !way.journal.note(decision)) return
      const { host, port, allowed, why, allowWith } = decision
      const how = allowWith === undefined ? why : `allow with ${howToAllow?.(allowWith) ?? allowWith}`
      say(`asked for ${host}:${port}: ${allowed ? 'allowed' : `not allowed; ${how}`}`)
    },
    ...(ask === null ? {} : { ask }),
    ...(howToAllow === undefined ? {} : { howToAllow }),
  })
  if (!opened.ok) return opened
  const proxy = opened.value
  return {
    ok: true,
    value: {
      network: { proxyFolder: proxy.folder, port: PORT, tcp: proxy.tcp },
      close: async hasFailed => {
        closing.abort()
        await proxy.close()
        if (hasFailed === true && !isUsed) say(proxyNotice(allow))
        for (const { host, port, allowed, count } of way?.journal.repeated() ?? [])
          say(`asked for ${host}:${port} ${count} times: ${allowed ? 'allowed' : 'not allowed'}`)
        await way?.journal.flush()
      },
    },
  }
}
