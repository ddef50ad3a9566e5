// Every query of the Engine door as it travels: the door's own words, checked key by key.

import { z } from 'zod'
import { isSha256, type PlanId, type TaskName } from '../../domain/id.ts'
import { PLAN_STATUSES, TASK_STATUSES } from '../../domain/status.ts'
import { goingBack, of } from './orders.ts'
import { wire } from './wire.ts'

const reference = z.string().min(1).max(500)
const plan = { plan: reference }
const planId = reference.transform(id => id as PlanId)
const taskName = reference.transform(name => name as TaskName)
const task = { ...plan, task: reference }
const count = z.int().min(0)
/** Of so many tasks the edits may be imagined for one preview. */
const EARLIER_MAX = 1_000
const paging = { limit: z.number().exactOptional(), cursor: z.string().max(2_000).exactOptional() }
const sha256 = z.string().refine(isSha256, { error: 'is no SHA-256' }).meta({ pattern: '^[0-9a-f]{64}$' })
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

/** By type. */
export const QUERIES = {
  find: of('find', { reference: z.string().max(500) }),
  state: of('state', plan),
  summary: of('summary', plan),
  board: of('board', {
    ...plan,
    urgent: z.strictObject({ by: z.string().max(500), from: count, limit: count }).exactOptional(),
  }),
  task: of('task', task),
  briefing: of('briefing', task),
  removed: of('removed', task),
  definition: of('definition', { ...plan, revision: count.exactOptional() }),
  next: of('next', { ...plan, explain: z.boolean().exactOptional(), limit: count.exactOptional() }),
  plans: of('plans', somePlans),
  overview: of('overview', {
    ...somePlans,
    since: z.number().exactOptional(),
    until: z.number().exactOptional(),
    order: z.enum(['newest', 'updated', 'name', 'cost']).exactOptional(),
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
  logs: of('logs', {
    ...plan,
    task: reference.exactOptional(),
    after: count.exactOptional(),
    before: count.exactOptional(),
    limit: count.exactOptional(),
  }),
  taskPage: of('taskPage', task),
  taskChanges: of('taskChanges', { ...task, visit: count.exactOptional(), attempt: count.exactOptional() }),
  consent: of('consent', task),
  preview: of('preview', { ...task, earlier: z.array(reference).max(EARLIER_MAX).exactOptional() }),
  replay: of('replay', plan),
  checkpoints: of('checkpoints', plan),
  checkpoint: of('checkpoint', { ...plan, checkpoint: reference }),
  checkpointDiff: of('checkpointDiff', { ...plan, from: reference, to: reference.exactOptional() }),
  changedFiles: of('changedFiles', plan),
  artifact: of('artifact', { ...plan, sha256 }),
  blob: of('blob', { sha256 }),
  rollbackPreview: of('rollbackPreview', { ...plan, undo: z.literal(true).exactOptional(), ...goingBack }),
  keptFiles: of('keptFiles', plan),
  adoption: of('adoption', { ...plan, into: reference.exactOptional() }),
  compare: of('compare', { ...plan, with: reference }),
  pullRequest: of('pullRequest', plan),
  audit: of('audit', { ...plan, since: z.number().exactOptional() }),
  chain: of('chain', { ...plan, at: z.array(count).max(10_000).exactOptional() }),
  handoff: of('handoff', { ...plan, links: z.boolean().exactOptional() }),
  digest: of('digest', { ...plan, since: z.number() }),
  contract: of('contract', plan),
  budget: of('budget', { ...plan, earlier: z.literal(false).exactOptional() }),
  inbox: of('inbox', {}),
  questions: of('questions', { ...plan, id: reference.exactOptional() }),
  reviews: of('reviews', plan),
  position: of('position', {}),
  record: of('record', { ...plan, since: count.exactOptional() }),
  records: of('records', { ...plan, tasks: z.array(reference).max(20_000) }),
  inboxFate: of('inboxFate', { id: reference }),
  check: of('check', { readData: z.boolean().exactOptional() }),
  prune: of('prune', { before: z.number(), dryRun: z.boolean(), moved: z.literal(true).exactOptional() }),
  proposals: of('proposals', plan),
  converging: of('converging', plan),
  drift: of('drift', { ...plan, files: z.literal(false).exactOptional() }),
  evaluations: of('evaluations', task),
  search: of('search', {
    text: z.string().max(1_000),
    kinds: z
      .array(z.enum(['plan', 'task', 'log']))
      .max(3)
      .exactOptional(),
    plan: planId.exactOptional(),
    archived: z.boolean().exactOptional(),
    ...paging,
  }),
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

type WireQueries = typeof QUERIES
export type WireQuery = { [T in keyof WireQueries]: z.output<WireQueries[T]> }[keyof WireQueries]

const one = z.discriminatedUnion('type', Object.values(QUERIES) as never) as unknown as z.ZodType<WireQuery>

export const queryBody = wire(z.strictObject({ query: one }), 'EngineQuery')

export const queryAnswer = wire(
  z.union([
    z.strictObject({
      answer: z.unknown().meta({ description: 'As the Engine door types it; null where there is none.' }),
    }),
    z.strictObject({ bytes: z.base64() }),
  ]),
  'EngineAnswer',
)
