// Problem documents (RFC 9457): the errors of the service.

import type { Int, Loose } from './fields.ts'

export interface ProblemFault extends Loose {
  readonly path: string
  readonly message: string
  readonly hint?: string
}

/** Before it is known which request it answers. */
export interface ProblemDocument extends Loose {
  /**
   * What a program goes by.
   * @pattern ^urn:planfold:problem:[a-z0-9-]+$
   */
  readonly type: string
  readonly title: string
  /**
   * @minimum 400
   * @maximum 599
   */
  readonly status: Int
  readonly detail: string
  /** What to do next. */
  readonly hint?: string
  /** What is allowed from here. */
  readonly allowed?: readonly string[]
  /** What is wrong with the body or the query, place by place. */
  readonly faults?: readonly ProblemFault[]
}

/** What went wrong (RFC 9457), and what to do about it. */
export interface Problem extends ProblemDocument {
  /** This one request. */
  readonly instance: string
}
