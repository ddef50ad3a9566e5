// What a `runner` task names: a runner that a program brought along, and what it is told. The plan keeps it as it was written (`spec`).

import { isMap, type JsonObject } from '../json.ts'
import type { Action } from '../plan.ts'

export interface RunnerRequest {
  readonly use: string
  readonly with: JsonObject
}

/** Null when it is no request that this release understands. */
export function runnerRequest(action: Pick<Action, 'type'>): RunnerRequest | null {
  if (action.type !== 'runner') return null
  const { spec } = action as Extract<Action, { type: 'runner' }>
  if (typeof spec === 'string') return { use: spec, with: {} }
  if (!isMap(spec) || Object.keys(spec).some(key => key !== 'use' && key !== 'with')) return null
  const { use, with: told = {} } = spec
  return typeof use === 'string' && isMap(told) ? { use, with: told } : null
}

/** As people see it, and as it is agreed to. */
export const runnerLines = ({ use, with: told }: RunnerRequest): readonly string[] => [
  use,
  ...JSON.stringify(told, null, 2).split('\n'),
]
