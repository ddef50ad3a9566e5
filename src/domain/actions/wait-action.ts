// `wait`: until a time, for a duration, or until an address responds as expected. The plan stores it as it was written (`spec`).

import { isMap } from '../json.ts'
import { type ActionFacts, type AnyAction, PLAIN_OUTCOMES, type SpecAction } from './action-facts.ts'

export type WaitRequest =
  | { readonly do: 'until'; readonly until: string }
  | { readonly do: 'for'; readonly for: string }
  | {
      readonly do: 'ask'
      readonly url: string
      /** Null: any success status. */
      readonly status: number | null
      readonly contains: string | null
      /** The first interval; later ones grow. */
      readonly every: string
      /** The longest wait; null: the timeout of the task. */
      readonly for: string | null
    }

const EVERY_DEFAULT = '10s'

/** Null when this release does not understand the request. */
export function waitRequest(action: AnyAction): WaitRequest | null {
  if (action.type !== 'wait') return null
  const { spec } = action as SpecAction<'wait'>
  if (typeof spec === 'string') return { do: 'for', for: spec }
  if (!isMap(spec)) return null
  const { until, for: most = null, url, status = null, contains = null, every = EVERY_DEFAULT, ...strange } = spec
  if (Object.keys(strange).length > 0 || !isText(most)) return null
  const isOfUrl = 'status' in spec || 'contains' in spec || 'every' in spec
  if (url === undefined) {
    if (isOfUrl || (until === undefined) === (most === null)) return null
    return most === null ? (typeof until === 'string' ? { do: 'until', until } : null) : { do: 'for', for: most }
  }
  if (until !== undefined || typeof url !== 'string' || typeof every !== 'string' || !isText(contains)) return null
  return status === null || typeof status === 'number' ? { do: 'ask', url, status, contains, every, for: most } : null
}

const isText = (value: unknown): value is string | null => value === null || typeof value === 'string'

export function waitWords(request: WaitRequest): string {
  if (request.do === 'until') return `until ${request.until}`
  if (request.do === 'for') return `for ${request.for}`
  const { url, status, contains } = request
  return `until ${url} answers ${status ?? 'well'}${contains === null ? '' : ` with ${JSON.stringify(contains)}`}`
}

export const WAIT: ActionFacts<SpecAction<'wait'>> = {
  effect: () => 'pure',
  acts: true,
  waits: true,
  network: 'open',
  address: action => {
    const request = waitRequest(action)
    return request?.do === 'ask' ? request.url : null
  },
  isSupported: action => waitRequest(action) !== null,
  fields: { spec: 'values' },
  outputs: () => ['status'],
  answers: ['status'],
  outcomes: () => PLAIN_OUTCOMES,
  agreed: ({ action }) => ({ type: 'request', to: 'wait', lines: linesOf(action) }),
  asks: 'waits for this',
  line: ({ action }) => `wait: ${linesOf(action)[0] ?? JSON.stringify(action.spec)}`,
  shown: action => (waitRequest(action) === null ? null : { head: 'Waits', lines: linesOf(action) }),
}

function linesOf(action: AnyAction): readonly string[] {
  const request = waitRequest(action)
  return request === null ? [] : [waitWords(request)]
}
