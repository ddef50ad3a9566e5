// Limits of the service: sizes, counts and times.

export interface ServerLimits {
  readonly bodyBytes: number
  readonly planBytes: number
  readonly jsonDepth: number
  readonly jsonNodes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  /** A client that reads nothing of its response for this long is disconnected. */
  readonly answerSilentMs: number
  readonly streams: number
  readonly streamBytes: number
  /** The same for a client of a stream. */
  readonly streamSilentMs: number
  readonly heartbeatMs: number
}

export const LIMITS: ServerLimits = {
  bodyBytes: 1_000_000,
  planBytes: 5_000_000,
  jsonDepth: 64,
  jsonNodes: 100_000,
  headersMs: 10_000,
  requestMs: 30_000,
  connections: 2_000,
  answerSilentMs: 30_000,
  streams: 200,
  streamBytes: 1_000_000,
  streamSilentMs: 30_000,
  heartbeatMs: 15_000,
}
