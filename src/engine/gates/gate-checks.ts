// Builds the question of a gate before it asks: judges its checks, resolves and hashes what it releases. Also approval with edits.

import type { Decide } from '../../domain/command.ts'
import { decide } from '../../domain/decide.ts'
import type { GateQuestion } from '../../domain/event.ts'
import { asksOf } from '../../domain/gates/open-gate.ts'
import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { GateAction } from '../../domain/plan.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { keepItems } from '../../domain/plan-rules/for-each.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Failure, Verdict } from '../../domain/result.ts'
import { packFold, unpackFold } from '../../domain/state/fold.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import { judgeCriteria } from '../attempts/preconditions.ts'
import { resolveAsks } from '../attempts/resolve.ts'
import { lazy } from '../lazy-imports.ts'
import type { Orders } from '../orders.ts'
import type { Rooms } from '../rooms.ts'

/** For a schema gate: limit of the document and of its schema. */
const FILE_MAX_BYTES = 4 * 1024 * 1024
const FAULTS_SHOWN_MAX = 5

/** Null when we are stopping. */
type GateJudged = { readonly evidence: readonly Verdict[] } | { readonly failure: Failure } | null

async function judgeGate(rooms: Rooms, state: PlanState, task: TaskState, signal: AbortSignal): Promise<GateJudged> {
  const { action, id } = task.definition
  if (action.type !== 'gate') return { evidence: [] }
  const looks = action.schema !== undefined || action.checks?.some(one => commandOf(one) !== null) === true
  if (!looks || !usesTaskWorktrees(state.definition)) return await judged(rooms, state, task, action, signal)
  // With task worktrees, checks look at the plan's branch instead of the workspace.
  const { reading } = await lazy.taskWorktrees()
  const seen = await reading(rooms, state, `${id}~gate`, at => judged(at, state, task, action, signal))
  return seen.ok ? seen.value : { failure: seen.failure }
}

async function judged(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  action: GateAction,
  signal: AbortSignal,
): Promise<GateJudged> {
  const { checks = [], schema, within } = action
  const asked = checks.length === 0 ? { verdicts: [] } : await judgeCriteria(rooms, state, task, checks, signal)
  if (asked === null || 'failure' in asked) return asked
  return {
    evidence: [
      ...asked.verdicts,
      ...(schema === undefined ? [] : [await follows(rooms, schema)]),
      ...(within === undefined ? [] : used(state, within, rooms.clock.now())),
    ],
  }
}

/** What the plan has used so far: attempts, and time since its start. A gate that nobody has passed is no attempt. */
function used(
  { attempts, startedAt }: PlanState,
  { attempts: attemptsMax, timeMs }: NonNullable<GateAction['within']>,
  now: number,
): readonly Verdict[] {
  const verdicts: Verdict[] = []
  if (attemptsMax !== undefined)
    verdicts.push({
      criterion: `at most ${attemptsMax} attempts`,
      holds: attempts <= attemptsMax,
      evidence: `${attempts} so far`,
    })
  if (timeMs !== undefined) {
    const ms = Math.max(0, now - (startedAt ?? now))
    verdicts.push({
      criterion: `within ${seconds(timeMs)} of its start`,
      holds: ms <= timeMs,
      evidence: `${seconds(ms)} so far`,
    })
  }
  return verdicts
}

async function follows(rooms: Rooms, { file, against }: NonNullable<GateAction['schema']>): Promise<Verdict> {
  const criterion = `${file} follows ${against}`
  const no = (evidence: string): Verdict => ({ criterion, holds: false, evidence })
  const [document, schema] = [await readJson(rooms, file), await readJson(rooms, against)]
  if ('fault' in document) return no(document.fault)
  if ('fault' in schema) return no(schema.fault)
  const { validateJson } = await lazy.jsonValidation()
  const faults = validateJson(document.value, schema.value)
  if (faults.length === 0) return { criterion, holds: true }
  const shown = faults.slice(0, FAULTS_SHOWN_MAX).map(({ at, message }) => `${at}: ${message}`)
  const more = faults.length > FAULTS_SHOWN_MAX ? [`and ${faults.length - FAULTS_SHOWN_MAX} more`] : []
  return no([...shown, ...more].join('; '))
}

async function readJson(
  { root, stateDir }: Rooms,
  file: string,
): Promise<{ readonly value: unknown } | { readonly fault: string }> {
  const gate = await openGate({ root, stateDir })
  if (!gate.ok) return { fault: gate.failure.message }
  try {
    const content = await gate.value.read(file, { maxBytes: FILE_MAX_BYTES })
    if (!content.ok) return { fault: content.failure.message }
    if (content.value === null) return { fault: `there is no file '${file}'` }
    return { value: JSON.parse(Buffer.from(content.value.bytes).toString('utf8')) }
  } catch (error) {
    return { fault: `'${file}' is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  } finally {
    await gate.value.close()
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`

/** The question of a gate, with what an approval would release, so that people approve exactly that. Null: stopping; try again later. */
type GateMade = { readonly question: GateQuestion } | { readonly failure: Failure } | null

export async function makeQuestion(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  signal: AbortSignal,
  prose: readonly Verdict[] = [],
): Promise<GateMade> {
  const { action } = task.definition
  if (action.type !== 'gate') throw new Error(`bug: '${task.definition.id}' is no gate`)
  const judged = await judgeGate(rooms, state, task, signal)
  if (judged === null || 'failure' in judged) return judged
  const evidence = [...prose, ...judged.evidence]
  const asks = await resolveAsks(state, task, asksOf(action))
  if (!asks.ok) {
    const message = `the question cannot be asked: ${asks.message}`
    return {
      failure: { class: 'logic', message, hint: asks.hint, retryable: false },
    }
  }
  return {
    question: {
      asks: asks.value,
      ...(await bindGate(rooms, state, task)),
      ...(evidence.length === 0 ? {} : { evidence }),
    },
  }
}

async function bindGate(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
): Promise<Pick<GateQuestion, 'hash' | 'shown' | 'binds'>> {
  return await (await lazy.consent()).bindGate(rooms, state, task)
}

// Approval with edits: the approver sends the whole document as they want it. Its effect is computed on a copy of the plan, so that the
// approval covers exactly that.

export type WithEdits =
  | { readonly ok: true; readonly edits: NonNullable<Decide['edits']>; readonly version: number }
  | { readonly ok: false; readonly refusal: Refusal }

export async function withEdits(
  rooms: Rooms,
  state: PlanState,
  task: TaskName,
  { definition: written, source }: NonNullable<Orders['decide']['edits']>,
): Promise<WithEdits> {
  const { version } = state
  const definition = keepItems(state.definition, written)
  const hash = definitionHash(definition)
  const copy = unpackFold(structuredClone(packFold(state)) as JsonObject, state.definition)
  const revised = decide(
    copy,
    { type: 'revise', definition, hash, rationale: 'approved with edits' },
    rooms.clock.now(),
  )
  if (!revised.ok) return revised
  const gate = copy.tasks.get(task)
  const { binds = {} } = gate === undefined ? {} : await bindGate(rooms, copy, gate)
  return { ok: true, edits: { definition, hash, binds, source }, version }
}
