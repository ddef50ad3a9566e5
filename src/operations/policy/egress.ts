// All data that leaves the machine: where it goes, what is sent, and who configured it. Addresses are shown without parts that may be
// secret.

import { actionFacts } from '../../domain/actions/actions.ts'
import { modelRequest } from '../../domain/actions/model-action.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { networkWords, readNetwork } from '../../domain/plan-rules/network.ts'
import { effectivePolicy, layerWords, type PolicyLayer, planLayer } from '../../domain/policy/policy-layer.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { ModelList } from '../../runners/models.ts'

export interface Egress {
  readonly kind: 'webhook' | 'hook' | 'model' | 'traces' | 'network' | 'http' | 'agent' | 'git'
  readonly address: string
  readonly sends: string
  readonly from: string
  readonly denied?: string
}

export interface EgressSources {
  readonly plan: PlanDefinition | null
  readonly layers: readonly PolicyLayer[]
  readonly models: ModelList
  readonly traces: { readonly endpoint: string; readonly variable: string } | null
  readonly rules: readonly { readonly rule: string; readonly from: 'user' | 'project' }[]
}

export function egressOf(sources: EgressSources): readonly Egress[] {
  const { plan, layers } = sources
  const { data } = effectivePolicy([...layers, ...(plan === null ? [] : [planLayer(plan)])])
  const denied = (what: 'models' | 'webhooks' | 'traces'): Pick<Egress, 'denied'> => {
    if (data[what] !== 'deny') return {}
    const by = layers.find(({ policy }) => policy.data?.[what] === 'deny')
    return { denied: by === undefined ? "the plan's policy" : layerWords(by, 'data') }
  }
  return [
    ...modelsOf(sources).map(one => ({ ...one, ...denied('models') })),
    ...(plan === null ? [] : noticesOf(plan)).map(one =>
      one.kind === 'webhook' ? { ...one, ...denied('webhooks') } : one,
    ),
    ...tracesOf(sources).map(one => ({ ...one, ...denied('traces') })),
    ...networkOf(sources),
    ...(plan === null ? [] : allTasks(plan).flatMap(actionsOf)),
  ]
}

export const modelsIn = (plan: PlanDefinition): readonly string[] => [
  ...new Set([
    ...(plan.defaults?.model === undefined ? [] : [plan.defaults.model]),
    ...allTasks(plan).flatMap(({ action }) => modelRequest(action)?.use ?? []),
  ]),
]

/** All configured models; with a plan, those that it uses. */
function modelsOf({ plan, models }: EgressSources): readonly Egress[] {
  const listed = (name: string): Egress => {
    const found = models.models.find(one => one.name === name)
    return {
      kind: 'model',
      address: found?.url ?? `${name} (not configured)`,
      sends: `prompts, and the inputs and outputs they name, to ${name}`,
      from: models.file ?? 'the environment',
    }
  }
  if (plan === null) {
    const known = models.models.filter(({ key }) => key !== 'missing').map(({ name }) => name)
    return [...new Set([...known, ...(models.default === null ? [] : [models.default])])].map(listed)
  }
  return allTasks(plan).flatMap(task => {
    const request = modelRequest(task.action)
    if (request === null) return []
    const name = request.use ?? plan.defaults?.model ?? models.default
    return name === null ? [] : [{ ...listed(name), from: `task ${task.id}` }]
  })
}

function noticesOf({ notify = [] }: PlanDefinition): readonly Egress[] {
  return notify.map(({ send, on }) => {
    const about = `notices about ${on === undefined ? 'the plan' : on.join(', ')}: names, titles, reasons`
    return 'webhook' in send
      ? { kind: 'webhook', address: hostOnly(send.webhook), sends: about, from: 'notify of the plan' }
      : {
          kind: 'hook',
          address: 'argv' in send.command ? send.command.argv.join(' ') : send.command.script,
          sends: `${about}; a command, which may send them on`,
          from: 'notify of the plan',
        }
  })
}

function tracesOf({ traces }: EgressSources): readonly Egress[] {
  if (traces === null) return []
  return [
    {
      kind: 'traces',
      address: plainAddress(traces.endpoint),
      sends: 'names, times and outcomes of plans, tasks and attempts',
      from: traces.variable,
    },
  ]
}

function networkOf({ plan, layers, rules }: EgressSources): readonly Egress[] {
  const anything = 'whatever the commands of a task send'
  const to = (address: string, from: string): Egress => ({ kind: 'network', address, sends: anything, from })
  const limits = layers.flatMap(layer => {
    const { network } = layer.policy
    if (network === undefined) return []
    const words = networkWords(readNetwork(network))
    return words.map(word => to(`at most ${word}`, layerWords(layer, 'network')))
  })
  const own = rules.map(({ rule, from }) =>
    to(rule, from === 'user' ? 'your rule for all workspaces' : 'your rule for this workspace'),
  )
  if (plan === null) return [...limits, ...own]
  const networkEgress = (use: TaskDefinition['network'], from: string): readonly Egress[] =>
    use === undefined ? [] : networkWords(readNetwork(use)).map(word => to(word, from))
  const isOpen = plan.policy?.network === undefined && limits.length === 0
  return [
    ...limits,
    ...own,
    ...networkEgress(plan.policy?.network, 'policy of the plan'),
    ...allTasks(plan).flatMap(task => {
      const runs = task.action.type === 'run' && task.network === undefined && isOpen
      return runs
        ? [to('any address; none where a sandbox is required', `task ${task.id} has no \`network\``)]
        : networkEgress(task.network, `task ${task.id}`)
    }),
  ]
}

function actionsOf({ id, action }: TaskDefinition): readonly Egress[] {
  const from = `task ${id}`
  const url = actionFacts(action).address?.(action) ?? null
  if (url !== null) return [{ kind: 'http', address: plainAddress(url), sends: 'the request of the task', from }]
  if (action.type === 'agent')
    return [
      { kind: 'agent', address: 'the service of the agent', sends: 'the instruction, and files the agent reads', from },
    ]
  return []
}

/** Without user, password and query: they may be secret. */
function plainAddress(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`
}

/** The path of a webhook is often its secret. */
const hostOnly = (text: string): string =>
  URL.canParse(text) ? `${new URL(text).protocol}//${new URL(text).host}/…` : text
