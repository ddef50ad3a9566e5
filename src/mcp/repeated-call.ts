// A call of `plan_write` that comes a second time under its key: nothing is done, and it is answered as it was, from what was written
// the first time. Only how a task stands is told as of now.

import type { PlanId, TaskName } from '../domain/id.ts'
import { semanticDiff, summarise } from '../domain/revisions/semantic-diff.ts'
import { latestTicked, tickedIn } from '../domain/views/ticked-checks.ts'
import type { PlanWriteInput } from '../format/wire/agent-tools.ts'
import { criteriaOf } from '../operations/agents/tick-criteria.ts'
import { keepClaim } from '../operations/report-task.ts'
import { clean } from './plan-text.ts'
import type { Accepted, Room, Written } from './room.ts'
import {
  askedLines,
  claimedLines,
  editedLines,
  orderLines,
  proposedLines,
  questionIn,
  rollbackLines,
  startedIn,
  statusLines,
  tickedLines,
} from './written-text.ts'

export async function answerAgain(room: Room, input: PlanWriteInput, done: Accepted): Promise<Written> {
  const { plan } = done
  switch (input.action) {
    case 'edit':
      return { plan, said: await editAgain(room, done) }
    case 'claim':
      return { plan, said: await claimAgain(room, done) }
    case 'report':
    case 'status': {
      const task = taskIn(done) ?? (input.task as TaskName)
      const held = await heldStill(room, plan, task)
      const claim = held === null ? {} : { claim: held }
      return { plan, said: await statusLines(room, { plan, task }, input.status ?? 'done', { ...done, ...claim }) }
    }
    case 'tick':
      return { plan, said: await tickAgain(room, done) }
    case 'ask':
      return { plan, said: askedLines(done), ...(await unanswered(room, done)) }
    case 'rollback':
      return { plan, said: rollbackLines(done) }
    default:
      return { plan, said: orderLines(input, done) }
  }
}

async function editAgain({ engine }: Room, { plan, events }: Accepted): Promise<readonly string[]> {
  const revised = events.find(event => event.type === 'plan.revised')
  if (revised !== undefined) {
    const before = await engine.ask({ type: 'definition', plan, revision: revised.revision - 1 })
    const summary = before === null ? revised.rationale : summarise(semanticDiff(before.definition, revised.definition))
    return editedLines(summary)
  }
  const proposed = events.find(event => event.type === 'revision.proposed')
  if (proposed === undefined) return ['ok: the plan says that already']
  const card = (await engine.ask({ type: 'proposals', plan }))?.find(({ id }) => id === proposed.id)
  const before = card === undefined ? null : await engine.ask({ type: 'definition', plan, revision: card.on })
  const summary = before === null ? proposed.rationale : summarise(semanticDiff(before.definition, proposed.definition))
  return proposedLines(summary, 'whoever works on a plan that others made does not loosen it')
}

/** The claim of then, where it is still theirs. */
async function claimAgain(room: Room, done: Accepted): Promise<readonly string[]> {
  const started = startedIn(done)
  if (started === undefined) return ['ok: it was claimed']
  const { plan } = done
  const { task } = started
  const held = await heldStill(room, plan, task)
  if (held !== null && held.token === started.claim?.token)
    return await claimedLines(room, { plan, ...held, isAgain: true })
  const card = await room.engine.ask({ type: 'task', plan, task })
  return [
    `ok: ${clean(task)} was claimed by this call before; that claim is over, and the task is ${card?.status ?? 'gone'}`,
  ]
}

/** Null when the caller does not have it any more. */
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

/** Shown to a person once more only while nobody has answered. */
async function unanswered({ engine }: Room, done: Accepted): Promise<Pick<Written, 'question'>> {
  const { id, text, form } = questionIn(done)
  const [asked] = (await engine.ask({ type: 'questions', plan: done.plan, id })) ?? []
  return asked === undefined || asked.answer !== null ? {} : { question: { id, text, form } }
}

/** Which task it was about, by what was written. */
function taskIn({ events }: Accepted): TaskName | undefined {
  for (const event of events) if ('task' in event && typeof event.task === 'string') return event.task
  return undefined
}
