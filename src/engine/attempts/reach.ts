// Network access of requests that a runner makes itself (`http`, `wait`): the same rules, decisions and journal as for commands behind the
// proxy.

import { networkOf } from '../../domain/plan-rules/network.ts'
import { networkAround } from '../../domain/policy/policy-in-state.ts'
import { confinementOf } from '../../domain/policy/run-mode.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Reach } from '../../runners/runner.ts'
import { allAddresses, decidedBy, NetworkJudge, readRules } from '../../safety/network/network-judge.ts'
import { type Answer, answering } from '../../safety/safety-refusal.ts'
import type { Rooms } from '../rooms.ts'
import { letThrough, networkRules, networkUser, type SandboxUser } from './attempt-sandbox.ts'
import { DecisionJournal } from './network-access.ts'

/** As in the decisions of the proxy (safety/network/decision-list.ts). */
const PATH_MAX = 200

/**
 * A question about an address blocks the request until shortly before the attempt's time limit, so that a missing answer can still be
 * reported.
 */
export async function openReach(
  rooms: Rooms,
  state: PlanState,
  user: SandboxUser & { readonly timeoutMs: number },
): Promise<Answer<Reach>> {
  const who = networkUser(state.id, user)
  const journal = new DecisionJournal(rooms.store, who)
  const closing = new AbortController()
  const around = networkAround(state, user.definition)
  const declared = networkOf(state.definition, user.definition) ?? letThrough(around)
  const {
    allow,
    ask,
    within = [],
    person = [],
    asksBeyond,
  } = await networkRules(rooms, declared, around, who, closing.signal)
  // A plan written by the user without network rules may request any server outside private networks.
  const isOpen = declared === null && !confinementOf(state, user.definition).isRequired
  return await answering('opening the network', async () => {
    const judge = new NetworkJudge({
      rules: readRules([...allow, ...(isOpen ? ['*'] : [])]),
      within: within.map(({ allow, ...limit }) => ({ ...limit, rules: readRules(allow) })),
      person: readRules(person),
      asksBeyond,
      ask,
      holdMs: holdOf(user.timeoutMs),
      lookup: allAddresses,
    })
    return {
      async judge(target, { method, path }) {
        const verdict = await judge.judge(target)
        const { host, port } = target
        journal.note({ host, port, method, path: shortened(path), ...decidedBy(verdict) })
        return verdict
      },
      refuse(method, text, why) {
        const host = text.slice(0, PATH_MAX).replace(/[^\x21-\x7e]/g, '?')
        journal.note({ host, port: 0, method, allowed: false, why })
      },
      async close() {
        closing.abort()
        await journal.flush()
      },
    }
  })
}

const TIMER_MAX_MS = 2 ** 31 - 1
const holdOf = (timeoutMs: number): number => Math.min(Math.max(timeoutMs / 2, timeoutMs - 5_000), TIMER_MAX_MS)

const shortened = (path: string): string => (path.length > PATH_MAX ? `${path.slice(0, PATH_MAX)}…` : path)
