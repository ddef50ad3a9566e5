// The tool `plan_write`: makes one change and answers with the plan as it is then, in one call. Whatever is not done is an error that
// says what to change; nothing is done by halves.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Field } from '../domain/plan.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Fate } from '../domain/revisions/merge.ts'
import { ENDED, PLAN_ENDED } from '../domain/status.ts'
import type { Unaccepted } from '../domain/views/board.ts'
import type { Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { PlanWriteInput } from '../format/wire/agent-tools.ts'
import { editPlan } from '../operations/agents/edit-plan.ts'
import { setStatus, type WantedStatus } from '../operations/agents/set-status.ts'
import { criteriaOf, tickCriteria } from '../operations/agents/tick-criteria.ts'
import { claimTask } from '../operations/claim-task.ts'
import { keepClaim } from '../operations/report-task.ts'
import { previewRollback } from '../operations/rollback-plan.ts'
import { startPlan } from '../operations/start-plan.ts'
import { createFrom, mustRun, mustStart } from './create-plan.ts'
import { faultLines, refusalText } from './hint-text.ts'
import { planText } from './plan-read.ts'
import { briefingLines, clean } from './plan-text.ts'
import { claimedTask, findPlan, findTask, type Room, ToolError, type Written, whyStopped } from './room.ts'

/** `key`: of this call, from the client or the agent; the same one is carried out once. */
export async function planWrite(room: Room, input: PlanWriteInput, key: string | undefined): Promise<Written> {
  const submit: SubmitOptions = key === undefined ? {} : { once: key }
  try {
    return await write(room, input, submit)
  } catch (error) {
    if (error instanceof Refused) throw new ToolError(refusalText(error.refusal), error.plan)
    throw error
  }
}

/** The answer: what was done, then the plan as it is now. */
export async function writtenText(room: Room, { plan, said }: Written, maxTokens?: number): Promise<string> {
  if (plan === null) return said.join('\n')
  return [...said, '', await planText(room, plan, { max_tokens: maxTokens ?? 600 })].join('\n')
}

class Refused extends Error {
  readonly refusal: Refusal
  readonly plan: PlanId | null

  constructor(refusal: Refusal, plan: PlanId | null = null) {
    super(refusal.message)
    this.refusal = refusal
    this.plan = plan
  }
}

const isBlank = (text: string | undefined): text is undefined => text === undefined || text.trim() === ''

const missing = (field: string, why: string): ToolError => new ToolError(`error: \`${field}\` is missing\nhint: ${why}`)

async function write(room: Room, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { engine } = room
  const { action } = input
  if (action === 'create') return await createFrom(room, input, submit)
  if (input.preview === true && action !== 'edit' && action !== 'rollback')
    throw new ToolError(`error: '${action}' has no preview\nhint: preview works with create, edit and rollback`)
  if (action === 'claim' || action === 'start' || action === 'resume') await mustRun(room)
  const { plan } =
    action === 'claim' && input.plan === undefined ? await claimPlan(room) : await findPlan(room, input.plan)
  if (input.expected_revision !== undefined && action !== 'edit')
    await expectRevision(room, plan, input.expected_revision)
  switch (action) {
    case 'edit':
      return await edit(room, plan, input, submit)
    case 'start': {
      mustStart(await startPlan(engine, plan, submit), plan)
      return { plan, said: ['ok: the plan is started'] }
    }
    case 'pause':
      return await order(room, plan, { type: 'pause', reason: input.text ?? 'paused by an agent' }, submit, 'paused')
    case 'resume':
      await mustBeOwnPause(room, plan)
      return await order(room, plan, { type: 'resume' }, submit, 'resumed')
    case 'claim':
      return await claim(room, plan, input, submit)
    case 'heartbeat':
      return await heartbeat(room, plan, input)
    case 'report':
    case 'status':
      return await status(room, plan, input, submit)
    case 'tick':
      return await tick(room, plan, input, submit)
    case 'skip': {
      const { task } = await findTask(room, plan, input.task)
      const reason = input.text
      if (isBlank(reason)) throw missing('text', 'say why it is skipped')
      return await order(room, plan, { type: 'skip', task, reason }, submit, `skipped ${task}`)
    }
    case 'retry': {
      const { task } = await findTask(room, plan, input.task)
      return await order(room, plan, { type: 'retry', task, reason: input.text }, submit, `${task} is open again`)
    }
    case 'ask':
      return await ask(room, plan, input, submit)
    case 'note': {
      if (isBlank(input.text)) throw missing('text', 'write the note there')
      const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
      return await order(room, plan, { type: 'note', text: input.text, task }, submit, 'noted')
    }
    case 'checkpoint':
      return await order(room, plan, { type: 'checkpoint', name: input.text }, submit, 'checkpoint made')
    case 'rollback':
      return await requestRollback(room, plan, input, submit)
    default:
      return action satisfies never
  }
}

async function order(room: Room, plan: PlanId, what: Order, submit: SubmitOptions, said: string): Promise<Written> {
  accepted(await room.engine.submit(plan, what, submit), plan)
  return { plan, said: [`ok: ${clean(said)}`] }
}

function accepted(done: Submitted, plan: PlanId): Extract<Submitted, { readonly ok: true }> {
  if (!done.ok) throw new Refused(done.refusal, plan)
  return done
}

async function expectRevision({ engine }: Room, plan: PlanId, expected: number): Promise<void> {
  const revision = (await engine.ask({ type: 'summary', plan }))?.revision
  if (revision === expected) return
  const message = `the plan is at revision ${revision}, not ${expected}: somebody changed it since you read it`
  throw new Refused(refuse('conflict', message, 'read the plan below before you go on'), plan)
}

async function edit(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { remove, order: wanted, expected_revision: expectedRevision, text: rationale } = input
  const tasks = input.tasks as readonly JsonObject[] | undefined
  if (tasks === undefined && remove === undefined && wanted === undefined)
    throw missing('tasks', 'give at least one of tasks, remove and order')
  const edits = { tasks, remove, order: wanted }
  const done = await editPlan(room.engine, plan, edits, { rationale, expectedRevision, preview: input.preview, submit })
  switch (done.status) {
    case 'edited':
      return { plan, said: [`ok: ${clean(done.what.summary)}`, ...fateLines(done.what.fates)] }
    case 'preview':
      return {
        plan,
        said: [`preview, nothing was changed: ${clean(done.what.summary)}`, ...fateLines(done.what.fates)],
      }
    case 'proposed':
      return {
        plan,
        said: [
          `not changed yet, proposed to a person: ${clean(done.what.summary)}`,
          `why: ${clean(done.why)}`,
          'It takes effect when a person accepts it in the inbox. Changes that loosen nothing can be made in a call of their own.',
        ],
      }
    case 'unchanged':
      return { plan, said: ['ok: the plan says that already'] }
    case 'refused':
      throw new Refused(done.refusal, plan)
    case 'unsound':
      throw new ToolError(faultLines(done.faults).join('\n'), plan)
    default:
      return done satisfies never
  }
}

const fateLines = (fates: readonly Fate[]): readonly string[] =>
  fates
    .filter(({ fate }) => fate !== 'kept')
    .slice(0, 20)
    .map(({ task, fate }) => `- ${clean(task)}: ${fate}`)

/** Without a plan the next task of all plans is claimed; where nothing is ready, the only open plan says why. */
async function claimPlan(room: Room): Promise<{ readonly plan: PlanId }> {
  const { items } = await room.engine.ask({ type: 'tasks', status: 'ready', limit: 1 })
  const [first] = items
  return first === undefined ? await findPlan(room, undefined) : { plan: first.plan }
}

async function claim(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { engine } = room
  const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
  const card = task === undefined ? null : await engine.ask({ type: 'task', plan, task })
  const isMine = card?.claimedBy === engine.caller.actor
  // Claimed again by whoever has it, after a compaction for example: they get its token back.
  const made =
    isMine && task !== undefined
      ? await engine.submit(plan, { type: 'heartbeat', task })
      : await claimTask(room, input.plan === undefined && task === undefined ? {} : { plan, task, submit })
  if (!made.ok) await mustBeOpen(room, plan)
  const { claim: held, plan: of } = accepted(made, plan)
  if (held === undefined) throw new ToolError('error: nothing was claimed', plan)
  const briefing = await engine.ask({ type: 'briefing', plan: of, task: held.task })
  return {
    plan: of,
    said: [
      `ok: ${clean(held.task)} is ${isMine ? 'still ' : ''}yours for ${Math.round(held.expiresInMs / 60_000)} minutes; token: ${held.token}`,
      'Send heartbeat before the time is over, and report when it is done or failed.',
      ...(briefing === null ? [] : briefingLines(briefing)),
    ],
  }
}

/** Why nothing of the plan can be claimed, where that is known. */
async function mustBeOpen(room: Room, plan: PlanId): Promise<void> {
  const summary = await room.engine.ask({ type: 'summary', plan })
  const stopped = summary === null ? null : await whyStopped(room, summary)
  if (stopped !== null) throw new ToolError(`error: ${stopped}\nhint: wait, or work on another plan`, plan)
}

/** An agent takes back its own pause, and one that Planfold made; nobody else's. */
async function mustBeOwnPause({ engine }: Room, plan: PlanId): Promise<void> {
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null || summary.status !== 'paused' || summary.shortage !== undefined) return
  for (let end = summary.version; end > 0; end -= PAUSE_PAGE) {
    const after = Math.max(0, end - PAUSE_PAGE)
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: end - after })) ?? []
    const paused = entries.findLast(({ events }) => events.some(({ type }) => type === 'plan.paused'))
    if (paused === undefined) continue
    if (paused.actor === engine.caller.actor || paused.actor === 'engine') return
    const message = `${paused.actor} paused the plan${summary.reason === null ? '' : `: ${summary.reason}`}`
    throw new Refused(refuse('not-allowed', message, 'ask them to resume it'), plan)
  }
}

