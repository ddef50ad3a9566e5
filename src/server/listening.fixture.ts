// For tests: somebody who listens to a stream of events and keeps what was heard.

import { type Heard, type Subscription, subscribe } from '../client/event-stream.ts'

export interface Listener {
  readonly heard: readonly HeardEvent[]
  /** Resolves when the stream stands. */
  readonly open: Promise<void>
  readonly refused: Promise<{ readonly status: number; readonly problem: unknown }>
  /** Resolves when what was heard is so. */
  until(what: string, test: (heard: readonly HeardEvent[]) => boolean, ms?: number): Promise<void>
  /** Settles when the subscription is over. */
  readonly over: Promise<void>
  close(): Promise<void>
}

export interface HeardEvent {
  readonly name: string
  readonly id: string | null
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly data: any
}

const PATIENCE_MS = 120_000

export function listen(url: string, options: Partial<Omit<Subscription, 'url' | 'signal'>> = {}): Listener {
  const stop = new AbortController()
  const heard: HeardEvent[] = []
  const looks = new Set<() => void>()
  let opened = () => {}
  const open = new Promise<void>(resolve => {
    opened = resolve
  })
  let refuse: (said: Extract<Heard, { type: 'refused' }>) => void = () => {}
  const refused = new Promise<Extract<Heard, { type: 'refused' }>>(resolve => {
    refuse = resolve
  })
  const over = (async () => {
    const { onOpen, ...rest } = options
    const subscription = {
      url,
      signal: stop.signal,
      retryMaxMs: 20,
      ...rest,
      onOpen: (id: string) => {
        opened()
        onOpen?.(id)
      },
    }
    for await (const said of subscribe(subscription)) {
      if (said.type === 'refused') refuse(said)
      else heard.push({ name: said.name, id: said.id, data: JSON.parse(said.data) })
      for (const look of looks) look()
    }
  })()
  return {
    heard,
    open,
    refused,
    over,
    until: (what, test, ms = PATIENCE_MS) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          looks.delete(look)
          reject(new Error(`never heard ${what}; last: ${JSON.stringify(heard.slice(-3)).slice(0, 500)}`))
        }, ms)
        const look = () => {
          if (!test(heard)) return
          clearTimeout(timer)
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
    close: async () => {
      stop.abort()
      await over
    },
  }
}
