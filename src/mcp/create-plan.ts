// `plan_write {"action":"create"}`: a plan from a goal and tasks, from a document in any known format, or from a template.

import { isPlanName, type PlanId } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { haltedBy } from '../domain/phrases.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Order, SubmitOptions } from '../engine/engine.ts'
import { openExtra } from '../extras.ts'
import { slug } from '../format/text/slug.ts'
import { type PlanWriteInput, taskInOurWords } from '../format/wire/agent-tools.ts'
import { draftingBudget } from '../format/wire/budget.ts'
import { readDefinition } from '../format/wire/definition.ts'
import { planContext } from '../format/wire/orders.ts'
import { type AgentWorker, assignWorker, withWorker, workerOf } from '../operations/agents/agent-worker.ts'
import { refuseBudget, refuseLook } from '../operations/agents/plan-drafts.ts'
import { findWorker } from '../operations/agents/worker-request.ts'
import { checkPlan } from '../operations/check-plan.ts'
import { createPlan } from '../operations/create-plan.ts'
import { readDocument } from '../operations/read-document.ts'
import { createOrder } from '../operations/run-plan.ts'
import type { PlanStart } from '../operations/start-plan.ts'
import { findTemplate, planFromTemplate } from '../operations/templates.ts'
import { replannedLines } from './answer-text.ts'
import { faultLines, hintText, refusalText } from './hint-text.ts'
import { names } from './nothing-to-claim.ts'
import { clean } from './plan-text.ts'
import { accepted, Refused, type Room, ToolError, type Written } from './room.ts'

type Create = Extract<Order, { readonly type: 'create' }>

export async function createFrom(room: Room, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const asked = isPlanned(input) ? { asked: { ...input } as Json } : {}
  const worker = await workerNamed(room, input)
  const made = (await draftedBefore(room, input, { ...submit, ...asked })) ?? (await orderFrom(room, input))
  const create =
    worker === null ? made : { ...made, definition: withWorker(made.definition, worker), source: undefined }
  if (input.preview === true)
    return {
      plan: null,
      lines: [
        previewText(create.definition),
        ...personLines(create.definition),
        ...(await aroundLines(room, create.definition)),
      ],
    }
  // Create and start together or not at all: check first whether it could start.
  if (input.start === true) await mustRun(room)
  const done = await createPlan(
    room.engine,
    { ...create, ...contextOf(input), taken: 'number', agent: room.engine.caller.actor },
    {
      start: input.start === true ? {} : undefined,
      submit: submit.once === undefined ? submit : { ...submit, ...asked },
    },
  )
  if (done.status === 'refused') throw new ToolError(refusalText(done.refusal))
  const { plan, name } = done.made
  if (done.started !== null) mustStart(done.started, plan)
  const head = `ok: plan ${clean(name)} created${input.start === true ? ' and started' : ', not started'}`
  return { plan, lines: [head, ...personLines(create.definition)] }
}

/** The agent to work the tasks. An agent that Planfold started may not choose one: it would act with another agent's rights. */
async function workerNamed({ agents }: Room, { worker: agent }: PlanWriteInput): Promise<AgentWorker | null> {
  if (agent === undefined) return null
  if (agents === undefined)
    throw new ToolError('error: you cannot choose who works the tasks\nhint: leave out `worker`, or ask a person')
  const found = findWorker(await agents(), { agent })
  if (!found.ok) throw new ToolError(refusalText(found.refusal))
  return found.worker
}

/** Drafts only: who works on a running plan was shown to the person who started it. */
export async function chooseWorker(
  room: Room,
  plan: PlanId,
  input: PlanWriteInput,
  { once }: SubmitOptions,
): Promise<void> {
  const worker = await workerNamed(room, input)
  if (worker === null) return
  const { engine } = room
  const current = await engine.ask({ type: 'definition', plan })
  if (current !== null && workerOf(current.definition)?.agent === worker.agent) return
  const status = (await engine.ask({ type: 'summary', plan }))?.status
  if (status !== 'draft')
    throw new ToolError(
      `error: the plan is ${status ?? 'gone'}, no longer a draft\nhint: a person chooses who works a plan that was started`,
      plan,
    )
  const submit = once === undefined ? {} : { once: `${once}/worker` }
  const done = await assignWorker(engine, plan, worker, submit)
  if (!done.ok) throw new Refused(done.refusal, plan)
}

