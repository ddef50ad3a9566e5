// The schema of every query of the Engine interface. The answer types are in engine/queries.ts, the implementation in
// engine/answer-query.ts. `plan` is a UUID or a name; for an unknown plan the answer is null.

import { z } from 'zod'
import { PLAN_STATUSES, TASK_STATUSES } from '../../domain/status.ts'
import type { WireQuery } from './declarations.ts'
import { count, goingBack, list, of, plan as planId, reference, sha256, task as taskName } from './orders.ts'
import { namedObject } from './wire.ts'

const plan = { plan: reference }
const task = { ...plan, task: reference }
/** Maximum number of tasks whose edits a preview applies first. */
const EARLIER_MAX = 1_000
const paging = { limit: z.number().exactOptional(), cursor: z.string().max(2_000).exactOptional() }
const planStatus = z.enum(PLAN_STATUSES)
const taskStatus = z.enum(TASK_STATUSES)

const somePlans = {
  status: planStatus.exactOptional(),
  session: z.string().exactOptional(),
  goal: z.string().exactOptional(),
  agent: z.string().exactOptional(),
  text: z.string().max(1_000).exactOptional(),
  archived: z.boolean().exactOptional(),
  ...paging,
}

export const QUERIES = {
  find: of('find', { reference: z.string().max(500) }),
  state: of('state', plan),
  summary: of('summary', plan),
  /** `urgent`: a page with the most important tasks first, and the claims of `by` before all others. */
  board: of('board', {
    ...plan,
    urgent: z.strictObject({ by: z.string().max(500), from: count, limit: count }).exactOptional(),
  }),
  task: of('task', task),
  briefing: of('briefing', task),
  removed: of('removed', task),
  definition: of('definition', { ...plan, revision: count.exactOptional() }),
  /**
   * `explain`: with the reason for each task that cannot be worked on. `limit`: the maximum number of claimable tasks, highest
   * priority first, and of reasons, which are given for tasks that have not ended.
   */
  next: of('next', { ...plan, explain: z.boolean().exactOptional(), limit: count.exactOptional() }),
  plans: of('plans', somePlans),
  overview: of('overview', {
    ...somePlans,
    since: z.number().exactOptional(),
    until: z.number().exactOptional(),
    order: z.enum(['newest', 'updated', 'name', 'cost']).exactOptional(),
    /** Only plans with something in the inbox. */
    waiting: z.boolean().exactOptional(),
  }),
  tasks: of('tasks', {
    plan: planId.exactOptional(),
    status: taskStatus.exactOptional(),
    assignee: z.string().exactOptional(),
    order: z.enum(['sequence', 'recent']).exactOptional(),
    ...paging,
  }),
  attempts: of('attempts', { plan: planId, task: taskName.exactOptional(), ...paging }),
  metrics: of('metrics', plan),
  entries: of('entries', { ...plan, after: count.exactOptional(), limit: count.exactOptional() }),
  /** `before`: the last chunks before this number, in order; `last`: the last chunks. */
  logs: of('logs', {
    ...plan,
    task: reference.exactOptional(),
    after: count.exactOptional(),
    before: count.exactOptional(),
    limit: count.exactOptional(),
  }),
  /** How many lines the task had printed before this chunk: the place of a page that was read from the end. */
  linesBefore: of('linesBefore', { ...task, before: count }),
  taskPage: of('taskPage', task),
  agentSteps: of('agentSteps', task),
  /** Why lines of a file are there. `plan`: the file in the folder where this plan works. */
  why: of('why', {
    path: z.string().max(4_096),
    line: count.exactOptional(),
    plan: reference.exactOptional(),
  }),
  /** By default the last attempt that changed files. */
  taskChanges: of('taskChanges', {
    ...task,
    visit: count.exactOptional(),
    attempt: count.exactOptional(),
    tried: z.string().max(20).exactOptional(),
  }),
  consent: of('consent', task),
  judgedWork: of('judgedWork', task),
  /** `earlier`: tasks whose edits are applied first. */
  preview: of('preview', { ...task, earlier: list(reference, EARLIER_MAX).exactOptional() }),
  replay: of('replay', plan),
  checkpoints: of('checkpoints', plan),
  checkpoint: of('checkpoint', { ...plan, checkpoint: reference }),
  checkpointDiff: of('checkpointDiff', { ...plan, from: reference, to: reference.exactOptional() }),
  changedFiles: of('changedFiles', plan),
  /** Of one task, under one name; `after`: how many to pass over. */
  artifacts: of('artifacts', {
    ...plan,
    task: reference.exactOptional(),
    name: reference.exactOptional(),
    sha256: reference.exactOptional(),
    after: count.exactOptional(),
    limit: count.exactOptional(),
  }),
  /** The version is a number, or a hash or its beginning; by default the last. */
  artifactOf: of('artifactOf', { ...task, name: reference, version: reference.exactOptional() }),
  artifact: of('artifact', { ...plan, sha256 }),
  confidentialArtifact: of('confidentialArtifact', { ...plan, sha256 }),
  uploads: of('uploads', task),
  blob: of('blob', { sha256 }),
  rollbackPreview: of('rollbackPreview', { ...plan, undo: z.literal(true).exactOptional(), ...goingBack }),
  rollbackDiffs: of('rollbackDiffs', { ...plan, undo: z.literal(true).exactOptional(), ...goingBack }),
  keptFiles: of('keptFiles', plan),
  adoption: of('adoption', { ...plan, into: reference.exactOptional() }),
  compare: of('compare', { ...plan, with: reference }),
  pullRequest: of('pullRequest', plan),
  audit: of('audit', { ...plan, since: z.number().exactOptional() }),
  chain: of('chain', { ...plan, at: list(count, 10_000).exactOptional() }),
  handoff: of('handoff', { ...plan, links: z.boolean().exactOptional() }),
  digest: of('digest', { ...plan, since: z.number() }),
  contract: of('contract', plan),
  /** `earlier: false`: no forecast from other plans. */
  budget: of('budget', { ...plan, earlier: z.literal(false).exactOptional() }),
  /** Those of earlier plans, about one file or all. */
  lessons: of('lessons', { file: z.string().max(1_000).exactOptional() }),
  inbox: of('inbox', {}),
  /** Open questions, or the one with this id. */
  questions: of('questions', { ...plan, id: reference.exactOptional() }),
  reviews: of('reviews', plan),
  position: of('position', {}),
  /** The processes that drive plans, and the plans that wait for one. */
  workers: of('workers', {}),
  /** `since`: the caller's version; if it is current, the answer is `unchanged`. */
  record: of('record', { ...plan, since: count.exactOptional() }),
  /** The existing ones of these names or ids, in this order. */
  records: of('records', { ...plan, tasks: list(reference) }),
  inboxFate: of('inboxFate', { id: reference }),
  check: of('check', { readData: z.boolean().exactOptional() }),
  prune: of('prune', { before: z.number(), dryRun: z.boolean(), moved: z.literal(true).exactOptional() }),
  proposals: of('proposals', plan),
  converging: of('converging', plan),
  /** Without `files`, files are not compared. */
  drift: of('drift', { ...plan, files: z.literal(false).exactOptional() }),
  evaluations: of('evaluations', task),
  search: of('search', {
    text: z.string().max(1_000),
    kinds: list(z.enum(['plan', 'task', 'log']), 3).exactOptional(),
    plan: planId.exactOptional(),
    archived: z.boolean().exactOptional(),
    ...paging,
  }),
  /** Grouped by plan by default. */
  steps: of('steps', {
    by: z.enum(['plan', 'agent', 'capability', 'kind', 'hour', 'day']).exactOptional(),
    plan: reference.exactOptional(),
    agent: z.string().exactOptional(),
    capability: z.string().exactOptional(),
    kind: z.string().exactOptional(),
    since: z.number().exactOptional(),
    until: z.number().exactOptional(),
    ...paging,
  }),
}

const one = z.discriminatedUnion('type', Object.values(QUERIES) as never) as unknown as z.ZodType<WireQuery>

export const queryBody = namedObject('EngineQuery', { query: one })
