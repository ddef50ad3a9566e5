// The source of live streams: the journal of all plans by position, output by number, and a signal for every commit of this process or
// another. Reads only.

import { planStatus, progress } from '../../domain/views/summary.ts'
import type { Store } from '../../stores/store.ts'
import type { Feed } from '../feed.ts'
import { waitingIn } from '../gates/inbox.ts'

const RUNNING_MAX = 20

export function openFeed(store: Store): Feed {
  return {
    position: () => store.position(),
    since: (after, limit) => store.since(after, limit),
    pruned: after => store.pruned(after),
    onChange: listener => store.onChange(listener),
    entries: (plan, after, limit) => store.read(plan, { after, limit }),
    output: store.logs,
    facts: async plan => {
      const [first] = await store.read(plan, { limit: 1 })
      const made = first?.events.find(event => event.type === 'plan.created')
      return made === undefined ? null : { name: made.definition.name, session: made.session ?? null }
    },
    progress: async plan => {
      const state = await store.state(plan)
      if (state === null) return null
      const { id, version, archived } = state
      const status = planStatus(state)
      const running = state.counts.running === 0 ? [] : state.order.filter(({ status }) => status === 'running')
      return {
        version,
        revision: state.revision,
        status,
        progress: progress(state),
        running: running.slice(0, RUNNING_MAX).map(({ definition }) => definition.id),
        waiting: (await waitingIn(store, { id, version, archived, status })).map(({ key }) => key),
      }
    },
  }
}
