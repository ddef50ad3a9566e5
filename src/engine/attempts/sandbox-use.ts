// Whether a command is shut in, and with which network. What a plan says may make it stricter; a plan that came from elsewhere cannot
// make it weaker. The person says otherwise for this machine with PLANFOLD_SANDBOX.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoted } from '../../domain/hint.ts'
import type { PlanId } from '../../domain/id.ts'
import type { SandboxMode, TaskDefinition } from '../../domain/plan.ts'
import { isOffline, type NetworkUse, networkOf, withOwnRules } from '../../domain/plan-rules/network.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { RunnerTools } from '../../runners/runner.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import { machineLimits } from '../../safety/sandbox/resource-limits.ts'
import type { OpenNetwork, SandboxLimits } from '../../safety/sandbox/sandbox.ts'
import type { Entry } from '../../stores/store.ts'
import { lazy } from '../lazy-imports.ts'
import type { Rooms } from '../rooms.ts'

const MODES: ReadonlySet<string> = new Set<SandboxMode>(['required', 'preferred', 'off'])
const FORKS_MAX = 50

/** What is recorded when a plan starts. */
export async function sandboxAtStart(rooms: Rooms, plan: PlanId): Promise<SandboxMode> {
  const told = rooms.environment.PLANFOLD_SANDBOX
  if (told !== undefined && MODES.has(told)) return told as SandboxMode
  return (await cameFromElsewhere(rooms, plan)) ? 'required' : 'preferred'
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

/** How commands of the plan are shut in now. */
export function sandboxMode({ definition, sandbox }: Pick<PlanState, 'definition' | 'sandbox'>): SandboxMode {
  if (sandbox === 'required') return 'required'
  return definition.policy?.sandbox ?? sandbox ?? 'off'
}

/** What the runner of commands needs to know about it. */
export function sandboxFor(
  rooms: Rooms,
  state: PlanState,
  task: Pick<TaskDefinition, 'network'>,
): Pick<RunnerTools, 'sandbox'> {
  const mode = sandboxMode(state)
  if (rooms.sandbox === undefined || mode === 'off') return {}
  const isRequired = mode === 'required'
  const room = { room: rooms.sandbox, isRequired, limits: limitsFor(rooms, state) }
  const declared = networkOf(state.definition, task)
  // Whoever wrote the plan here and says nothing of the network has always had it.
  if (declared === null && !isRequired) return { sandbox: { ...room, network: 'host' } }
  if (declared !== null && isOffline(declared)) return { sandbox: { ...room, network: 'none' } }
  return { sandbox: { ...room, network: log => openNetwork(rooms, declared, log) } }
}

/** A plan that came from elsewhere can lower the limits of this machine, not raise them. */
function limitsFor({ environment }: Rooms, { definition, sandbox }: PlanState): SandboxLimits {
  const { limits } = machineLimits(environment)
  const { memoryBytes = limits.memoryBytes, processes = limits.processes } = definition.policy?.limits ?? {}
  if (sandbox !== 'required') return { memoryBytes, processes }
  return {
    memoryBytes: Math.min(memoryBytes, limits.memoryBytes),
    processes: Math.min(processes, limits.processes),
  }
}

const PORT = 3128

/** The way out for one command: our proxy, which lets through what the plan and the person allow, and tells every decision. */
async function openNetwork(
  { environment, root, stateDir, word }: Rooms,
  declared: NetworkUse | null,
  log: RunnerTools['log'],
): Promise<Answer<OpenNetwork>> {
  const { openProxy } = await lazy.networkProxy()
  const { userNetworkRules } = await lazy.userRules()
  const own = await userNetworkRules({ environment, root, stateDir })
  const allow = declared === null ? own : withOwnRules(declared, own).allow
  const folder = mkdtempSync(join(tmpdir(), 'pfn-'))
  const howToAllow =
    word === undefined ? undefined : (rule: string): string => word(quoted('allow-network', { address: rule }))
  const opened = await openProxy({
    folder,
    allow,
    onDecision: ({ host, port, allowed, why, allowWith }) => {
      const how = allowWith === undefined ? why : `allow with ${howToAllow?.(allowWith) ?? allowWith}`
      const said = allowed ? 'allowed' : `not allowed; ${how}`
      log('engine', Buffer.from(`asked for ${host}:${port}: ${said}\n`))
    },
    ...(howToAllow === undefined ? {} : { howToAllow }),
  })
  if (!opened.ok) return opened
  const proxy = opened.value
  return {
    ok: true,
    value: {
      network: { proxyFolder: proxy.folder, port: PORT, tcp: proxy.tcp },
      close: () => proxy.close(),
    },
  }
}
