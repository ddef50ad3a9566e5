// The bounds of the service: how large, how many, how long.

export interface ServerLimits {
  readonly bodyBytes: number
  readonly planBytes: number
  readonly jsonDepth: number
  readonly jsonNodes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  /** A client that takes nothing of its answers for so long is cut off. */
  readonly answerSilentMs: number
  readonly streams: number
  readonly streamBytes: number
  /** A client of a stream that takes nothing for so long is cut off. */
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