const PAUSE_PAGE = 200

async function heartbeat(room: Room, plan: PlanId, input: PlanWriteInput): Promise<Written> {
  const task = input.task ?? (await claimedTask(room, plan)) ?? undefined
  const target = await findTask(room, plan, task)
  const kept = await keepClaim(room.engine, target, { token: input.token })
  if (kept.status === 'refused') throw new Refused(kept.refusal, plan)
  const minutes = kept.expiresInMs === null ? '' : ` for ${Math.round(kept.expiresInMs / 60_000)} more minutes`
  return { plan, said: [`ok: ${clean(target.task)} is yours${minutes}`] }
}

async function status(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const name = input.task ?? (await claimedTask(room, plan)) ?? undefined
  const target = await findTask(room, plan, name)
  const wanted: WantedStatus | undefined = input.status
  if (wanted === undefined)
    throw missing('status', input.action === 'report' ? 'done or failed' : 'running, done, failed, skipped or pending')
  if (input.action === 'report' && wanted !== 'done' && wanted !== 'failed')
    throw new ToolError('error: a report says done or failed\nhint: set other statuses with action "status"')
  const done = await setStatus(room.engine, target, {
    status: wanted,
    outputs: input.outputs as JsonObject | undefined,
    outcome: input.outcome,
    evidence: input.text,
    reason: input.text,
    token: input.token,
    me: room.engine.caller.actor,
    submit,
  })
  if (done.status === 'refused') throw new Refused(done.refusal, plan)
  if (done.status === 'unchanged') return { plan, said: [`ok: ${clean(target.task)} was ${wanted} already`] }
  const token = done.done.claim?.token
  if (done.unaccepted !== null)
    throw new ToolError(unacceptedLines(target.task, done.unaccepted, token).join('\n'), plan)
  return {
    plan,
    said: [`ok: ${await standingText(room, target, wanted)}${token === undefined ? '' : `; token: ${token}`}`],
  }
}

