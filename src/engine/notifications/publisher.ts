// The publisher that the engine asks: who is told, outside. A publisher makes one try at handing over one message, within a bounded time, and
// never throws. Whether it is tried again, and that it was told, is the engine's to decide and to write down.

import type { NoticeKind, Notify } from '../../domain/plan.ts'
import type { Span } from '../../domain/views/trace.ts'
import type { Variables } from '../../safety/environment.ts'
import type { SandboxUse } from '../../safety/sandbox/command-sandbox.ts'

export interface Publisher {
  /** Ends soon after `signal` fires, and in any case after `PUBLISH_MAX_MS`. A command is shut in where `sandbox` says how. */
  publish(to: Notify['send'], message: Message, signal: AbortSignal, sandbox?: SandboxUse): Promise<Published>
}

export interface Message {
  /** The same for every try, so that a receiver can recognise duplicates. */
  readonly id: string
  readonly kind: NoticeKind
  /** Marks processes that are started for it, so that a takeover finds what is left of us. */
  readonly owner: string
  readonly body: string
}

export type Published =
  | { readonly ok: true }
  | { readonly ok: false; readonly failure: string; readonly again: boolean }

export const PUBLISH_MAX_MS = 10_000

/** Where traces go. Never waits and never fails: what cannot be handed over in time is dropped and counted. */
export interface Tracer {
  export(spans: readonly Span[]): void
  flush(): Promise<void>
}

/** What opens them. */
export interface Publishers {
  openPublisher(options: PublisherOptions): Publisher
  /** Only where the usual variables name a collector; `fault` says why configured traces are not sent. */
  openTracer(environment: Variables, version: string): { readonly tracer?: Tracer; readonly fault?: string | null }
  /** Where traces are sent, and which variable says so; null when they are not. */
  tracesAddress(environment: Variables): { readonly endpoint: string; readonly variable: string } | null
}

export interface PublisherOptions {
  readonly root: string
  readonly stateDir: string
  readonly environment: Variables
  readonly about: string
  readonly timeoutMs?: number
}
