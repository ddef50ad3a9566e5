// The tool `plan_write`: one change per call. A change of the plan is answered with the plan; a change of one task with a short
// line. If anything is refused, nothing is changed, and the error says what to correct.

import { isCheckpointName, type PlanId, type TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Field } from '../domain/plan.ts'
import { refuse } from '../domain/refusal.ts'
import type { Fate } from '../domain/revisions/merge.ts'
import { latestTicked, tickedIn } from '../domain/views/ticked-checks.ts'
import type { Order, SubmitOptions } from '../engine/engine.ts'
import { slug } from '../format/text/slug.ts'
import { type Action, type PlanWriteInput, taskInOurWords } from '../format/wire/agent-tools.ts'
import { editPlan } from '../operations/agents/edit-plan.ts'
import { requestRollback, undoneBy } from '../operations/agents/request-rollback.ts'
import { resumeOwnPause } from '../operations/agents/resume-plan.ts'
import { setStatus, type WantedStatus } from '../operations/agents/set-status.ts'
import { criteriaOf, tickCriteria } from '../operations/agents/tick-criteria.ts'
import { claimTask } from '../operations/claim-task.ts'
import { keepClaim } from '../operations/report-task.ts'
import { proposalMade } from '../operations/revise-plan.ts'
import { startPlan } from '../operations/start-plan.ts'
import {
  askedLines,
  claimedLines,
  editedLines,
  orderLines,
  proposedLines,
  questionIn,
  replannedLines,
  rollbackLines,
  startedIn,
  statusLines,
  tickedLines,
} from './answer-text.ts'
import { chooseWorker, createFrom, mustRun, mustStart, replan } from './create-plan.ts'
import { faultLines, refusalText } from './hint-text.ts'
import { nothingToClaim } from './nothing-to-claim.ts'
import { planText } from './plan-read.ts'
import { clean } from './plan-text.ts'
import {
  type Accepted,
  accepted,
  findOpenTask,
  findPlan,
  findPlanInHand,
  findTask,
  findTaskInHand,
  Refused,
  type Room,
  ToolError,
  type Written,
} from './room.ts'

/** `key`: idempotency key of this call, from the client or the agent. */
export async function planWrite(room: Room, input: PlanWriteInput, key: string | undefined): Promise<Written> {
  try {
    if (key === undefined) return await write(room, input, key)
    return await oneAfterTheOther(`${room.engine.caller.actor}\0${key}`, async () => await write(room, input, key))
  } catch (error) {
    const refused = error instanceof Refused ? new ToolError(refusalText(error.refusal), error.plan) : error
    // A refusal about one task does not need the list of the others.
    throw refused instanceof ToolError && isShort(input) ? new ToolError(refused.message) : refused
  }
}

const underWay = new Map<string, Promise<unknown>>()

/** A client may repeat a call before the first has ended: the repeat waits and gets the same answer. */
async function oneAfterTheOther<T>(call: string, work: () => Promise<T>): Promise<T> {
  const before = underWay.get(call)
  const own = (async () => {
    await before?.catch(() => {})
    return await work()
  })()
  underWay.set(call, own)
  try {
    return await own
  } finally {
    if (underWay.get(call) === own) underWay.delete(call)
  }
}

export async function writtenText(room: Room, input: PlanWriteInput, { plan, lines }: Written): Promise<string> {
  if (plan === null || isShort(input)) return lines.join('\n')
  return [...lines, '', await planText(room, plan, { max_tokens: input.max_tokens ?? 600 })].join('\n')
}

/** Actions on the agent's own work: frequent, so their answers are kept short. */
const SHORT: ReadonlySet<Action> = new Set([
  'claim',
  'heartbeat',
  'report',
  'status',
  'tick',
  'note',
  'ask',
  'remember',
])

/** A caller that names a revision wants to see the plan if it has changed. */
const isShort = ({ action, expected_revision: revision }: PlanWriteInput): boolean =>
  SHORT.has(action) && revision === undefined

const isBlank = (text: string | undefined): text is undefined => text === undefined || text.trim() === ''

const missing = (field: string, why: string): ToolError => new ToolError(`error: \`${field}\` is missing\nhint: ${why}`)

