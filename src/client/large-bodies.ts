// The large answers of the service, as plain types. A test holds them against its schemas.

import type { Json, JsonObject } from '../domain/json.ts'

/** Two runs side by side. */
export interface ComparisonBody {
  a: {
    [x: string]: unknown
    id: string
    name: string
    status: string
  }
  b: {
    [x: string]: unknown
    id: string
    name: string
    status: string
  }
  definition: {
    [x: string]: unknown
    same: boolean
    summary: string
  }
  tasks: {
    task: string
    renamed: string | null
    a: {
      [x: string]: unknown
      status: string
      attempts: number
    } | null
    b: {
      [x: string]: unknown
      status: string
      attempts: number
    } | null
    differs: string[]
    outputs: string[]
  }[]
  files: {
    path: string
    a?: string | null | undefined
    b?: string | null | undefined
  }[]
}

/** What differs between two checkpoints, or between one and now. */
export interface CheckpointDiffBody {
  plan_id: string
  from: string
  to: string | null
  basis: 'whole' | 'written'
  changes: {
    path: string
    change: 'changed' | 'created' | 'deleted'
    before: {
      [x: string]: unknown
      type: 'directory' | 'file' | 'link'
    } | null
    after: {
      [x: string]: unknown
      type: 'directory' | 'file' | 'link'
    } | null
  }[]
  left: {
    [x: string]: unknown
    path: string
    reason: string
  }[]
}

/** The whole plan as it stands; `fold` is opened by `unpackFold`. */
export interface PlanStateBody {
  plan_id: string
  name: string
  version: number
  position: number
  fold: JsonObject
  definition: JsonObject
}

interface UsedBody {
  tokens: number | null
  input_tokens: number | null
  output_tokens: number | null
  cost: number | null
  reported: boolean
}

interface DecisionBody {
  verdict: string
  by: string
  at: string
  rationale: string
  option: string | null
  entry: number
}

/** Everything about one task. */
export interface TaskPageBody {
  plan_id: string
  name: string
  version: number
  task: {
    [x: string]: unknown
    id: string
    name: string
    status: string
  }
  definition: JsonObject
  needed_by: string[]
  why: string
  attempts: {
    visit: number
    attempt: number
    status: 'failed' | 'lost' | 'running' | 'succeeded'
    started_at: string
    ended_at: string | null
    duration_ms: number | null
    by: string | null
    exit: number | null
    outcome: string | null
    failure: {
      [x: string]: unknown
      message: string
    } | null
    lost: string | null
    verdicts: {
      [x: string]: unknown
      criterion: string
      holds: boolean | null
    }[]
    outputs: JsonObject | null
    log: {
      sha256: string
      bytes: number
    } | null
    changes: string | null
    paths: number | null
    beside: string[]
    used: UsedBody | null
    network: {
      [x: string]: unknown
      host: string
      port: number
      allowed: boolean
      why: string
      count: number
    }[]
    entry: number
  }[]
  decisions: DecisionBody[]
  criteria: {
    [x: string]: unknown
    part: string
    criterion: string
    holds: boolean | null
  }[]
  used: UsedBody
  preview: string | null
  log: {
    items: {
      [x: string]: unknown
      seq: number
      stream: string
      at: string
      text: string
    }[]
    cut: boolean
  }
  changes: {
    visit: number
    attempt: number
    files: {
      path: string
      change: 'changed' | 'created' | 'deleted'
      before: number | null
      after: number | null
      patch: string[] | null
      why: string | null
    }[]
    more: number
  } | null
}

/** One gate, with everything an answer agrees to. */
export interface GatePageBody {
  [x: string]: unknown
  gate: string
  plan_id: string
  task_id: string
  name: string
  title: string | null
  open: boolean
  state: string
  question?: string | undefined
  asks?: string | undefined
  asked?: Json | undefined
  answers?: string[] | undefined
  agree?:
    | {
        role: string | null
        count: number
        given: {
          by: string
          rationale: string
        }[]
        told: string | null
      }
    | undefined
  definition: JsonObject
  decisions: DecisionBody[]
  consent: {
    hash: string
    text: string
    lines: {
      text: string
      tone: 'bold' | 'dim' | 'red' | 'yellow' | null
    }[][]
    shown: {
      [x: string]: unknown
      type: 'gate' | 'task'
    }
    changes: {
      path: string
      before: string | null
      now: string | null
      patch: string[] | null
      why: string | null
    }[]
  } | null
  hidden: boolean
}

/** The next draft, and how it differs. Nothing was written. */
export interface RedraftBody {
  summary: string
  diff: {
    [x: string]: unknown
  }
  plan_id: string
  name: string
  revision: number
  changed: boolean
  document: string
  rationale: string
  unfollowed: {
    task: string | null
    text: string
    why: string
  }[]
}

interface AmountsBody {
  cost?: number | undefined
  tokens?: number | undefined
  calls?: number | undefined
  attempts?: number | undefined
  time_ms?: number | undefined
  output_bytes?: number | undefined
}

/** What a plan has spent and may still spend. */
export interface BudgetBody {
  plan_id: string
  name: string
  status: string
  kept: boolean
  blocks: {
    task: string | null
    exceeded: 'ask' | 'fail'
    lines: {
      key: 'cost' | 'tokens' | 'calls' | 'attempts' | 'timeMs' | 'outputBytes'
      cap: number
      added: number
      spent: number
      reserved: number
      left: number
    }[]
    foreign: string | null
  }[]
  used: AmountsBody | null
  assumed?: AmountsBody
  unpriced_calls: number
  large_above: number
  asked: { [x: string]: unknown; id: string; text: string } | null
  forecast: { tasks: number; unknown: number; samples: number; rest: AmountsBody | null }
}

/** In the units of a plan file: `{ cost: '2 USD', time: '30m' }`. */
export interface BudgetMore {
  task?: string
  cost?: string
  tokens?: number | string
  calls?: number
  attempts?: number
  time?: string
  output?: string
}
