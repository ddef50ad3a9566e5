// Answers a repeated `plan_write` call from the journal without doing anything. Only the status of a task and its claim are current.

import type { PlanId, TaskName } from '../domain/id.ts'
import { latestTicked, tickedIn } from '../domain/views/ticked-checks.ts'
import type { PlanWriteInput } from '../format/wire/agent-tools.ts'
import { criteriaOf } from '../operations/agents/tick-criteria.ts'
import { keepClaim } from '../operations/report-task.ts'
import { proposalMade } from '../operations/revise-plan.ts'
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
import { clean } from './plan-text.ts'
import type { Accepted, Room, Written } from './room.ts'

export async function answerAgain(room: Room, input: PlanWriteInput, done: Accepted): Promise<Written> {
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