/** What became of the task: what was reported is not always what it is then. */
export async function standingText(
  { engine }: Room,
  { plan, task }: { readonly plan: PlanId; readonly task: TaskName },
  wanted: WantedStatus,
): Promise<string> {
  const card = await engine.ask({ type: 'task', plan, task })
  const asked = (await engine.ask({ type: 'summary', plan }))?.waiting.find(one => one.task === task)
  if (asked?.asks.type === 'verdict')
    return `${clean(task)} is reported as done; it waits for a person to confirm: ${asked.asks.criteria.map(one => `'${clean(one)}'`).join(', ')}`
  if (asked !== undefined) return `${clean(task)} is reported as ${wanted}; a person is asked what to do now`
  const status = card?.status ?? 'gone'
  if (IS[wanted].includes(status)) return `${clean(task)} is ${wanted}`
  return `${clean(task)} is set to ${wanted}; it is ${status} now`
}

const IS: { readonly [status in WantedStatus]: readonly string[] } = {
  running: ['running'],
  done: ['completed'],
  failed: ['failed'],
  skipped: ['skipped'],
  pending: ['pending', 'ready'],
}

function unacceptedLines(
  task: string,
  { kept, failure, verdicts }: Unaccepted,
  token: string | undefined,
): readonly string[] {
  return [
    `error: ${clean(task)} is not accepted as done: ${clean(failure.message)}`,
    ...verdicts
      .filter(({ holds }) => holds === false)
      .map(
        ({ criterion, evidence }) =>
          `- failed: ${clean(criterion)}${evidence === undefined ? '' : ` (${clean(evidence)})`}`,
      ),
    kept
      ? `hint: it is yours${token === undefined ? '' : `; token: ${token}`}: fix this and report again`
      : 'hint: the attempt is over; see plan_read {"what":"next"}',
  ]
}

