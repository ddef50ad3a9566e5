// The sandbox of a task's commands and its network. `domain/policy/run-mode.ts` decides whether a command gets one; PLANFOLD_SANDBOX
// overrides that for this machine.

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
import type { DecisionJournal, NetworkUser } from './network-access.ts'

const MODES: ReadonlySet<string> = new Set<SandboxMode>(['required', 'preferred', 'off'])
const FORKS_MAX = 50

/** The sandbox mode, recorded when a plan starts: PLANFOLD_SANDBOX, else required for a foreign plan, else by the author of each task. */
export async function sandboxAtStart(
  rooms: Rooms,
  plan: PlanId,
  layers: readonly PolicyLayer[],
): Promise<{ readonly sandbox: SandboxMode | 'by-task' } | { readonly refusal: Refusal }> {
  const refusal = await refuseWithoutSandbox(rooms, plan, layers)
  if (refusal !== null) return { refusal }
  const override = rooms.environment.PLANFOLD_SANDBOX
  if (override !== undefined && MODES.has(override)) return { sandbox: override as SandboxMode }
  const authors = (await rooms.store.state(plan))?.authors
  // A revision by the user may have replaced everything that came from elsewhere.
  const isAllOwn = authors?.most === 'person' && Object.keys(authors.tasks).length === 0
  return { sandbox: !isAllOwn && (await cameFromElsewhere(rooms, plan)) ? 'required' : 'by-task' }
}

async function refuseWithoutSandbox(
  { store, sandbox }: Rooms,
  plan: PlanId,
  layers: readonly PolicyLayer[],
): Promise<Refusal | null> {
  const demanding = layers.find(({ policy }) => policy.sandbox === 'required')
  if (demanding === undefined || sandbox === undefined) return null
  const definition = (await store.state(plan))?.definition
  if (definition === undefined || !hasCommands(definition)) return null
  const checked = await sandbox.check()
  if (checked.ok) return null
  const { message, hint } = checked.failure
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

/** A fork counts as foreign if its origin does. */
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

/** The owner of the sandboxed commands: an attempt, a compensation, or a check that belongs to no attempt. */
export interface SandboxUser extends Pick<Attempt, 'definition' | 'visit' | 'attempt'> {
  readonly as: 'attempt' | 'compensation' | 'check'
}

/**
 * Sandbox and network for the command runner. `user` is null for a hook of the plan. `also`: addresses for an agent's login, allowed
 * whatever the plan says; the policy layers still limit them.
 */
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
  // An agent without network rules reaches only its model.
  const isAgent = user?.definition.action.type === 'agent'
  const use = networkOf(state.definition, user?.definition ?? {}) ?? (isAgent ? NO_NETWORK : letThrough(around))
  const declared = use === null || also.length === 0 ? use : { ...use, allow: [...use.allow, ...also] }
  // A plan written by the user without network rules uses the host's network.
  if (declared === null && !isRequired) return { sandbox: { ...room, network: 'host' } }
  if ([declared, ...around.map(({ says }) => says)].some(isOffline)) return { sandbox: { ...room, network: 'none' } }
  const who = user === null ? null : networkUser(state.id, user)
  let way: Promise<NetworkAccess | null> | null = null
  const network = async (log: RunnerTools['log']): Promise<Answer<OpenNetwork>> => {
    // One journal for all commands of the attempt, so that decisions are remembered.
    way ??= (async () => {
      const { DecisionJournal } = await lazy.networkAccess()
      if (who === null) return null
      return { journal: new DecisionJournal(rooms.store, who), who }
    })()
    return await openNetwork(rooms, declared, around, await way, log, also.length > 0 && isOffline(use))
  }
  return { sandbox: { ...room, network } }
}

const ownView = ({ environment, stateDir }: Rooms, read: readonly string[]): NonNullable<SandboxUse['own']> => ({
  show: read.filter(isBelowHome).map(path => join(environment.HOME ?? homedir(), path.slice(2))),
  caches: join(stateDir, 'caches'),
})

const NO_NETWORK: NetworkUse = { allow: [], unknown: 'deny' }

/** For a plan without network rules: what the surrounding policy layers allow. */
export const letThrough = (around: readonly Limit<NetworkUse>[]): NetworkUse | null =>
  around.length === 0
    ? null
    : {
        allow: [...new Set(around.flatMap(({ says }) => says.allow))],
        unknown: around.every(({ says }) => says.unknown === 'ask') ? 'ask' : 'deny',
      }

interface NetworkAccess {
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

/** A foreign plan can lower the limits of this machine, not raise them. */
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

/** Allowed addresses, and who is asked about others; for commands and for our own requests. `isAlone`: ignore the user's own rules. */
export async function networkRules(
  { environment, root, stateDir, store }: Rooms,
  declared: NetworkUse | null,
  around: readonly Limit<NetworkUse>[],
  who: NetworkUser | null,
  signal: AbortSignal,
  isAlone = false,
): Promise<{ readonly allow: readonly string[]; readonly ask: Ask | null } & NetworkLimits> {
  const { userNetworkRules } = await lazy.userRules()
  const { askForAddress, permittedRules } = await lazy.networkAccess()
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

/** The network of one sandboxed command: our proxy, which lets through what plan and user allow, and logs every decision. */
async function openNetwork(
  rooms: Rooms,
  declared: NetworkUse | null,
  around: readonly Limit<NetworkUse>[],
  way: NetworkAccess | null,
  log: RunnerTools['log'],
  isAlone: boolean,
): Promise<Answer<OpenNetwork>> {
  const { openProxy, proxyNotice } = await lazy.networkProxy()
  const closing = new AbortController()
  const { allow, ask, ...limits } = await networkRules(
    rooms,
    declared,
    around,
    way?.who ?? null,
    closing.signal,
    isAlone,
  )
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