/** Always given, so that the commit is recorded. */
function contextOf({ context = {} }: PlanWriteInput): Pick<Create, 'context'> {
  const read = planContext.safeParse(context)
  if (read.success) return { context: read.data }
  throw new ToolError(
    'error: this context cannot be kept\nhint: give {"files": ["src/a.ts"], "constraints": ["no new dependency"], "conversation": "the words that led to the plan"}',
  )
}

/** Lists checks that need a person; the plan's author may prefer automatic ones. */
function personLines({ tasks }: PlanDefinition): readonly string[] {
  const judged = tasks.filter(({ accept = [] }) => accept.some(({ type }) => type === 'prose')).map(({ id }) => id)
  const have = judged.length === 1 ? '1 task has' : `${judged.length} tasks have`
  const note = `note: ${have} checks only a person can confirm: ${names(judged)} (use {check: "command"})`
  return judged.length === 0 ? [] : [note]
}

/** The draft made under the same idempotency key, so that no model is asked again; null if there is none. */
async function draftedBefore(
  { engine }: Room,
  { model }: PlanWriteInput,
  { once, asked }: SubmitOptions,
): Promise<Create | null> {
  const before = model === undefined || once === undefined ? null : await engine.answered(once, asked ?? null)
  if (before === null) return null
  if (!before.ok) throw new ToolError(refusalText(before.refusal))
  const made = await engine.ask({ type: 'definition', plan: before.plan, revision: 1 })
  return made === null ? null : { type: 'create', definition: made.definition }
}

const isPlanned = ({ goal, tasks }: PlanWriteInput): boolean => goal !== undefined && tasks === undefined

export async function mustRun({ engine }: Room): Promise<void> {
  const halt = await engine.killSwitch.halted()
  if (halt === null) return
  throw new ToolError(
    `error: everything was ${clean(haltedBy(halt))}; nothing was changed\nhint: stop working; a person lifts it, and then you can continue`,
  )
}

export function mustStart(started: PlanStart, plan: PlanId): void {
  if (started.status === 'started' || started.status === 'under-way') return
  if ('refusal' in started) throw new ToolError(refusalText(started.refusal), plan)
  const faults =
    started.status === 'unsound'
      ? started.faults.map(fault => ({ ...fault, path: fault.task ?? '' }))
      : started.status === 'faulty-steps'
        ? started.diagnostics.map(({ message, hint }) => ({ path: '', message, hint }))
        : []
  if (faults.length > 0) throw new ToolError(faultLines(faults).join('\n'), plan)
  throw new ToolError(`error: the plan was not started (${started.status})`, plan)
}

const AROUND_MAX = 20

async function aroundLines({ around }: Room, definition: PlanDefinition): Promise<readonly string[]> {
  const faults = (await around?.(definition)) ?? []
  return faults
    .slice(0, AROUND_MAX)
    .map(
      ({ severity, message, hint }) =>
        `- ${severity}: ${clean(message)}${hint === undefined ? '' : ` (${clean(hintText(hint))})`}`,
    )
}

const previewText = ({ name, tasks }: PlanDefinition): string =>
  `preview, nothing was changed: plan ${clean(name)} with ${tasks.length} tasks: ${clean(tasks.map(({ id }) => id).join(', '), 2_000)}`

async function orderFrom(room: Room, input: PlanWriteInput): Promise<Create> {
  const { document, template, goal, tasks } = input
  const given = [document, template, goal ?? tasks].filter(one => one !== undefined).length
  if (given !== 1)
    throw new ToolError(
      'error: a plan is made from a goal with tasks, from a document, or from a template\nhint: give exactly one of them',
    )
  if (input.model !== undefined && !isPlanned(input))
    throw new ToolError('error: a model drafts a plan for a goal without tasks\nhint: leave out `model`, or the tasks')
  if (input.budget !== undefined && input.model === undefined)
    throw new ToolError('error: a budget is for the model that drafts\nhint: leave out `budget`, or name a `model`')
  if (input.look !== undefined && !isPlanned(input))
    throw new ToolError('error: a look is for a goal without tasks\nhint: leave out `look`, or the tasks')
  if (template !== undefined) return await fromTemplate(room, template, input)
  if (document !== undefined) return await fromDocument(document, input)
  if (goal !== undefined && isPlanned(input)) return await fromGoal(room, goal, input)
  const name = input.name ?? slug(goal ?? '') ?? 'plan'
  const read = readDefinition({
    name,
    ...(goal === undefined ? {} : { goal }),
    tasks: (tasks ?? []).map(task => taskInOurWords(task as JsonObject)),
  })
  if (!read.ok) throw new ToolError(faultLines(read.faults).join('\n'))
  // A draft without tasks yet is not an error.
  const faults = (read.value.tasks.length === 0 ? [] : checkPlan(read.value)).map(({ task, key, message, hint }) => ({
    path: [task, key].filter(one => one !== undefined).join('.'),
    message,
    hint,
  }))
  if (faults.length > 0) throw new ToolError(faultLines(faults).join('\n'))
  return { type: 'create', definition: read.value }
}

