// Calls of the service by resource, one request each: for programs that work with documents and plain text instead of the Engine
// interface.

import type * as body from './bodies.ts'
import { errorFrom, type RemoteRefusal, type Reply, type Request, refusalIn } from './transport.ts'

/** Refusals are values; only service and store errors are thrown. */
export type Answered<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly refusal: RemoteRefusal }

/** `once`: an idempotency key of your own. Every write gets a generated one by default. */
export interface Keyed {
  readonly once?: string
}

export interface RemotePlans {
  /** From an object in the canonical format, or text in any known format. Creates a draft, unless it is to be started. */
  create(document: body.PlanDocument | string, options?: body.CreateOptions & Keyed): Promise<Answered<body.PlanMade>>
  get(plan: string): Promise<Answered<body.PlanBody>>
  /** Validates like `create`, without writing. */
  check(document: body.PlanDocument | string, options?: body.CreateOptions): Promise<Answered<body.PlanChecked>>
  list(query?: PlansWanted): Promise<Answered<body.PlanPage>>
  /** A draft that continues from an earlier point of the plan. */
  fork(plan: string, wanted: body.ForkWanted, options?: Keyed): Promise<Answered<body.ForkMade>>
  /** Compares two runs. */
  compare(plan: string, other: string): Promise<Answered<body.ComparisonBody>>
  /** Used, reserved and remaining budget, with a forecast. */
  budget(plan: string): Promise<Answered<body.BudgetBody>>
  /** Raises the budget; needs the right to decide. */
  addBudget(plan: string, more: body.BudgetMore, options?: Keyed): Promise<Answered<body.BudgetBody>>
  /** The complete state, to be continued from the plan's events. */
  state(plan: string): Promise<Answered<body.PlanStateBody>>
  /** The next draft according to comments. Nothing is written. */
  redraft(plan: string, wanted: body.RedraftWanted, options?: Keyed): Promise<Answered<body.RedraftBody>>
  /** Lets a coding agent work the tasks that wait for a claim, or one of them. Does not start a draft. */
  setWorker(plan: string, worker: body.WorkerWanted, options?: Keyed): Promise<Answered<body.WorkerBody>>
  /** Starts a draft, or resumes a paused plan. */
  execute(plan: string, options?: Keyed): Promise<Answered<body.Moved>>
}

export interface RemoteTasks {
  get(plan: string, task: string): Promise<Answered<body.TaskBody>>
  /** Everything about a task: definition, attempts, criteria with evidence, changed files, the end of its output. */
  show(plan: string, task: string, which?: AttemptWanted): Promise<Answered<body.TaskPageBody>>
  list(query?: TasksWanted): Promise<Answered<body.PageOf<body.TaskBody>>>
  /** Claims the next ready task; `body` is null if there is none. */
  claim(wanted?: ClaimWanted & Keyed): Promise<Answered<body.ClaimBody | null>>
  heartbeat(
    plan: string,
    task: string,
    claim: { readonly token: string; readonly lease_seconds?: number },
  ): Promise<Answered<body.HeartbeatBody>>
  report(plan: string, task: string, result: body.ReportSaid, options?: Keyed): Promise<Answered<body.TaskMoved>>
}

export interface RemoteGates {
  /** Open decisions of the plan. */
  list(plan: string): Promise<Answered<body.PageOf<body.GateBody>>>
  /** One gate, with everything an answer is bound to. */
  show(plan: string, gate: string): Promise<Answered<body.GatePageBody>>
  approve(plan: string, gate: string, why?: Approval, options?: Keyed): Promise<Answered<body.GateDecided>>
  reject(plan: string, gate: string, why?: Decision, options?: Keyed): Promise<Answered<body.GateDecided>>
}

export interface RemoteCheckpoints {
  /** Paths that differ between two checkpoints, or between one and now. */
  diff(plan: string, wanted: CheckpointsWanted): Promise<Answered<body.CheckpointDiffBody>>
}

