// The answers of `plan_write` by action, also for repeated calls, from the events of the first.

import type { EventOf } from '../domain/event.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import { type Unaccepted, unacceptedIn } from '../domain/views/board.ts'
import type { PlanWriteInput } from '../format/wire/agent-tools.ts'
import type { WantedStatus } from '../operations/agents/set-status.ts'
import { hintText } from './hint-text.ts'
import { names, whyNothing } from './nothing-to-claim.ts'
import { claimLine } from './plan-read.ts'
import { briefingLines, clean, cleanBlock, DATA_NOTE } from './plan-text.ts'
import { type Accepted, type Room, ToolError } from './room.ts'

type Target = { readonly plan: PlanId; readonly task: TaskName }

export function orderLines({ action, task = '' }: PlanWriteInput, { name, events }: Accepted): readonly string[] {
  const taken = events.find(event => event.type === 'checkpoint.taken')
  const words: { readonly [action: string]: string } = {
    pause: 'paused',
    resume: 'resumed',
    skip: `skipped ${task}`,
    retry: `${task} is open again`,
    note: `noted in ${name}`,
    checkpoint: `checkpoint ${taken?.name ?? ''} made`,
  }
  return [`ok: ${clean(words[action] ?? action)}`]
}

export const editedLines = (summary: string): readonly string[] => [`ok: ${clean(summary)}`]

export const proposedLines = (summary: string, why: string): readonly string[] => [
  `not changed yet, proposed to a person: ${clean(summary)}`,
  `why: ${clean(why)}`,
  'It takes effect when a person accepts it in the inbox. Changes that loosen nothing can be made in a call of their own.',
]

export const replannedLines = ({ events }: Accepted, summary: string): readonly string[] =>
  events.some(({ type }) => type === 'plan.revised')
    ? editedLines(summary)
    : [
        `not changed yet, proposed to a person: ${clean(summary)}`,
        'It takes effect when a person accepts it in the inbox.',
      ]

interface ClaimedTask extends Target {
  readonly token: string
  readonly expiresInMs: number
  readonly isAgain: boolean
}

export async function claimedLines({ engine }: Room, claim: ClaimedTask): Promise<readonly string[]> {
  const { plan, task, token, expiresInMs, isAgain } = claim
  const briefing = await engine.ask({ type: 'briefing', plan, task })
  return [
    `ok: ${clean(task)} is ${isAgain ? 'still ' : ''}yours for ${Math.round(expiresInMs / 60_000)} minutes; token: ${token}`,
    ...(briefing === null ? [] : [DATA_NOTE, ...briefingLines(briefing)]),
    `Next: do the work, then plan_write {"action":"report","task":"${clean(task)}","status":"done"} (or failed, with text); heartbeat if it takes longer.`,
  ]
}

/** Throws if the task was reported as done and the report was not accepted. */
export async function statusLines(
  room: Room,
  target: Target,
  wanted: WantedStatus,
  done: Accepted,
): Promise<readonly string[]> {
  const token = done.claim?.token ?? startedIn(done)?.claim?.token
  const unaccepted = wanted === 'done' ? unacceptedIn(done.events) : null
  if (unaccepted !== null) throw new ToolError(unacceptedLines(target.task, unaccepted, token).join('\n'), target.plan)
  return [
    `ok: ${await standingText(room, target, wanted)}${token === undefined ? '' : `; token: ${token}`}`,
    ...(token === undefined ? await afterwards(room, target.plan, done) : []),
  ]
}

async function afterwards(room: Room, plan: PlanId, { events }: Accepted): Promise<readonly string[]> {
  const summary = await room.engine.ask({ type: 'summary', plan })
  if (summary === null) return []
  const { progress, claimable, status, name } = summary
  const ready = events.flatMap(event => (event.type === 'task.readied' ? event.tasks : []))
  const known = `${progress.done} of ${progress.total} done${ready.length === 0 ? '' : `; ready now: ${names(ready)}`}.`
  const isOpen = claimable > 0 && (status === 'active' || status === 'blocked')
  if (isOpen) return [`${known} ${claimLine(clean(name))}`]
  if (status === 'completed') return ['All tasks are done.']
  return [`${known} Nothing can be claimed now: ${await whyNothing(room, plan)}`]
}

export const startedIn = ({ events }: Accepted): EventOf<'attempt.started'> | undefined =>
  events.find(event => event.type === 'attempt.started')

export async function standingText({ engine }: Room, { plan, task }: Target, wanted: WantedStatus): Promise<string> {
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
      .flatMap(({ criterion, evidence, said }) => [
        `- failed: ${clean(criterion)}${evidence === undefined ? '' : ` (${clean(evidence)})`}`,
        ...(said === undefined ? [] : [cleanBlock(said)]),
      ]),
    ...(failure.hint === undefined || verdicts.length > 0 ? [] : [`hint: ${clean(hintText(failure.hint), 1_000)}`]),
    ...(kept
      ? [
          `hint: it is yours${token === undefined ? '' : `; token: ${token}`}: fix this and report it as done again`,
          `or give it back for others to take: plan_write {"action":"status","task":"${clean(task)}","status":"pending","text":"why"}`,
        ]
      : ['hint: the attempt is over; see plan_read {"what":"next"}']),
  ]
}

interface TickedNow {
  readonly criteria: readonly string[]
  readonly done: number
  readonly all: number
}

export const tickedLines = ({ criteria, done, all }: TickedNow): readonly string[] => [
  `ok: ticked ${done} of ${all}: ${criteria.map(one => clean(one)).join('; ')}`,
]

export function questionIn({ events }: Accepted): EventOf<'question.asked'> {
  const asked = events.find(event => event.type === 'question.asked')
  if (asked === undefined) throw new Error('bug: a question was asked and is not in the journal')
  return asked
}

const lookLater = (done: Accepted): string =>
  `Look later: plan_read {"what":"answer","plan":"${done.name}","id":"${questionIn(done).id}"}`

export const askedLines = (done: Accepted): readonly string[] => [
  `ok: asked; a person answers in the inbox. ${lookLater(done)}`,
]

export const rollbackLines = (done: Accepted): readonly string[] => [
  `ok: a person was asked: ${clean(questionIn(done).text, QUESTION_MAX)}`,
  'Nothing is undone before they do it.',
  lookLater(done),
]

const QUESTION_MAX = 2_000
