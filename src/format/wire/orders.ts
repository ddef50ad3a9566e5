// Every order of the Engine door as it travels: the door's own words, checked key by key. Facts that only the engine can know
// (hashes, tokens, what was written) have no place here, so nobody can claim them.

import { z } from 'zod'
import { EDIT_CHOICES } from '../../domain/event.ts'
import { isSha256, type PlanId, type TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { planDocument, taskDocument } from './definition.ts'
import { notePlace } from './field-schemas.ts'
import { wire } from './wire.ts'

const TEXT_MAX = 100_000
const LIST_MAX = 20_000

const text = z.string().max(TEXT_MAX)
const reference = z.string().min(1).max(500)
const task = reference.transform(name => name as TaskName)
const tasks = z.array(task).max(LIST_MAX)
const plan = reference.transform(id => id as PlanId)
const ms = z.number().min(0)
const count = z.int().min(0)
const yes = z.literal(true)
const json = z.unknown().transform(value => value as Json)
const jsonObject = z.record(z.string(), z.unknown()).transform(value => value as JsonObject)
const sha256 = z
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
const result = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('succeeded'), outcome: text.exactOptional(), ...told }),
  z.strictObject({ status: z.literal('failed'), failure, mode: text.exactOptional(), ...told }),
])

const field = z.strictObject({
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

const imported = z.strictObject({
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
  until: z.number().exactOptional(),
  option: text.exactOptional(),
  choices: z.record(z.string(), editChoice).exactOptional(),
  answers: jsonObject.exactOptional(),
  to: task.exactOptional(),
}

const choosing = {
  choices: z.record(z.string(), editChoice).exactOptional(),
  every: editChoice.exactOptional(),
  force: yes.exactOptional(),
  keepGit: yes.exactOptional(),
  includeUnclaimed: yes.exactOptional(),
}
export const goingBack = {
  to: reference.exactOptional(),
  files: z.array(text).max(LIST_MAX).exactOptional(),
  tasks: tasks.exactOptional(),
  filesOnly: yes.exactOptional(),
  ...choosing,
}
const rationale = text.exactOptional()
const expectedRevision = count.exactOptional()

export const of = <T extends string, S extends z.core.$ZodLooseShape>(type: T, shape: S) =>
  z.strictObject({ type: z.literal(type), ...shape })

/** By type. */
export const ORDERS = {
  create: of('create', {
    definition: planDocument,
    origin: plan.exactOptional(),
    session: reference.exactOptional(),
    goal: reference.exactOptional(),
    agent: reference.exactOptional(),
    taken: z.enum(['refuse', 'number']).exactOptional(),
    source: source.exactOptional(),
    conversation: conversation.exactOptional(),
    imported: z.array(imported).max(LIST_MAX).exactOptional(),
  }),
  revise: of('revise', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    expectedRevision,
    goOn: z.enum(['refuse', 'repeat', 'keep']).exactOptional(),
  }),
  start: of('start', {}),
  pause: of('pause', { reason: text.exactOptional(), force: yes.exactOptional() }),
  resume: of('resume', {}),
  cancel: of('cancel', { reason: text.exactOptional(), force: z.boolean().exactOptional() }),
  archive: of('archive', {}),
  claim: of('claim', { task: task.exactOptional(), leaseMs: ms.exactOptional(), alone: yes.exactOptional() }),
  release: of('release', { task, reason: text.exactOptional() }),
  heartbeat: of('heartbeat', { task, token: reference, leaseMs: ms.exactOptional() }),
  report: of('report', {
    task,
    token: reference.exactOptional(),
    result,
    notMine: z.array(text).max(1_000).exactOptional(),
  }),
  decide: of('decide', {
    ...decision,
    edits: z.strictObject({ definition: planDocument, source: source.exactOptional() }).exactOptional(),
  }),
  review: of('review', { decisions: z.array(z.strictObject(decision)).min(1).max(1_000) }),
  ask: of('ask', { text, form: z.array(field).max(100), task: task.exactOptional() }),
  answer: of('answer', { id: reference, answers: jsonObject }),
  propose: of('propose', {
    definition: planDocument,
    rationale: text,
    source: source.exactOptional(),
    cause: text.exactOptional(),
    task: task.exactOptional(),
    expectedRevision,
  }),
  judge: of('judge', { id: reference, hash: sha256, verdict: z.enum(['accepted', 'declined']), rationale: text }),
  assess: of('assess', { timeoutMs: ms.exactOptional() }),
  append: of('append', { with: text.exactOptional() }),
  add: of('add', { tasks: z.array(taskDocument).max(LIST_MAX), rationale, expectedRevision }),
  /** `set` is the part of a task document that changes, `unset` the fields of the definition that are taken away. */
  change: of('change', {
    task,
    set: taskDocument,
    unset: z.array(reference).max(100).exactOptional(),
    extra: jsonObject.exactOptional(),
    rationale,
    expectedRevision,
  }),
  remove: of('remove', { tasks, rationale, expectedRevision }),
  reorder: of('reorder', { order: tasks, rationale, expectedRevision }),
  outline: of('outline', {
    set: z.strictObject({
      title: text.nullable().exactOptional(),
      goal: text.nullable().exactOptional(),
      owner: text.nullable().exactOptional(),
      labels: z.array(text).max(LIST_MAX).nullable().exactOptional(),
    }),
    extra: jsonObject.exactOptional(),
    rationale,
    expectedRevision,
  }),
  annotate: of('annotate', { set: jsonObject, task: task.exactOptional() }),
  evaluate: of('evaluate', {
    task,
    score: z.number().exactOptional(),
    passed: z.boolean().exactOptional(),
    data: json.exactOptional(),
  }),
  finish: of('finish', { as: z.enum(['completed', 'failed']), reason: text }),
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
  retry: of('retry', { task, reason: text.exactOptional(), repeat: z.literal(true).exactOptional() }),
  skip: of('skip', { task, reason: text }),
  note: of('note', { text, task: task.exactOptional(), place: notePlace.exactOptional() }),
  checkpoint: of('checkpoint', { name: reference.exactOptional() }),
  rollback: of('rollback', goingBack),
  undo: of('undo', choosing),
  restore: of('restore', {
    paths: z.array(text).min(1).max(LIST_MAX),
    hash: reference.exactOptional(),
    every: editChoice.exactOptional(),
  }),
  adopt: of('adopt', {
    into: reference.exactOptional(),
    choices: z.record(z.string(), editChoice).exactOptional(),
    every: editChoice.exactOptional(),
    keepFolder: yes.exactOptional(),
    removeIgnored: yes.exactOptional(),
  }),
  fork: of('fork', {
    from: reference,
    name: reference.exactOptional(),
    inputs: z.record(z.string(), json).exactOptional(),
    definition: planDocument.exactOptional(),
    source: source.exactOptional(),
    model: text.exactOptional(),
    here: yes.exactOptional(),
  }),
}

type WireOrders = typeof ORDERS
export type WireOrder = { [T in keyof WireOrders]: z.output<WireOrders[T]> }[keyof WireOrders]

const one = z.discriminatedUnion('type', Object.values(ORDERS) as never) as unknown as z.ZodType<WireOrder>

export const orderBody = wire(
  z.strictObject({
    plan: reference.nullable().meta({ description: 'Its UUID or name; null to create one.' }),
    order: one,
    expected_version: count.exactOptional(),
  }),
  'EngineOrder',
)

export const orderAnswer = wire(
  z.strictObject({
    plan: z.string(),
    name: z.string(),
    version: count,
    events: z.array(z.looseObject({ type: z.string() })),
    claim: z.strictObject({ task: z.string(), token: z.string(), expiresInMs: z.number() }).optional(),
    fork: z.looseObject({ from: count }).optional(),
    adopted: z.looseObject({ status: z.enum(['ordered', 'settled']) }).optional(),
    replayed: yes.optional(),
  }),
  'EngineSubmitted',
)