async function write(room: Room, given: PlanWriteInput, key: string | undefined): Promise<Written> {
  const { engine } = room
  const { action } = given
  let input = given
  const own: SubmitOptions = key === undefined ? {} : { once: key }
  if (action === 'create') return await createFrom(room, input, own)
  if (input.worker !== undefined && action !== 'start')
    throw new ToolError(`error: '${action}' takes no worker\nhint: worker goes with create and start`)
  if (input.preview === true && action !== 'edit' && action !== 'rollback')
    throw new ToolError(`error: '${action}' has no preview\nhint: preview works with create, edit and rollback`)
  // Starting may submit several orders, each with its own key; any other action is looked up by key before validation.
  const before = action === 'start' || key === undefined ? null : await engine.answered(key, askedIn(input))
  if (before !== null) return await answerAgain(room, input, accepted(before, null))
  const submit: SubmitOptions = key === undefined ? {} : { once: key, asked: askedIn(input) }
  if (action === 'claim' || action === 'start' || action === 'resume') await mustRun(room)
  if (action === 'claim' && input.plan === undefined && input.task === undefined) return await claimAny(room, submit)
  const { plan, task: found } = await targetPlan(room, input)
  if (found !== undefined) input = { ...input, task: found }
  if (input.expected_revision !== undefined && action !== 'edit')
    await expectRevision(room, plan, input.expected_revision)
  switch (action) {
    case 'edit':
      return await edit(room, plan, input, submit)
    case 'replan':
      return await replan(room, plan, input, submit)
    case 'start': {
      await chooseWorker(room, plan, input, own)
      mustStart(await startPlan(engine, plan, own), plan)
      return {
        plan,
        lines: [`ok: the plan is started${input.worker === undefined ? '' : `; ${clean(input.worker)} works it`}`],
      }
    }
    case 'pause':
      return await order(room, plan, { type: 'pause', reason: input.text ?? 'paused by an agent' }, input, submit)
    case 'resume':
      return { plan, lines: orderLines(input, accepted(await resumeOwnPause(engine, plan, submit), plan)) }
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
      return await order(room, plan, { type: 'skip', task, reason }, input, submit)
    }
    case 'retry': {
      const { task } = await findTask(room, plan, input.task)
      return await order(room, plan, { type: 'retry', task, reason: input.text }, input, submit)
    }
    case 'ask':
      return await ask(room, plan, input, submit)
    case 'note': {
      if (isBlank(input.text)) throw missing('text', 'write the note there')
      const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
      return await order(room, plan, { type: 'note', text: input.text, task }, input, submit)
    }
    case 'remember':
      return await (await import('./memory.ts')).remember(room, plan, input, submit)
    case 'checkpoint':
      return await checkpoint(room, plan, input, submit)
    case 'rollback':
      return await rollback(room, plan, input, submit)
    default:
      return action satisfies never
  }
}

/** What the idempotency key covers: the whole input except the answer's length. */
function askedIn({ key: _, max_tokens: __, ...asked }: PlanWriteInput): Json {
  return asked as Json
}

/** Without a named plan: that of the task, else the only plan; for work on a task, else the one in which the caller holds a claim. */
async function targetPlan(
  room: Room,
  input: PlanWriteInput,
): Promise<{ readonly plan: PlanId; readonly task?: TaskName }> {
  if (input.plan !== undefined) return { plan: (await findPlan(room, input.plan)).plan }
  if (input.task !== undefined) return await findOpenTask(room, input.task)
  const { plan } = AT_HAND.has(input.action) ? await findPlanInHand(room, undefined) : await findPlan(room, undefined)
  return { plan }
}

const AT_HAND: ReadonlySet<Action> = new Set([
  'heartbeat',
  'report',
  'status',
  'tick',
  'note',
  'ask',
  'remember',
  'checkpoint',
])

async function order(
  room: Room,
  plan: PlanId,
  what: Order,
  input: PlanWriteInput,
  submit: SubmitOptions,
): Promise<Written> {
  return { plan, lines: orderLines(input, accepted(await room.engine.submit(plan, what, submit), plan)) }
}

/** Agents name checkpoints in a few words, which are converted to a valid name. */
async function checkpoint(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { text } = input
  const name = text === undefined || isCheckpointName(text) ? text : (slug(text) ?? text)
  return await order(room, plan, { type: 'checkpoint', name }, input, submit)
}

async function expectRevision({ engine }: Room, plan: PlanId, expected: number): Promise<void> {
  const revision = (await engine.ask({ type: 'summary', plan }))?.revision
  if (revision === expected) return
  const message = `the plan is at revision ${revision}, not ${expected}: somebody changed it since you read it`
  throw new Refused(refuse('conflict', message, 'read the plan below before you continue'), plan)
}

