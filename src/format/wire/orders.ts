// The schema of every order of the Engine interface. The types in engine/orders.ts (via declarations.ts), the routes, the OpenAPI
// document and the client are derived from it. Facts that only the engine knows (hashes, tokens, what was written) are not part
// of it, so no caller can claim them. Rights and effects of orders are in engine/order-table.ts, so that the engine does not
// depend on the schema library.

import { z } from 'zod'
import { EDIT_CHOICES, type ImportedTask } from '../../domain/event.ts'
import { isSha256, type PlanId, type Sha256, type TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { UPLOAD_PART_MAX_BYTES } from '../../domain/limits.ts'
import type { Field } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { WireOrder } from './declarations.ts'
import { planDocument, taskDocument } from './definition.ts'
import { nonEmpty, notePlace } from './field-schemas.ts'
import { namedObject } from './wire.ts'

const TEXT_MAX = 100_000
/** A little more than a part may have, so that the engine says what is wrong. */
export const UPLOAD_DATA_MAX = UPLOAD_PART_MAX_BYTES * 2
const LIST_MAX = 20_000

const text = z.string().max(TEXT_MAX)
export const reference = nonEmpty(500)
export const task: z.ZodType<TaskName> = reference.transform(name => name as TaskName)
/** Read-only, because callers in the same process may pass lists they do not own. */
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
const resultFields = {
  outputs: jsonObject.exactOptional(),
  exit: z.int().exactOptional(),
  durationMs: ms.exactOptional(),
  verdicts: z.array(verdict).exactOptional(),
}
const result: z.ZodType<Result> = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('succeeded'), outcome: text.exactOptional(), ...resultFields }),
  z.strictObject({ status: z.literal('failed'), failure, mode: text.exactOptional(), ...resultFields }),
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
      text: nonEmpty(200_000),
      data: json.exactOptional(),
    })
    .exactOptional(),
})