/** The changes of this attempt; by default of the last one that changed files. */
export interface AttemptWanted {
  readonly visit?: number
  readonly attempt?: number
}
/** Each is a checkpoint, a task, or the number of an entry. */
export interface CheckpointsWanted {
  readonly from: string
  /** Default: now. */
  readonly to?: string
}
export interface PlansWanted extends Paged {
  readonly status?: string
  readonly goal_id?: string
  readonly agent_id?: string
  readonly session_id?: string
  readonly q?: string
  readonly archived?: boolean
  /** Changed at or after this time, e.g. `2026-11-15T08:30:00Z`; `until` bounds the creation time. */
  readonly since?: string
  readonly until?: string
  /** Only plans with something in the inbox. */
  readonly waiting?: boolean
  readonly sort?: 'newest' | 'updated' | 'name' | 'cost'
}
export interface TasksWanted extends Paged {
  readonly plan_id?: string
  readonly agent_id?: string
  readonly status?: string
}
interface Paged {
  readonly limit?: number
  readonly cursor?: string
}
export interface ClaimWanted {
  readonly plan_id?: string
  readonly session_id?: string
  readonly agent_id?: string
  readonly kinds?: readonly string[]
  readonly lease_seconds?: number
}
/** `hash`: hash of what was shown; refused if the question has changed since. */
export interface Decision {
  readonly rationale?: string
  readonly hash?: string
}
/** An approval names the hash of what was shown, or says that it was not seen; the journal records which. */
export type Approval = Decision & { readonly unseen?: true }

export type Send = (request: Omit<Request, 'signal'>) => Promise<Reply>

export interface RemoteNouns {
  readonly plans: RemotePlans
  readonly tasks: RemoteTasks
  readonly gates: RemoteGates
  readonly checkpoints: RemoteCheckpoints
}

export function remoteNouns(send: Send, newKey: () => string): RemoteNouns {
  const asked = async <T>(request: Omit<Request, 'signal'>): Promise<Answered<T>> => {
    const reply = await send(request)
    if (reply.ok) return { ok: true, body: reply.body as T }
    const refusal = refusalIn(reply.problem)
    if (refusal === null) throw errorFrom(reply.problem)
    return { ok: false, refusal }
  }
  const get = <T>(path: string, query: object = {}) => asked<T>({ method: 'GET', path: path + queryOf(query) })
  const post = <T>(path: string, payload: object, { once = newKey() }: Keyed = {}) =>
    asked<T>({ method: 'POST', path, body: JSON.stringify(payload), key: once })
  const brought = <T>(document: body.PlanDocument | string, query: object, key: string): Promise<Answered<T>> => {
    const path = `/plans${queryOf(query)}`
    if (typeof document === 'string')
      return asked({ method: 'POST', path, body: document, type: 'application/yaml', key })
    return asked({ method: 'POST', path, body: JSON.stringify({ planfold: 1, ...document }), key })
  }
  const decide =
    (word: string): RemoteGates['reject'] =>
    (plan, gate, why = {}, options) =>
      post(`${planAt(plan)}/gates/${encodeURIComponent(gate)}/${word}`, why, options)
  return {
    plans: {
      create: (document, { once = newKey(), ...query } = {}) => brought(document, query, once),
      check: (document, query) => brought(document, { ...query, dry_run: true }, newKey()),
      get: plan => get(planAt(plan)),
      list: query => get('/plans', query),
      fork: (plan, wanted, options) => post(`${planAt(plan)}/fork`, wanted, options),
      compare: (plan, other) => get(`${planAt(plan)}/compare`, { with: other }),
      budget: plan => get(`${planAt(plan)}/budget`),
      addBudget: (plan, more, options) => post(`${planAt(plan)}/budget`, more, options),
      state: plan => get(`${planAt(plan)}/state`),
      redraft: (plan, wanted, options) => post(`${planAt(plan)}/redraft`, wanted, options),
      setWorker: (plan, worker, options) => post(`${planAt(plan)}/worker`, worker, options),
      execute: (plan, options) => post(`${planAt(plan)}/execute`, {}, options),
    },
    tasks: {
      get: (plan, task) => get(`/tasks/${encodeURIComponent(`${plan}:${task}`)}`),
      show: (plan, task, which) => get(taskAt(plan, task), which),
      list: query => get('/tasks', query),
      claim: ({ once, ...wanted } = {}) => post('/tasks/claim', wanted, once === undefined ? {} : { once }),
      heartbeat: (plan, task, claim) => post(`${taskAt(plan, task)}/heartbeat`, claim),
      report: (plan, task, result, options) => post(`${taskAt(plan, task)}/report`, result, options),
    },
    gates: {
      list: plan => get(`${planAt(plan)}/gates`),
      show: (plan, gate) => get(`${planAt(plan)}/gates/${encodeURIComponent(gate)}`),
      approve: decide('approve'),
      reject: decide('reject'),
    },
    checkpoints: { diff: (plan, wanted) => get(`${planAt(plan)}/checkpoints/diff`, wanted) },
  }
}

const planAt = (plan: string): string => `/plans/${encodeURIComponent(plan)}`
const taskAt = (plan: string, task: string): string => `${planAt(plan)}/tasks/${encodeURIComponent(task)}`

function queryOf(query: object): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(String(value))}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
