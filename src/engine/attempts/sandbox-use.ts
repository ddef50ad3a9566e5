// Whether a command is shut in, and with which network. What a plan says may make it stricter; a plan that came from elsewhere cannot
// make it weaker. The person says otherwise for this machine with PLANFOLD_SANDBOX.

import type { PlanId } from '../../domain/id.ts'
import type { PlanDefinition, SandboxMode, TaskDefinition } from '../../domain/plan.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { RunnerTools } from '../../runners/runner.ts'
import type { SandboxNetwork } from '../../safety/sandbox/sandbox.ts'
import type { Entry } from '../../stores/store.ts'
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
export function sandboxFor(rooms: Rooms, state: PlanState, task: TaskDefinition): Pick<RunnerTools, 'sandbox'> {
  const mode = sandboxMode(state)
  if (rooms.sandbox === undefined || mode === 'off') return {}
  const network = networkFor(state.definition, task, mode)
  return { sandbox: { room: rooms.sandbox, network, isRequired: mode === 'required' } }
}

function networkFor(plan: PlanDefinition, task: TaskDefinition, mode: SandboxMode): SandboxNetwork {
  const allowed = task.network ?? plan.policy?.network
  if (allowed === undefined) return mode === 'required' ? 'none' : 'host'
  return allowed.length === 0 ? 'none' : 'host'
}