export const planContext = z.strictObject({
  files: list(reference).exactOptional(),
  constraints: list(text).exactOptional(),
  conversation: text.exactOptional(),
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
  /** For single paths that were edited since; `every` applies to all other paths that were. */
  choices: z.record(z.string(), editChoice).exactOptional(),
  every: editChoice.exactOptional(),
  force: yes.exactOptional(),
  keepGit: yes.exactOptional(),
  /** Also revert undeclared paths that changed while a task without a scope ran. By default they stay and are reported. */
  includeUnclaimed: yes.exactOptional(),
}
export const goingBack = {
  /** A checkpoint, task, `before:TASK`, or entry number; by default before the first task. */
  to: reference.exactOptional(),
  /** Revert only these paths or patterns; tasks keep their state. */
  files: texts.exactOptional(),
  /** Revert only what these tasks wrote, and reopen them and their successors. */
  tasks: tasks.exactOptional(),
  filesOnly: yes.exactOptional(),
  ...choosing,
}
/** For orders that revise the definition as it is when they are committed, even if others wrote before. */
const revising = {
  rationale: text.exactOptional(),
  /** Refused if the plan is at another revision. */
  expectedRevision: count.exactOptional(),
}

export const of = <T extends string, S extends z.core.$ZodLooseShape>(type: T, shape: S) =>
  z.strictObject({ type: z.literal(type), ...shape })

export const ORDERS = {
  create: of('create', {
    definition: planDocument,
    origin: plan.exactOptional(),
    session: reference.exactOptional(),
    goal: reference.exactOptional(),
    agent: reference.exactOptional(),
    /** If the name is taken, `number` uses `name-2`, `name-3` … */
    taken: z.enum(['refuse', 'number']).exactOptional(),
    source: source.exactOptional(),
    /** The session's record of the plan, written in the same transaction. */
    conversation: conversation.exactOptional(),
    imported: list(imported).exactOptional(),
    /** What it is based on; kept without secrets, and cut. */
    context: planContext.exactOptional(),
  }),
  revise: of('revise', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    expectedRevision: revising.expectedRevision,
    /** Makes a failed plan continue, even if the definition is unchanged; says what becomes of completed unsafe work. */
    goOn: z.enum(['refuse', 'repeat', 'keep']).exactOptional(),
  }),
  start: of('start', {}),
  pause: of('pause', { reason: text.exactOptional(), force: yes.exactOptional() }),
  resume: of('resume', {}),
  cancel: of('cancel', { reason: text.exactOptional(), force: z.boolean().exactOptional() }),
  archive: of('archive', {}),
  /** `alone`: only while no other task of the plan is running. */
  claim: of('claim', { task: task.exactOptional(), leaseMs: ms.exactOptional(), alone: yes.exactOptional() }),
  /** Ends a claim of any holder and records what was changed since. */
  release: of('release', { task, reason: text.exactOptional() }),
  heartbeat: of('heartbeat', { task, token: reference, leaseMs: ms.exactOptional() }),
  report: of('report', {
    task,
    token: reference.exactOptional(),
    result,
    /** Patterns of changes outside the scope, since the claim, that others made. */
    notMine: list(text, 1_000).exactOptional(),
  }),
  /** A part of an artifact of a claimed task, from byte `from`; `sha256` and `bytes` are those of the whole. */
  upload: of('upload', {
    task,
    token: reference,
    name: nonEmpty(100),
    sha256,
    bytes: count,
    from: count,
    data: z.base64().max(UPLOAD_DATA_MAX).describe('The bytes of the part, in Base64.'),
  }),
  decide: of('decide', {
    ...decision,
    /** A complete revised document, which the answer approves. */
    edits: z.strictObject({ definition: planDocument, source: source.exactOptional() }).exactOptional(),
  }),
  /** Decides several gates at once or none, each with the hash of what was shown. */
  review: of('review', { decisions: list(z.strictObject(decision), 1_000, 1) }),
  /** A question during work; its id is in the event. */
  ask: of('ask', { text, form: list(field, 100), task: task.exactOptional() }),
  answer: of('answer', { id: reference, answers: jsonObject }),
  /** A revision that takes effect when a person accepts it, or at once if the policy says so. */
  propose: of('propose', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    cause: text.exactOptional(),
    task: task.exactOptional(),
    expectedRevision: revising.expectedRevision,
  }),
  /** Accepts or declines a proposed revision, bound to the hash of what was shown. */
  judge: of('judge', {
    id: reference,
    hash: sha256,
    verdict: z.enum(['accepted', 'declined']),
    rationale: text,
    unseen: yes.exactOptional(),
  }),
  /** Evaluates the final checks in a new round. No check may take longer than `timeoutMs`. */
  assess: of('assess', { timeoutMs: ms.exactOptional() }),
  /** Adds a task for each criterion that failed in the last round: with this script, or external. */
  append: of('append', { with: text.exactOptional() }),
  /** Appends tasks. For a draft, plain tasks are added at constant cost each; anything else is a revision. */
  add: of('add', { tasks: list(taskDocument), ...revising }),
  /** `set` contains changed keys of the task document, `unset` fields to remove. `extra` is merged by key; null removes a key. */
  change: of('change', {
    task,
    set: taskDocument,
    unset: list(reference, 100).exactOptional(),
    extra: jsonObject.exactOptional(),
    ...revising,
  }),
  /** Refused while other tasks need them. */
  remove: of('remove', { tasks, ...revising }),
  /** Moves these to the front in this order; the others follow in their old order. */
  reorder: of('reorder', { order: tasks, ...revising }),
  /** Descriptive fields of the plan; null removes one. `extra` is merged by key. */
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
  /** Data stored beside the plan or task and never interpreted; merged by key, null removes a key. */
  annotate: of('annotate', { set: jsonObject, task: task.exactOptional() }),
  evaluate: of('evaluate', {
    task,
    score: z.number().exactOptional(),
    passed: z.boolean().exactOptional(),
    data: json.exactOptional(),
  }),
  /** Ends the plan by the caller's decision. Open tasks are skipped in their name. */
  finish: of('finish', { as: z.enum(['completed', 'failed']), reason: text }),
  /** Raises the budget; only a person may. */
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
  /** `repeat`: deliberately repeat completed tasks with unsafe effects. */
  retry: of('retry', { task, reason: text.exactOptional(), repeat: yes.exactOptional() }),
  skip: of('skip', { task, reason: text }),
  note: of('note', { text, task: task.exactOptional(), place: notePlace.exactOptional() }),
  /** Stores all files; named by the time if no name is given. */
  checkpoint: of('checkpoint', { name: reference.exactOptional() }),
  /** Refused if others edited the files and no choice was made. Carried out by the plan's owner. */
  rollback: of('rollback', goingBack),
  /** Undoes the last rollback; twice is a redo. */
  undo: of('undo', choosing),
  /** Restores versions of files that a rollback replaced. Refused if the file has changed and no choice was made. */
  restore: of('restore', {
    paths: list(text, LIST_MAX, 1),
    /** The version's hash or a prefix; by default the last one replaced. */
    hash: reference.exactOptional(),
    /** If the file has changed: keep it, store it and take the version, or merge both. */
    every: editChoice.exactOptional(),
  }),
  /** Merges the work of a fork into its origin plan, whose journal `undo` reverts it with. */
  adopt: of('adopt', {
    /** Another plan to record it in; by default the nearest ancestor with a folder. */
    into: reference.exactOptional(),
    /** For single paths that changed there since the fork; `every` applies to all other paths that did. */
    choices: z.record(z.string(), editChoice).exactOptional(),
    every: editChoice.exactOptional(),
    keepFolder: yes.exactOptional(),
    /** Remove the folder even if it contains ignored files, which no snapshot has. */
    removeIgnored: yes.exactOptional(),
  }),
  /** Creates a new plan that continues from an earlier point of this one, which stays unchanged. */
  fork: of('fork', {
    /** A task (its end), `before:TASK`, a checkpoint, or the number of an entry. */
    from: reference,
    /** `<plan>-fork`, numbered, by default. */
    name: reference.exactOptional(),
    /** Inputs of open tasks, by `task.key`. */
    inputs: z.record(z.string(), json).exactOptional(),
    /** A definition to use instead of the one at that point. */
    definition: planDocument.exactOptional(),
    source: source.exactOptional(),
    /** For open tasks that ask a model. */
    model: text.exactOptional(),
    /** Work in the workspace instead of a separate folder. */
    here: yes.exactOptional(),
  }),
}

const one = z.discriminatedUnion('type', Object.values(ORDERS) as never) as unknown as z.ZodType<WireOrder>

export const orderBody = namedObject('EngineOrder', {
  plan: reference.nullable().describe('Its UUID or name; null to create one.'),
  order: one,
  expected_version: count.exactOptional(),
})
