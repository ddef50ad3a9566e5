// The request of a `runner` task: a runner that the embedding program registered, and its parameters. The plan stores it as it was written
// (`spec`).

import { isMap, type JsonObject } from '../json.ts'
import type { ActionFacts, AnyAction, SpecAction } from './action-facts.ts'

export interface RunnerRequest {
  readonly use: string
  readonly with: JsonObject
}

/** Null when this release does not understand the request. */
export function runnerRequest(action: AnyAction): RunnerRequest | null {
  if (action.type !== 'runner') return null
  const { spec } = action as SpecAction<'runner'>
  if (typeof spec === 'string') return { use: spec, with: {} }
  if (!isMap(spec) || Object.keys(spec).some(key => key !== 'use' && key !== 'with')) return null
  const { use, with: parameters = {} } = spec
  return typeof use === 'string' && isMap(parameters) ? { use, with: parameters } : null
}

export const runnerLines = ({ use, with: parameters }: RunnerRequest): readonly string[] => [
  use,
  ...JSON.stringify(parameters, null, 2).split('\n'),
]

export const RUNNER: ActionFacts<SpecAction<'runner'>> = {
  effect: () => 'unsafe',
  acts: true,
  writes: true,
  keepsToScope: true,
  watched: true,
  network: 'declared',
  takesSecrets: true,
  isUnreadable: () => true,
  isSupported: action => runnerRequest(action) !== null,
  fields: { spec: 'values' },
  agreed: ({ action }) => ({ type: 'request', to: 'runner', lines: linesOf(action) }),
  asks: 'hands this to a runner of the program',
  line: ({ action }) => `runner: ${JSON.stringify(action.spec)}`,
  shown: action => (runnerRequest(action) === null ? null : { head: 'Runner', lines: linesOf(action) }),
}

function linesOf(action: AnyAction): readonly string[] {
  const request = runnerRequest(action)
  return request === null ? [] : runnerLines(request)
}