async function edit(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { remove, order: wanted, expected_revision: expectedRevision, text: rationale } = input
  const tasks = input.tasks?.map(task => taskInOurWords(task as JsonObject))
  if (tasks === undefined && remove === undefined && wanted === undefined)
    throw missing('tasks', 'give at least one of tasks, remove and order')
  const edits = { tasks, remove, order: wanted }
  const done = await editPlan(room.engine, plan, edits, { rationale, expectedRevision, preview: input.preview, submit })
  switch (done.status) {
    case 'edited':
      return { plan, lines: [...editedLines(done.what.summary), ...fateLines(done.what.fates)] }
    case 'preview':
      return {
        plan,
        lines: [`preview, nothing was changed: ${clean(done.what.summary)}`, ...fateLines(done.what.fates)],
      }
    case 'proposed':
      return { plan, lines: proposedLines(done.what.summary, done.why) }
    case 'unchanged':
      return { plan, lines: ['ok: the plan says that already'] }
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

async function claimAny(room: Room, submit: SubmitOptions): Promise<Written> {
  const made = await claimTask(room, { submit })
  if (!made.ok && made.refusal.code === 'not-ready') throw new ToolError(await nothingToClaim(room))
  return await claimed(room, accepted(made, null))
}

async function claim(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { engine } = room
  const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
  const card = task === undefined ? null : await engine.ask({ type: 'task', plan, task })
  const isMine = card?.claimedBy === engine.caller.actor
  // The holder claims again, for example after a context compaction, and gets its token back.
  const made =
    isMine && task !== undefined
      ? await engine.submit(plan, { type: 'heartbeat', task })
      : await claimTask(room, { plan, task, submit })
  const isStopped = !made.ok && made.refusal.code === 'illegal-transition' && (await isClosed(room, plan))
  if (isStopped || (!made.ok && task === undefined && made.refusal.code === 'not-ready'))
    throw new ToolError(await nothingToClaim(room, plan))
  return await claimed(room, accepted(made, plan), isMine)
}

async function claimed(room: Room, { plan, claim }: Accepted, isAgain = false): Promise<Written> {
  if (claim === undefined) throw new Error('bug: a task was claimed and has no claim')
  return { plan, lines: await claimedLines(room, { plan, ...claim, isAgain }) }
}

async function isClosed({ engine }: Room, plan: PlanId): Promise<boolean> {
  const status = (await engine.ask({ type: 'summary', plan }))?.status
  return status !== 'active' && status !== 'blocked'
}

async function heartbeat(room: Room, plan: PlanId, input: PlanWriteInput): Promise<Written> {
  const target = await findTaskInHand(room, plan, input.task)
  const kept = await keepClaim(room.engine, target, { token: input.token })
  if (kept.status === 'refused') throw new Refused(kept.refusal, plan)
  const minutes = kept.expiresInMs === null ? '' : ` for ${Math.round(kept.expiresInMs / 60_000)} more minutes`
  return { plan, lines: [`ok: ${clean(target.task)} is yours${minutes}`] }
}

async function status(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const target = await findTaskInHand(room, plan, input.task)
  const wanted: WantedStatus | undefined = input.status
  if (wanted === undefined)
    throw missing('status', input.action === 'report' ? 'done or failed' : 'running, done, failed, skipped or pending')
  if (input.action === 'report' && wanted !== 'done' && wanted !== 'failed')
    throw new ToolError('error: a report says done or failed\nhint: set other statuses with action "status"')
  const done = await setStatus(room.engine, target, {
    status: wanted,
    outputs: input.outputs as JsonObject | undefined,
    outcome: input.outcome,
    notMine: input.not_mine,
    evidence: input.text,
    reason: input.text,
    token: input.token,
    me: room.engine.caller.actor,
    mayBeDone: input.action === 'status' && input.outputs === undefined,
    submit,
  })
  if (done.status === 'refused') throw new Refused(done.refusal, plan)
  if (done.status === 'unchanged') return { plan, lines: [`ok: ${clean(target.task)} was ${wanted} already`] }
  return { plan, lines: await statusLines(room, target, wanted, done.done) }
}

async function tick(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { criterion, text } = input
  const { task } = await findTaskInHand(room, plan, input.task)
  if (criterion === undefined) {
    const { all = [] } = (await criteriaOf(room.engine, plan, task)) ?? {}
    throw missing('criterion', `one of: ${all.map(one => clean(one)).join('; ') || 'the task has none'}`)
  }
  const done = await tickCriteria(room.engine, { plan, task }, [criterion], { evidence: text, submit })
  if (done.status === 'refused') throw new Refused(done.refusal, plan)
  return { plan, lines: tickedLines(done) }
}

async function ask(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { text } = input
  if (isBlank(text)) throw missing('text', 'write the question there')
  const task = input.task === undefined ? undefined : (await findTask(room, plan, input.task)).task
  const open = input.fields?.find(field => field.choices !== undefined && (field.type ?? 'text') === 'text')
  if (open !== undefined)
    throw new ToolError(
      `error: the field '${clean(open.name)}' has choices, but is a text; nothing was asked\nhint: add "type": "choice"`,
      plan,
    )
  const form = (input.fields ?? [{ name: 'answer' }]).map(({ type = 'text', ...rest }): Field => ({ ...rest, type }))
  const done = accepted(await room.engine.submit(plan, { type: 'ask', text, form, task }, submit), plan)
  const { id } = questionIn(done)
  return { plan, lines: askedLines(done), question: { id, text, form } }
}

/** An agent may request a rollback; a person must approve it. */
async function rollback(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const target = await findTask(room, plan, input.task)
  if (input.preview === true) {
    const undone = await undoneBy(room.engine, target)
    if (!undone.ok) throw new Refused(undone.refusal, plan)
    return { plan, lines: [`preview, nothing was changed: ${clean(undone.what, WHAT_MAX)}`] }
  }
  if (isBlank(input.text)) throw missing('text', 'say why it should be undone')
  const done = await requestRollback(room.engine, target, { why: input.text, command: rollbackCommand, submit })
  if (done.status === 'refused') throw new Refused(done.refusal, plan)
  if (done.status === 'ended')
    throw new ToolError(
      `error: the plan has ended (${done.plan}), so nobody can be asked in it; nothing was changed\nhint: tell the person what you want undone and why; this does it: ${done.command}`,
      plan,
    )
  return { plan, lines: rollbackLines(done.done) }
}

const WHAT_MAX = 2_000

const rollbackCommand = (plan: string, task: TaskName): string => `planfold rollback ${plan} --tasks ${task}`

// Answers a repeated `plan_write` call from the journal without doing anything. Only the status of a task and its claim are current.

async function answerAgain(room: Room, input: PlanWriteInput, done: Accepted): Promise<Written> {
  const { plan } = done
  switch (input.action) {
    case 'edit':
      return { plan, lines: await editAgain(room, done) }
    case 'replan':
      return { plan, lines: replannedLines(done, (await proposalMade(room.engine, done))?.summary ?? '') }
    case 'claim':
      return { plan, lines: await claimAgain(room, done) }
    case 'report':
    case 'status': {
      const task = taskIn(done) ?? (input.task as TaskName)
      const stillClaimed = await heldStill(room, plan, task)
      const claim = stillClaimed === null ? {} : { claim: stillClaimed }
      return { plan, lines: await statusLines(room, { plan, task }, input.status ?? 'done', { ...done, ...claim }) }
    }
    case 'tick':
      return { plan, lines: await tickAgain(room, done) }
    case 'remember':
      return { plan, lines: askedLines(done) }
    case 'ask':
      return { plan, lines: askedLines(done), ...(await unanswered(room, done)) }
    case 'rollback':
      return { plan, lines: rollbackLines(done) }
    default:
      return { plan, lines: orderLines(input, done) }
  }
}

async function editAgain({ engine }: Room, done: Accepted): Promise<readonly string[]> {
  const made = await proposalMade(engine, done)
  if (made === null) return ['ok: the plan says that already']
  return done.events.some(({ type }) => type === 'plan.revised')
    ? editedLines(made.summary)
    : proposedLines(made.summary, 'loosening a plan that others made needs the right to decide')
}

async function claimAgain(room: Room, done: Accepted): Promise<readonly string[]> {
  const started = startedIn(done)
  if (started === undefined) return ['ok: it was claimed']
  const { plan } = done
  const { task } = started
  const claim = await heldStill(room, plan, task)
  if (claim !== null && claim.token === started.claim?.token)
    return await claimedLines(room, { plan, ...claim, isAgain: true })
  const card = await room.engine.ask({ type: 'task', plan, task })
  return [
    `ok: ${clean(task)} was claimed by this call before; that claim is over, and the task is ${card?.status ?? 'gone'}`,
  ]
}

async function heldStill({ engine }: Room, plan: PlanId, task: TaskName) {
  const kept = await keepClaim(engine, { plan, task }, {})
  return kept.status === 'kept' ? (kept.accepted.claim ?? null) : null
}

async function tickAgain({ engine }: Room, { plan, events }: Accepted): Promise<readonly string[]> {
  const noted = events.find(event => event.type === 'task.annotated')
  if (noted === undefined) return ['ok: it was ticked already']
  const ticked = tickedIn({ annotations: noted.set })
  const done = Object.keys(ticked).length
  const all = (await criteriaOf(engine, plan, noted.task))?.all.length ?? done
  return tickedLines({ criteria: latestTicked(ticked), done, all })
}

/** A question is shown again only while it is unanswered. */
async function unanswered({ engine }: Room, done: Accepted): Promise<Pick<Written, 'question'>> {
  const { id, text, form } = questionIn(done)
  const [asked] = (await engine.ask({ type: 'questions', plan: done.plan, id })) ?? []
  return asked === undefined || asked.answer !== null ? {} : { question: { id, text, form } }
}

function taskIn({ events }: Accepted): TaskName | undefined {
  for (const event of events) if ('task' in event && typeof event.task === 'string') return event.task
  return undefined
}
