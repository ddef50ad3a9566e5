// The usual calls of the service by their nouns, each one request: for whoever has documents and plain text, and wants to know
// nothing of the Engine door behind them.

import type * as body from './bodies.ts'
import { errorFrom, type RemoteRefusal, type Reply, type Request, refusalIn } from './transport.ts'

/** A refusal is a value, as everywhere; what is thrown is trouble with the service or the store. */
export type Answered<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly refusal: RemoteRefusal }

/** `once`: a key of your own; the same request under the same key happens once. Every write has one by itself. */
export interface Keyed {
  readonly once?: string
}

export interface RemotePlans {
  /** From an object in the canonical format, or text in any that is understood. A draft, unless it is to be started. */
  create(document: body.PlanDocument | string, options?: body.CreateOptions & Keyed): Promise<Answered<body.PlanMade>>
  get(plan: string): Promise<Answered<body.PlanBody>>
  /** Checks it as `create` does; nothing is written. */
  check(document: body.PlanDocument | string, options?: body.CreateOptions): Promise<Answered<body.PlanChecked>>
  list(query?: PlansWanted): Promise<Answered<body.PlanPage>>
  /** A draft that goes on from where the plan stood. */
  fork(plan: string, wanted: body.ForkWanted, options?: Keyed): Promise<Answered<body.ForkMade>>
  /** Two runs side by side. */
  compare(plan: string, other: string): Promise<Answered<body.ComparisonBody>>
  /** What is spent, reserved and left, and a forecast of the rest. */
  budget(plan: string): Promise<Answered<body.BudgetBody>>
  /** Adds to it; needs the right to decide. */
  addBudget(plan: string, more: body.BudgetMore, options?: Keyed): Promise<Answered<body.BudgetBody>>
  /** The whole of it as it stands, to be carried on by whoever listens to its events. */
  state(plan: string): Promise<Answered<body.PlanStateBody>>
  /** The next draft of a draft, by what people say about it. Nothing is written. */
  redraft(plan: string, wanted: body.RedraftWanted, options?: Keyed): Promise<Answered<body.RedraftBody>>
  /** A coding agent works the tasks that wait for a claim, or one of them. A draft is not started. */
  setWorker(plan: string, worker: body.WorkerWanted, options?: Keyed): Promise<Answered<body.WorkerBody>>
  /** Starts a draft, resumes what is paused. */
  execute(plan: string, options?: Keyed): Promise<Answered<body.Moved>>
}

export interface RemoteTasks {
  get(plan: string, task: string): Promise<Answered<body.TaskBody>>
  /** Everything about it: definition, attempts, criteria with evidence, changed files, the end of its output. */
  show(plan: string, task: string, which?: AttemptWanted): Promise<Answered<body.TaskPageBody>>
  list(query?: TasksWanted): Promise<Answered<body.PageOf<body.TaskBody>>>
  /** The next that is ready; `body` is null when nothing is. */
  claim(wanted?: ClaimWanted & Keyed): Promise<Answered<body.ClaimBody | null>>
  heartbeat(
    plan: string,
    task: string,
    held: { readonly token: string; readonly lease_seconds?: number },
  ): Promise<Answered<body.HeartbeatBody>>
  report(plan: string, task: string, said: body.ReportSaid, options?: Keyed): Promise<Answered<body.TaskMoved>>
}

export interface RemoteGates {
  /** What waits for a decision in the plan. */
  list(plan: string): Promise<Answered<body.PageOf<body.GateBody>>>
  /** One of them, with everything an answer agrees to. */
  show(plan: string, gate: string): Promise<Answered<body.GatePageBody>>
  approve(plan: string, gate: string, why?: Approval, options?: Keyed): Promise<Answered<body.GateDecided>>
  reject(plan: string, gate: string, why?: Decision, options?: Keyed): Promise<Answered<body.GateDecided>>
}

export interface RemoteCheckpoints {
  /** Paths that differ between two, or between one and now. */
  diff(plan: string, wanted: CheckpointsWanted): Promise<Answered<body.CheckpointDiffBody>>
}

/** The changes of this attempt; of the last that changed files when none is said. */
export interface AttemptWanted {
  readonly visit?: number
  readonly attempt?: number
}
/** Each is a checkpoint, a task, or the number of an entry. */
export interface CheckpointsWanted {
  readonly from: string
  /** Now when not said. */
  readonly to?: string
}
export interface PlansWanted extends Paged {
  readonly status?: string
  readonly goal_id?: string
  readonly agent_id?: string
  readonly session_id?: string
  readonly q?: string
  readonly archived?: boolean
  /** Changed then or later; made before. As `2026-11-15T08:30:00Z`. */
  readonly since?: string
  readonly until?: string
  /** Only those in which something waits for a person. */
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
/** `hash`: of what was seen; refused when something else is asked by now. */
export interface Decision {
  readonly rationale?: string
  readonly hash?: string
}
/** An approval names the hash of what was shown, or says that it was not seen; the journal keeps which. */
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
  const post = <T>(path: string, said: object, { once = newKey() }: Keyed = {}) =>
    asked<T>({ method: 'POST', path, body: JSON.stringify(said), key: once })
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
      heartbeat: (plan, task, held) => post(`${taskAt(plan, task)}/heartbeat`, held),
      report: (plan, task, said, options) => post(`${taskAt(plan, task)}/report`, said, options),
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
  const said = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(String(value))}`],
  )
  return said.length === 0 ? '' : `?${said.join('&')}`
}
