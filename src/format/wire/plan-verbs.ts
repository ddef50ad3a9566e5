// What is done to a plan as a whole: carried out, held, ended, copied, taken back.

import { z } from 'zod'
import { map, moved, reason, time } from './asking.ts'
import { wire } from './wire.ts'

const why = reason.optional().meta({ description: 'Why; it is kept in the journal.' })

export const pauseBody = wire(
  z.strictObject({
    reason: why,
    force: z
      .boolean()
      .optional()
      .meta({ description: 'Also ends what may not be run again; it then asks what became of it.' }),
  }),
)
export const cancelBody = wire(
  z.strictObject({
    reason: why,
    force: z.boolean().optional().meta({ description: 'Here and now: nothing is undone first.' }),
  }),
)
export const cloneBody = wire(
  z.strictObject({
    name: z.string().min(1).max(100).optional(),
    description: z.string().max(100_000).optional().meta({ description: 'Another goal than that of the first.' }),
    session_id: z.string().min(1).max(128).optional(),
  }),
)

export const unsafeWork = z.enum(['repeat', 'keep']).optional().meta({
  description:
    'Of a plan that failed: do again (`repeat`), or leave done (`keep`), completed work that is unsafe to repeat and would run again because it changed or what it needs runs again. Refused when there is such work and nothing is said.',
})
export const executeBody = wire(z.strictObject({ unsafe: unsafeWork }))
export const executed = wire(
  z.strictObject({
    status: z.literal('execution_started'),
    attached: z.boolean().meta({ description: 'It was under way already; nothing was started twice.' }),
    message: z.string().optional(),
    went_on: z
      .strictObject({
        stay_done: z.int(),
        run_again: z.array(z.string()),
        added: z.array(z.string()),
        not_run_yet: z.int(),
      })
      .optional()
      .meta({ description: 'It had failed and goes on: what becomes of its tasks.' }),
    ...moved,
  }),
)
export const verbDone = wire(
  z.strictObject({
    status: z
      .enum(['paused', 'resumed', 'cancelling', 'cancelled'])
      .meta({ description: '`cancelling`: what it has begun is ended, and undone, first.' }),
    ...moved,
  }),
)

const choice = z.enum(['mine', 'theirs', 'merge'])
const rollback = z.strictObject({
  checkpoint_id: z.string().min(1).max(300).optional().meta({ description: 'A checkpoint by its name.' }),
  to: z
    .union([z.string().min(1).max(300), z.int().min(0)])
    .optional()
    .meta({ description: 'A checkpoint, or the number of an entry. Before the first task, when neither is said.' }),
  undo: z.boolean().optional().meta({ description: 'Takes back the last rollback instead.' }),
  files: z.array(z.string().min(1).max(4_096)).min(1).max(1_000).optional().meta({ description: 'Only these paths.' }),
  tasks: z.array(z.string().min(1)).min(1).max(1_000).optional().meta({ description: 'Only what these tasks wrote.' }),
  files_only: z.boolean().optional(),
  keep_git: z.boolean().optional(),
  force: z.boolean().optional(),
  choices: z
    .record(z.string(), choice)
    .optional()
    .meta({ description: 'Path by path, where somebody has worked since.' }),
  every: choice.optional().meta({ description: 'For all other such paths.' }),
  dry_run: z.boolean().optional().meta({ description: 'Only tells what would happen.' }),
  wait_seconds: z.number().min(0).max(25).optional().meta({ description: 'Waits so long for its end.' }),
})
export const rollbackBody = wire(rollback, 'Rollback')
export type RollbackBody = z.output<typeof rollback>
const filePreview = z.looseObject({ path: z.string(), will: z.enum(['restore', 'create', 'delete', 'chmod', 'leave']) })
export const rolledBack = wire(
  z.union([
    z.strictObject({
      status: z.enum(['rollback_started', 'rollback_completed', 'rollback_stopped']),
      checkpoint_id: z.string().nullable(),
      to: z.int(),
      outcome: map.nullable().meta({ description: 'What was changed, once it has ended.' }),
      ...moved,
    }),
    z.strictObject({
      status: z.literal('dry_run'),
      plan_id: z.string(),
      name: z.string(),
      checkpoint_id: z.string().nullable(),
      to: z.int(),
      files: z.array(filePreview),
      conflicts: z.array(filePreview).meta({ description: 'Somebody has worked there since, and nobody chose.' }),
      choices: z.array(choice),
      tasks: z.array(z.looseObject({ task: z.string(), status: z.string() })),
      compensate: z.array(z.string()),
      stays: z.array(z.looseObject({ task: z.string(), why: z.string() })),
      git: z.array(z.looseObject({})),
      kept: z.array(z.looseObject({ path: z.string(), sha256: z.string() })),
    }),
  ]),
)

export const newCheckpoint = wire(z.strictObject({ name: z.string().min(1).max(100).optional() }))
export const madeCheckpoint = wire(z.strictObject({ id: z.string(), at: time, ...moved }))
