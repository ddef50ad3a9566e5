// Every order of the Engine door: its keys, each checked. The types of engine/orders.ts come from here (declarations.ts), and so do the routes,
// the OpenAPI document and the client. Facts that only the engine can know (hashes, tokens, what was written) have no place here, so
// nobody can claim them. The right an order needs, and what it does, stand in engine/order-table.ts: an engine does without the
// schema library, and schemas without an engine.

import { z } from 'zod'
import { EDIT_CHOICES, type ImportedTask } from '../../domain/event.ts'
import { isSha256, type PlanId, type Sha256, type TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Field } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { WireOrder } from './declarations.ts'
import { planDocument, taskDocument } from './definition.ts'
import { notePlace } from './field-schemas.ts'
import { wire } from './wire.ts'

const TEXT_MAX = 100_000
const LIST_MAX = 20_000

const text = z.string().max(TEXT_MAX)
export const reference = z.string().min(1).max(500)
export const task: z.ZodType<TaskName> = reference.transform(name => name as TaskName)
/** Whoever orders in the same process may hand over lists that are not theirs to change. */
export const list = <T extends z.ZodType>(item: T, max = LIST_MAX, min?: number): z.ZodType<readonly z.output<T>[]> =>
  min === undefined ? z.array(item).max(max) : z.array(item).min(min).max(max)
const texts = list(text)
const tasks: z.ZodType<readonly TaskName[]> = list(task)
export const plan: z.ZodType<PlanId> = reference.transform(id => id as PlanId)
const ms = z.number().min(0)
export const count = z.int().min(0)
const yes = z.literal(true)
const json = z.unknown().transform(value => value as Json)
const jsonObject = z.record(z.string(), z.unknown()).transform(value => value as JsonObject)
export const sha256: z.ZodType<Sha256> = z
  .string()
  .refine(isSha256, { error: 'is no SHA-256', params: { hint: 'write 64 lower-case hexadecimal digits' } })
  .meta({ pattern: '^[0-9a-f]{64}$' })
const source = z.strictObject({ dialect: z.string(), text: z.string() })

const failure = z.strictObject({
  class: z.enum(['transient', 'logic', 'policy', 'resource', 'cancelled', 'unknown']),
  message: text,
  hint: text.exactOptional(),
  retryable: z.boolean(),
  code: text.exactOptional(),
  retryAfterMs: ms.exactOptional(),
})
const verdict = z.strictObject({
  criterion: text,
  holds: z.boolean().nullable(),
  evidence: text.exactOptional(),
  stage: z.enum(['precondition', 'postcondition', 'effects']).exactOptional(),
  said: text.exactOptional(),
})
const told = {
  outputs: jsonObject.exactOptional(),
  exit: z.int().exactOptional(),
  durationMs: ms.exactOptional(),
  verdicts: z.array(verdict).exactOptional(),
}
const result: z.ZodType<Result> = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('succeeded'), outcome: text.exactOptional(), ...told }),
  z.strictObject({ status: z.literal('failed'), failure, mode: text.exactOptional(), ...told }),
])

const field: z.ZodType<Field> = z.strictObject({
  name: reference,
  label: text.exactOptional(),
  type: z.enum(['text', 'number', 'boolean', 'choice', 'list']),
  choices: z.array(text).exactOptional(),
  optional: yes.exactOptional(),
  default: json.exactOptional(),
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  pattern: text.exactOptional(),
})

const conversation = z.strictObject({
  title: text,
  message: z
    .strictObject({
      role: z.enum(['user', 'agent', 'system']),
      text: z.string().min(1).max(200_000),
      data: json.exactOptional(),
    })
    .exactOptional(),
})

const imported: z.ZodType<ImportedTask> = z.strictObject({
  task,
  status: z.enum(['pending', 'completed', 'failed', 'skipped', 'abandoned', 'cancelled']),
  result: result.exactOptional(),
  handled: yes.exactOptional(),
  routedBy: tasks.exactOptional(),
})

const editChoice = z.enum(EDIT_CHOICES)

const decision = {
  task,
  verdict: z.enum(['approved', 'rejected', 'done', 'again', 'pushed-back', 'chosen', 'answered', 'skipped']),
  rationale: text,
  hash: sha256.exactOptional(),
  unseen: yes.exactOptional(),
  until: z.number().exactOptional(),
  option: text.exactOptional(),
  choices: z.record(z.string(), editChoice).exactOptional(),
  answers: jsonObject.exactOptional(),
  to: task.exactOptional(),
}

