// The live state of a tab, as a store for React. Messages of the hub are batched into one update per frame.

import { useEffect, useSyncExternalStore } from 'react'
import type { Connection, FromTab, PlanFrame, PlanHead, TaskDetail, TaskView, ToTab } from './live-messages.ts'
import { shown } from './shown.ts'

/** A plan as drawn. Immutable: a change makes a new object, and unchanged tasks keep theirs. */
export interface LivePlan {
  readonly head: PlanHead
  readonly tasks: readonly TaskView[]
  readonly byName: ReadonlyMap<string, TaskView>
  /** Changes when tasks or their needs change and the layout must be computed again. */
  readonly shape: number
}

type Listener = () => void

class LiveStore {
  #send: ((message: FromTab) => void) | null = null
  connection: Connection = { is: 'connecting' }
  readonly plans = new Map<string, LivePlan | 'missing'>()
  readonly details = new Map<string, TaskDetail | null>()
  readonly #listeners = new Set<Listener>()
  readonly #followers = new Map<string, number>()
  #onPrinted: Listener | null = null
  readonly #onChanged = new Set<(plans: readonly string[]) => void>()
  #waiting: ToTab[] = []
  #frame = 0

  /** Called by the first subscriber, so that nothing runs before sign-in. */
  open(): void {
    if (this.#send !== null) return
    const receive = (message: ToTab): void => {
      this.#waiting.push(shown(message))
      if (this.#frame === 0) this.#frame = requestFrame(() => this.#apply())
    }
    if ('SharedWorker' in globalThis) {
      const worker = new SharedWorker(new URL('./live-worker.ts', import.meta.url), {
        type: 'module',
        name: 'planfold',
      })
      worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => receive(data)
      worker.port.start()
      this.#send = message => worker.port.postMessage(message)
      addEventListener('pagehide', () => this.#send?.({ say: 'bye' }))
      addEventListener('pageshow', event => {
        if (event.persisted) location.reload()
      })
    } else {
      // Without SharedWorker, this tab has a hub of its own; messages wait until it is loaded.
      const early: FromTab[] = []
      this.#send = message => void early.push(message)
      void import('./live-hub.ts').then(({ LiveHub }) => {
        const hub = new LiveHub({ url: location.origin, now: () => Date.now() })
        const port = { send: receive }
        hub.join(port)
        this.#send = message => hub.receive(port, message)
        for (const message of early) hub.receive(port, message)
      })
    }
  }

  say(message: FromTab): void {
    this.open()
    this.#send?.(message)
  }

  follow(plan: string): () => void {
    const count = this.#followers.get(plan) ?? 0
    this.#followers.set(plan, count + 1)
    if (count === 0) this.say({ say: 'follow', plan })
    return () => {
      const left = (this.#followers.get(plan) ?? 1) - 1
      this.#followers.set(plan, left)
      if (left > 0) return
      this.#followers.delete(plan)
      this.say({ say: 'leave', plan })
    }
  }

  /** One log at a time. The task may have printed something whenever `listener` is called. */
  followLog(plan: string, task: string, listener: Listener): () => void {
    this.#onPrinted = listener
    this.say({ say: 'follow-log', plan, task })
    return () => {
      if (this.#onPrinted !== listener) return
      this.#onPrinted = null
      this.say({ say: 'leave-log' })
    }
  }

  onChanged(listener: (plans: readonly string[]) => void): () => void {
    this.#onChanged.add(listener)
    return () => this.#onChanged.delete(listener)
  }

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #apply(): void {
    this.#frame = 0
    const messages = this.#waiting
    this.#waiting = []
    const changed = new Set<string>()
    let isAny = false
    for (const message of messages) {
      switch (message.say) {
        case 'connection':
          this.connection = message.connection
          break
        case 'plan':
          this.plans.set(message.plan, merged(this.plans.get(message.plan), message.frame))
          break
        case 'missing':
          this.plans.set(message.plan, 'missing')
          break
        case 'task':
          this.details.set(`${message.plan}\n${message.task}`, message.detail)
          break
        case 'printed':
          this.#onPrinted?.()
          break
        case 'changed':
          isAny = true
          for (const plan of message.plans) changed.add(plan)
          break
        default:
          message satisfies never
      }
    }
    if (isAny) for (const listener of this.#onChanged) listener([...changed])
    for (const listener of this.#listeners) listener()
  }
}

/** A background tab gets no animation frames, and must not collect messages without limit. */
function requestFrame(run: () => void): number {
  if (document.visibilityState === 'visible') return requestAnimationFrame(run)
  setTimeout(run, 250)
  return 1
}

function merged(before: LivePlan | 'missing' | undefined, { head, tasks, whole }: PlanFrame): LivePlan {
  if (before === undefined || before === 'missing' || whole) {
    const known = before === undefined || before === 'missing' ? null : before
    const isSameShape =
      known !== null &&
      known.tasks.length === tasks.length &&
      tasks.every(
        (task, at) => task.name === known.tasks[at]!.name && String(task.needs) === String(known.tasks[at]!.needs),
      )
    return {
      head,
      tasks,
      byName: new Map(tasks.map(task => [task.name, task])),
      shape: isSameShape ? known.shape : (known?.shape ?? 0) + 1,
    }
  }
  if (tasks.length === 0) return { ...before, head }
  const byName = new Map(before.byName)
  for (const task of tasks) byName.set(task.name, task)
  return { head, tasks: before.tasks.map(task => byName.get(task.name) ?? task), byName, shape: before.shape }
}

export const live = new LiveStore()

export const useConnection = (): Connection => useSyncExternalStore(live.subscribe, () => live.connection)

/** Undefined while it loads. */
export function useLivePlan(plan: string): LivePlan | 'missing' | undefined {
  useEffect(() => live.follow(plan), [plan])
  return useSyncExternalStore(live.subscribe, () => live.plans.get(plan))
}

export function useTaskDetail(plan: string, task: string | null): TaskDetail | null | undefined {
  useEffect(() => {
    live.say({ say: 'follow-task', plan, task })
  }, [plan, task])
  return useSyncExternalStore(live.subscribe, () => (task === null ? null : live.details.get(`${plan}\n${task}`)))
}