function choiceOf({ engine }: Room, { model, budget, look }: PlanWriteInput) {
  const limits = budget === undefined ? null : draftingBudget.read({ budget })
  if (limits?.ok === false) throw new ToolError(faultLines(limits.faults).join('\n'))
  const refusal =
    (limits === null ? null : refuseBudget(engine.caller, limits.value.budget)) ??
    (look === true ? refuseLook(engine.caller) : null)
  if (refusal !== null) throw new ToolError(refusalText(refusal))
  return {
    ...(model === undefined ? {} : { model }),
    ...(look === undefined ? {} : { look }),
    ...limits?.value,
  }
}

async function draftFor(room: Room, ...asked: Parameters<Room['propose']>) {
  const proposed = await room.propose(...asked)
  if (!('problem' in proposed)) return proposed
  const { detail, hint = 'try again, or give tasks' } = proposed.problem
  throw new ToolError(`error: no plan was made of the goal: ${clean(detail)}\nhint: ${clean(hint)}`)
}

/** Drafts the remaining work of a running plan again. A person accepts the result, unless the policy does. */
export async function replan(room: Room, plan: PlanId, input: PlanWriteInput, submit: SubmitOptions): Promise<Written> {
  const { budget, look, ...named } = { budget: undefined, look: undefined, ...choiceOf(room, input) }
  const { replanGoal } = await openExtra('planners')
  const found = await replanGoal(room.engine, { plan, why: input.text ?? '', choice: named }, async request => {
    const { goal, choice, ...earlier } = request
    const asked = { ...(budget === undefined ? {} : { budget }), ...(look === undefined ? {} : { look }) }
    return (await draftFor(room, goal, { ...choice, ...asked }, earlier)).proposal
  })
  if (found.status === 'failed') return found.problem
  if (found.status === 'refused') throw new Refused(found.refusal, plan)
  const { current, revision, rationale } = found.replanned
  const { definition } = revision
  const what = { type: 'propose', definition, rationale, expectedRevision: current.revision } as const
  const done = accepted(await room.engine.submit(plan, what, submit), plan)
  return { plan, lines: replannedLines(done, revision.summary) }
}

/** Without `tasks`, a planner makes them; an empty list makes a draft without tasks. */
async function fromGoal(room: Room, goal: string, input: PlanWriteInput): Promise<Create> {
  const { name } = input
  const { definition, source } = await draftFor(room, goal, choiceOf(room, input))
  const named = name === undefined ? {} : { name: name as PlanDefinition['name'] }
  return { type: 'create', definition: { ...definition, ...named }, source }
}

async function fromDocument(
  document: string | Readonly<Record<string, unknown>>,
  { name }: PlanWriteInput,
): Promise<Create> {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  const read = await readDocument(text, { fallbackName: name ?? 'plan' })
  if (!read.ok) {
    const faults = read.diagnostics.map(({ line, column, message, hint }) => ({
      path: `${line}:${column}`,
      message,
      hint,
    }))
    throw new ToolError(faultLines(faults).join('\n'))
  }
  const order = createOrder(read.document)
  if (name === undefined) return order
  if (!isPlanName(name)) throw new ToolError(`error: '${clean(name)}' cannot be the name of a plan\nhint: ${NAMES}`)
  return { ...order, definition: { ...order.definition, name } }
}

const NAMES = 'letters, digits, dots, dashes and underscores'

async function fromTemplate(room: Room, name: string, input: PlanWriteInput): Promise<Create> {
  const found = await findTemplate(room.templates, name)
  if (found.status === 'unknown')
    throw new ToolError(
      `error: there is no template '${clean(name)}'\nhint: ${found.near === null ? `the templates are: ${found.names.map(one => clean(one)).join(', ')}` : `did you mean '${found.near}'?`}`,
    )
  if (found.status === 'unusable') throw new ToolError(`error: the template '${clean(name)}' cannot be read`)
  const made = planFromTemplate(found.template, (input.values ?? {}) as JsonObject, { name: input.name })
  if (!made.ok) {
    const faults = [...made.problems, ...made.diagnostics].map(({ message, hint }) => ({ path: '', message, hint }))
    throw new ToolError(faultLines(faults).join('\n'))
  }
  return { type: 'create', definition: made.definition }
}