async function tick(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { criterion, text } = input
  const { task } = await findTask(room, plan, input.task ?? (await claimedTask(room, plan)) ?? undefined)
  if (criterion === undefined) {
    const { all = [] } = (await criteriaOf(room.engine, plan, task)) ?? {}
    throw missing('criterion', `one of: ${all.map(one => clean(one)).join('; ') || 'the task has none'}`)
  }
  const done = await tickCriteria(room.engine, { plan, task }, [criterion], { evidence: text, submit })
  if (done.status === 'refused') throw new Refused(done.refusal, plan)
  return { plan, said: [`ok: ticked ${done.done} of ${done.all}: ${done.criteria.map(one => clean(one)).join('; ')}`] }
}

async function ask(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { text } = input
  if (isBlank(text)) throw missing('text', 'write the question there')
  const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
  const form = (input.fields ?? [{ name: 'answer' }]).map(({ type = 'text', ...rest }): Field => ({ ...rest, type }))
  const done = accepted(await room.engine.submit(plan, { type: 'ask', text, form, task }, submit), plan)
  const id = questionId(done)
  return {
    plan,
    said: [
      `ok: asked; a person answers in the inbox. Look later: plan_read {"what":"answer","plan":"${done.name}","id":"${id}"}`,
    ],
    question: { id, text, form },
  }
}

function questionId({ events }: Extract<Submitted, { readonly ok: true }>): string {
  const asked = events.find(event => event.type === 'question.asked')
  if (asked === undefined) throw new Error('bug: a question was asked and is not in the journal')
  return asked.id
}

/** An agent may ask for it; files go back only when a person says so. */
async function requestRollback(
  room: Room,
  plan: PlanId,
  input: PlanWriteInput,
  submit: SubmitOptions,
): Promise<Written> {
  const { task } = await findTask(room, plan, input.task)
  const preview = await previewRollback(room.engine, { plan, kind: 'rollback', ask: { tasks: [task] } })
  if (preview === null) throw new ToolError('error: there is no such plan')
  if (!preview.ok) throw new Refused(preview.refusal, plan)
  const files = preview.files.filter(({ will }) => will !== 'leave').map(({ path, will }) => `${will} ${clean(path)}`)
  const card = await room.engine.ask({ type: 'task', plan, task })
  if (files.length === 0 && card !== null && card.attempt === 0 && card.visits <= 1 && !ENDED.has(card.status))
    throw new ToolError(`error: nobody has worked on ${clean(task)} yet: there is nothing to undo`, plan)
  const what = `undo ${clean(task)}: ${files.slice(0, 20).join(', ') || 'no files'}${files.length > 20 ? ` and ${files.length - 20} more` : ''}`
  if (input.preview === true) return { plan, said: [`preview, nothing was changed: ${what}`] }
  if (isBlank(input.text)) throw missing('text', 'say why it should be undone')
  const summary = await room.engine.ask({ type: 'summary', plan })
  const command = `planfold rollback ${summary?.name} --tasks ${task}`
  if (summary !== null && PLAN_ENDED.has(summary.status))
    throw new ToolError(
      `error: the plan has ended (${summary.status}), so nobody can be asked in it; nothing was changed\nhint: tell the person what you want undone and why; this does it: ${command}`,
      plan,
    )
  const text = `roll back '${task}'? ${input.text}. It would ${what}. To do it: \`${command}\`; answering here rolls nothing back.`
  const form: readonly Field[] = [{ name: 'answer', type: 'choice', choices: ['done', 'no'] }]
  const done = accepted(await room.engine.submit(plan, { type: 'ask', text, form, task }, submit), plan)
  const id = questionId(done)
  return {
    plan,
    said: [
      `ok: a person was asked to ${what}. Nothing is undone before they do it.`,
      `Look later: plan_read {"what":"answer","plan":"${done.name}","id":"${id}"}`,
    ],
  }
}
