// Network access of a task's commands through the proxy: every decision is journaled, and a person is asked about addresses that no rule
// covers.

import { createHash } from 'node:crypto'
import type { AttemptOf, Question } from '../../domain/event.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import {
  type CountedDecision,
  NETWORK_FORM,
  type NetworkDecision,
  type NetworkPermit,
  permitFor,
} from '../../domain/network-decision.ts'
import { type NetworkTarget, ruleFor } from '../../domain/plan-rules/network-rule.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Store } from '../../stores/store.ts'
import { newQuestionId } from '../gates/inbox-id.ts'

const ENGINE = 'engine' as Actor
const ASKER = 'planfold'

export interface NetworkUser extends AttemptOf {
  readonly plan: PlanId
  readonly isWanted: (state: PlanState) => boolean
}

/** Distinct decisions beyond this number are only counted. */
const KINDS_MAX = 100

interface Kind {
  readonly decision: NetworkDecision
  count: number
  written: number
}

/**
 * The network decisions of one attempt. The first of a kind is written at once, in case of a crash; repetitions are written when a command
 * ends.
 */
export class DecisionJournal {
  readonly #store: Pick<Store, 'update'>
  readonly #user: NetworkUser
  readonly #kinds = new Map<string, Kind>()
  #more = 0
  #isDue = false
  #writing: Promise<void> = Promise.resolve()

  constructor(store: Pick<Store, 'update'>, user: NetworkUser) {
    this.#store = store
    this.#user = user
  }

  /** True for the first of its kind, up to `KINDS_MAX` kinds. */
  note(decision: NetworkDecision): boolean {
    const { host, port, allowed, rule, why } = decision
    const key = JSON.stringify([host, port, allowed, rule ?? why])
    const known = this.#kinds.get(key)
    if (known !== undefined) {
      known.count += 1
      return false
    }
    if (this.#kinds.size >= KINDS_MAX) {
      this.#more += 1
      return false
    }
    this.#kinds.set(key, { decision, count: 1, written: 0 })
    if (!this.#isDue) {
      this.#isDue = true
      this.#writing = this.#writing.then(() => {
        this.#isDue = false
        return this.#write(({ written }) => written === 0)
      })
    }
    return true
  }

  repeated(): readonly CountedDecision[] {
    return [...this.#kinds.values()].flatMap(({ decision, count }) => (count > 1 ? [{ ...decision, count }] : []))
  }

  async flush(): Promise<void> {
    await this.#writing
    await this.#write(() => true)
  }

  async #write(matches: (kind: Kind) => boolean): Promise<void> {
    const pending = [...this.#kinds.values()].filter(kind => kind.count > kind.written && matches(kind))
    const more = this.#more
    if (pending.length === 0 && more === 0) return
    const batch = pending.map(kind => ({ kind, count: kind.count }))
    const decisions = batch.map(({ kind, count }) => {
      const { path, ...again } = kind.decision
      const isFirst = kind.written === 0 && path !== undefined
      return { ...again, ...(isFirst ? { path } : {}), count: count - kind.written }
    })
    const { plan, task, visit, attempt } = this.#user
    const command = { type: 'network', task, visit, attempt, decisions, ...(more === 0 ? {} : { more }) } as const
    try {
      const updated = await this.#store.update(plan, command, { actor: ENGINE })
      if (!updated.ok) return
    } catch {
      // The loop meets the same store error when it settles the attempt. The log has all decisions.
      return
    }
    for (const { kind, count } of batch) kind.written = count
    this.#more -= more
  }
}

export const permittedRules = ({ permits }: Pick<PlanState, 'permits'>, task: TaskName): readonly string[] => [
  ...new Set(permits.map(({ rule }) => rule).filter(rule => permitFor(permits, task, rule)?.allowed === true)),
]

/** Asks about an address: once for each task and address, across attempts and owners of the plan. */
export async function askForAddress(
  store: AskingStore,
  user: NetworkUser,
  target: NetworkTarget,
  signal: AbortSignal,
): Promise<boolean | 'over'> {
  const rule = ruleFor(target)
  const { host, port } = target
  const text = `task '${user.task}' asks for ${host}:${port}. Allow it?`
  return await askForPermit(store, user, { rule, text, form: NETWORK_FORM, network: { rule, host, port } }, signal)
}

type AskingStore = Pick<Store, 'state' | 'update' | 'onChange'>

/** Adds the question to the inbox unless it is open or answered. `over`: the command is no longer wanted, or `signal` fired. */
export async function askForPermit(
  store: AskingStore,
  user: NetworkUser,
  { rule, ...question }: { readonly rule: string } & Pick<Question, 'text' | 'form' | 'network' | 'agent'>,
  signal: AbortSignal,
): Promise<boolean | 'over'> {
  const { plan, task, isWanted } = user
  const answered = async (): Promise<NetworkPermit | 'over' | null> => {
    const state = await store.state(plan)
    if (state === null || signal.aborted || !isWanted(state)) return 'over'
    return permitFor(state.permits, task, rule)
  }
  const before = await answered()
  if (before !== null) return before === 'over' ? before : before.allowed
  const id = newQuestionId(() =>
    createHash('sha256')
      .update(JSON.stringify([plan, task, rule]))
      .digest(),
  )
  const asking = await store.update(plan, { type: 'ask', id, task, by: ASKER, ...question }, { actor: ENGINE })
  if (!asking.ok) return false
  return await new Promise<boolean | 'over'>((resolve, reject) => {
    const look = async (): Promise<void> => {
      const found = await answered()
      if (found !== null) end(found === 'over' ? found : found.allowed)
    }
    const changed = (): void => {
      look().catch(error => {
        unlisten()
        reject(error)
      })
    }
    const unlisten = store.onChange(changed)
    const end = (answer: boolean | 'over'): void => {
      unlisten()
      signal.removeEventListener('abort', changed)
      resolve(answer)
    }
    signal.addEventListener('abort', changed, { once: true })
    changed()
  })
}
