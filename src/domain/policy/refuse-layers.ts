// What a plan demands beyond its policy layers, refused before anything runs. What cannot be detected here is enforced at run time.

import type { TaskName } from '../id.ts'
import type { PlanDefinition } from '../plan.ts'
import { scopesOverlap } from '../plan-rules/effect.ts'
import { networkOf, reachedBeyond, readNetwork } from '../plan-rules/network.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { allTasks } from '../state/task-index.ts'
import { clashingCost, layerWords, type PolicyLayer, planLayer } from './policy-layer.ts'

export function refuseLayers(definition: PlanDefinition, layers: readonly PolicyLayer[]): Refusal | undefined {
  const beyond = beyondLayers(definition, layers)
  return beyond === null ? undefined : refuse('not-allowed', beyond.message, beyond.hint)
}

export interface BeyondLayers {
  readonly message: string
  readonly hint: string
  readonly task?: TaskName
  readonly key?: string
}

/** The first violation, with its place in the document. */
export function beyondLayers(definition: PlanDefinition, layers: readonly PolicyLayer[]): BeyondLayers | null {
  if (layers.length === 0) return null
  const clash = clashingCost([...layers, planLayer(definition)])
  if (clash !== null) {
    const [one, other] = clash.map(layer => `${layer.policy.budget?.cost?.currency} in ${layerWords(layer, 'budget')}`)
    return {
      message: `the costs cannot be compared: ${one}, ${other}`,
      hint: 'use one currency for `budget.cost`',
      key: 'policy',
    }
  }
  for (const layer of layers) {
    const found = wantedBeyond(definition, layer)
    if (found !== null)
      return {
        message: `${found.who} wants to ${found.what}, which ${layerWords(layer, found.key)} does not allow`,
        hint: HINTS[layer.from] ?? 'ask for less',
        ...(found.task === undefined ? { key: 'policy' } : { task: found.task, key: found.key }),
      }
  }
  return null
}

const HINTS: { readonly [from: string]: string } = {
  organisation: 'ask for less, or talk to whoever administers this machine',
  user: 'ask for less, or change your own policy',
  project: 'ask for less, or change the policy of the project',
}

function wantedBeyond(
  definition: PlanDefinition,
  { policy }: PolicyLayer,
): { readonly who: string; readonly task?: TaskName; readonly what: string; readonly key: string } | null {
  const limit = policy.network === undefined ? null : readNetwork(policy.network)
  const beyondNetwork = (use: ReturnType<typeof networkOf>): string | null =>
    // For an address that is asked about, a person decides at run time.
    limit === null || limit.unknown === 'ask' || use === null ? null : reachedBeyond(limit, { ...use, unknown: 'deny' })
  const allowed = policy.write
  const beyondWrite = (write: readonly string[] | undefined): string | undefined =>
    allowed === undefined ? undefined : write?.find(pattern => !scopesOverlap([pattern], allowed))
  const saying: readonly Saying[] = [
    { who: 'the plan', write: definition.policy?.write, network: networkOf(definition, {}) },
    ...allTasks(definition).map(({ id, write, network }) => ({
      who: `task '${id}'`,
      task: id,
      write,
      network: network === undefined ? null : readNetwork(network),
    })),
  ]
  const { tasks: tasksMax } = policy.limits ?? {}
  if (tasksMax !== undefined && saying.length - 1 > tasksMax)
    return { who: 'the plan', what: `have ${saying.length - 1} tasks`, key: 'limits' }
  for (const { write, network, ...about } of saying) {
    const path = beyondWrite(write)
    if (path !== undefined) return { ...about, what: `write '${path}'`, key: 'write' }
    const host = beyondNetwork(network)
    if (host !== null) return { ...about, what: `reach '${host}'`, key: 'network' }
  }
  return null
}

interface Saying {
  readonly who: string
  readonly task?: TaskName
  readonly write: readonly string[] | undefined
  readonly network: ReturnType<typeof networkOf>
}