const choosing = {
  /** For single paths where somebody has worked since; `every`: for all other such paths. */
  choices: z.record(z.string(), editChoice).exactOptional(),
  every: editChoice.exactOptional(),
  force: yes.exactOptional(),
  keepGit: yes.exactOptional(),
  /** Also paths that no task declares and that changed while a task without a scope ran. Without it they stay, and are named. */
  includeUnclaimed: yes.exactOptional(),
}
export const goingBack = {
  /** A checkpoint, a task, `before:TASK`, or the number of an entry; before the first task when absent. */
  to: reference.exactOptional(),
  /** Only these paths or patterns; tasks stay as they are. */
  files: texts.exactOptional(),
  /** Only what these tasks wrote; they and what came after them are open again. */
  tasks: tasks.exactOptional(),
  filesOnly: yes.exactOptional(),
  ...choosing,
}
/** Of what is made from the definition as it stands when it is written, whoever else wrote meanwhile. */
const revising = {
  rationale: text.exactOptional(),
  /** Refused when the plan has another by then. */
  expectedRevision: count.exactOptional(),
}

export const of = <T extends string, S extends z.core.$ZodLooseShape>(type: T, shape: S) =>
  z.strictObject({ type: z.literal(type), ...shape })

/** By type. */
export const ORDERS = {
  create: of('create', {
    definition: planDocument,
    origin: plan.exactOptional(),
    session: reference.exactOptional(),
    goal: reference.exactOptional(),
    /** Who is to carry it out. */
    agent: reference.exactOptional(),
    /** `number` makes `name-2`, `name-3` … when the name is taken. */
    taken: z.enum(['refuse', 'number']).exactOptional(),
    source: source.exactOptional(),
    /** What its session holds of it: written in the same transaction as the plan. */
    conversation: conversation.exactOptional(),
    imported: list(imported).exactOptional(),
  }),
  revise: of('revise', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    expectedRevision: revising.expectedRevision,
    /** A plan that failed goes on by it, also when the definition is the same. */
    goOn: z.enum(['refuse', 'repeat', 'keep']).exactOptional(),
  }),
  start: of('start', {}),
  pause: of('pause', { reason: text.exactOptional(), force: yes.exactOptional() }),
  resume: of('resume', {}),
  cancel: of('cancel', { reason: text.exactOptional(), force: z.boolean().exactOptional() }),
  archive: of('archive', {}),
  /** `alone`: only while no other task of the plan is running. */
  claim: of('claim', { task: task.exactOptional(), leaseMs: ms.exactOptional(), alone: yes.exactOptional() }),
  /** Gives a claim back, whoever holds it; what was changed since the claim is written down. */
  release: of('release', { task, reason: text.exactOptional() }),
  heartbeat: of('heartbeat', { task, token: reference, leaseMs: ms.exactOptional() }),
  report: of('report', {
    task,
    token: reference.exactOptional(),
    result,
    /** Patterns of what has changed outside its scope since the claim, and is somebody else's. */
    notMine: list(text, 1_000).exactOptional(),
  }),
  decide: of('decide', {
    ...decision,
    /** A whole revised document: approved as it stands there. */
    edits: z.strictObject({ definition: planDocument, source: source.exactOptional() }).exactOptional(),
  }),
  /** Several gates in one review: all of them are decided, or none. Each with the hash of what was seen. */
  review: of('review', { decisions: list(z.strictObject(decision), 1_000, 1) }),
  /** A question in the middle of somebody's work; its id is in the event. */
  ask: of('ask', { text, form: list(field, 100), task: task.exactOptional() }),
  answer: of('answer', { id: reference, answers: jsonObject }),
  /** A revision that takes effect when somebody agrees to it, or at once where the policy says so. */
  propose: of('propose', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    cause: text.exactOptional(),
    task: task.exactOptional(),
    expectedRevision: revising.expectedRevision,
  }),
  /** Accepts or declines a proposed revision, as it was seen. */
  judge: of('judge', {
    id: reference,
    hash: sha256,
    verdict: z.enum(['accepted', 'declined']),
    rationale: text,
    unseen: yes.exactOptional(),
  }),
  /** Judges the definition of done against the workspace, in a round of its own. No check takes longer than `timeoutMs`. */
  assess: of('assess', { timeoutMs: ms.exactOptional() }),
  /** Adds a task for each criterion that did not hold in the last round: with this script, or for whoever claims it. */
  append: of('append', { with: text.exactOptional() }),
  /** At the end of the plan. To a draft, plain tasks are added one by one at a constant cost; anything else is a revision. */
  add: of('add', { tasks: list(taskDocument), ...revising }),
  /**
   * `set` is the part of a task document that changes, `unset` the fields of the definition that are taken away. `extra` is merged key
   * by key; null takes a key away.
   */
  change: of('change', {
    task,
    set: taskDocument,
    unset: list(reference, 100).exactOptional(),
    extra: jsonObject.exactOptional(),
    ...revising,
  }),
  /** Refused while others need them. */
  remove: of('remove', { tasks, ...revising }),
  /** These first, in this order; all others behind them, as they stood. */
  reorder: of('reorder', { order: tasks, ...revising }),
  /** What the plan says of itself; null takes it away. `extra` is merged key by key. */
  outline: of('outline', {
    set: z.strictObject({
      title: text.nullable().exactOptional(),
      goal: text.nullable().exactOptional(),
      owner: text.nullable().exactOptional(),
      labels: texts.nullable().exactOptional(),
    }),
    extra: jsonObject.exactOptional(),
    ...revising,
  }),
  /** Kept beside the plan or the task and never followed; merged key by key, null takes a key away. */
  annotate: of('annotate', { set: jsonObject, task: task.exactOptional() }),
  /** Its id is in the event. */
  evaluate: of('evaluate', {
    task,
    score: z.number().exactOptional(),
    passed: z.boolean().exactOptional(),
    data: json.exactOptional(),
  }),
  /** Somebody's word about the whole plan. What is open is passed over in their name. */
  finish: of('finish', { as: z.enum(['completed', 'failed']), reason: text }),
  /** More may be spent; only a person may say so. */
  raise: of('raise', {
    add: z.strictObject({
      attempts: z.number().exactOptional(),
      calls: z.number().exactOptional(),
      tokens: z.number().exactOptional(),
      cost: z.number().exactOptional(),
      timeMs: z.number().exactOptional(),
      outputBytes: z.number().exactOptional(),
    }),
    task: task.exactOptional(),
  }),
  /** `repeat`: completed tasks whose effect is unsafe are done a second time on purpose. */
  retry: of('retry', { task, reason: text.exactOptional(), repeat: yes.exactOptional() }),
  skip: of('skip', { task, reason: text }),
  note: of('note', { text, task: task.exactOptional(), place: notePlace.exactOptional() }),
  /** All files are stored first; without a name it is called after the time. */
  checkpoint: of('checkpoint', { name: reference.exactOptional() }),
  /** Refused where somebody has worked since and nobody chose. Whoever drives the plan carries it out. */
  rollback: of('rollback', goingBack),
  /** Takes back the last rollback; twice is a redo. */
  undo: of('undo', choosing),
  /** Brings back versions of files that had been set back. Refused where something else stands and nobody chose. */
  restore: of('restore', {
    paths: list(text, LIST_MAX, 1),
    /** Of the version, or its first digits; the last one that was replaced when absent. */
    hash: reference.exactOptional(),
    /** Where something else stands by now: keep that, take the kept version after storing what stands there, or merge both. */
    every: editChoice.exactOptional(),
  }),
  /** Of a fork: its work is brought into the plan it was made from, whose journal `undo` takes it back with. */
  adopt: of('adopt', {
    /** Another plan to record it in, by name or UUID; the nearest ancestor with a folder when absent. */
    into: reference.exactOptional(),
    /** For single paths that changed there since the fork was made; `every`: for all other such paths. */
    choices: z.record(z.string(), editChoice).exactOptional(),
    every: editChoice.exactOptional(),
    /** Leave the folder of the fork where it is. */
    keepFolder: yes.exactOptional(),
    /** Remove the folder although it holds ignored files, which no snapshot has. */
    removeIgnored: yes.exactOptional(),
  }),
  /** A new plan that goes on from where this one stood; this one and its files stay as they are. */
  fork: of('fork', {
    /** A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry. */
    from: reference,
    /** `<plan>-fork`, numbered, when absent. */
    name: reference.exactOptional(),
    /** By `task.key`, for tasks that are open there. */
    inputs: z.record(z.string(), json).exactOptional(),
    /** Another definition than that of then. */
    definition: planDocument.exactOptional(),
    source: source.exactOptional(),
    /** For open tasks that ask a model. */
    model: text.exactOptional(),
    /** Work in the workspace as it is, instead of in a folder of its own. */
    here: yes.exactOptional(),
  }),
}

const one = z.discriminatedUnion('type', Object.values(ORDERS) as never) as unknown as z.ZodType<WireOrder>

export const orderBody = wire(
  z.strictObject({
    plan: reference.nullable().meta({ description: 'Its UUID or name; null to create one.' }),
    order: one,
    expected_version: count.exactOptional(),
  }),
  'EngineOrder',
)
