// What an agent must know of a plan when it starts, or after its context was compacted: goal, progress, the current task with its checks
// and scope, decisions of people, rules, open questions.

import type { Event } from '../../../domain/event.ts'
import type { Millis, PlanId, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { CONFIDENTIAL } from '../../../domain/plan-rules/confidential.ts'
import { criterionText } from '../../../domain/plan-rules/criterion-text.ts'
import { networkWords, readNetwork } from '../../../domain/plan-rules/network.ts'
import { ENDED, SATISFIES } from '../../../domain/status.ts'
import type { Briefing, Card } from '../../../domain/views/board.ts'
import { askedSentence, proposalSentence, questionSentence } from '../../../domain/views/gate-text.ts'
import type { Summary } from '../../../domain/views/summary.ts'
import type { Engine } from '../../../engine/engine.ts'
import { type ClaimedTask, claimedTasks } from '../../../operations/agents/claimed-tasks.ts'
import { lookUpPlan, type Missing, openPlans } from '../../../operations/find-target.ts'
import { readyTasks } from '../../../operations/next-step.ts'
import type { PlanRow } from '../../../stores/store.ts'

export interface PrimeRoom {
  readonly engine: Pick<Engine, 'ask'>
  readonly now: () => Millis
  /** The names under which the asking agent claims. */
  readonly agents: readonly string[]
}

export interface Prime {
  readonly name: string
  readonly title: string | null
  readonly goal: string | null
  readonly status: Summary['status']
  readonly reason: string | null
  readonly revision: number
  readonly progress: Summary['progress']
  readonly current: CurrentTask | null
  /** Other tasks of the agent, latest first; those of another plan as `plan:task`. */
  readonly alsoYours: readonly string[]
  readonly claimed: readonly { readonly task: TaskName; readonly by: string }[]
  readonly waiting: readonly string[]
  /** Made with the right to decide, which agents lack. Newest first. */
  readonly decisions: readonly Decision[]
  /** Notes, revisions, skipped tasks: possible for anybody who works on the plan. Newest first. */
  readonly notes: readonly Decision[]
  /** Entries up to this one were not read; null if all were. */
  readonly decisionsSince: number | null
  readonly rules: readonly string[]
  readonly failed: readonly TaskLine[]
  /** Tasks that can start first, then the order of the plan. */
  readonly pending: readonly TaskLine[]
  /** Latest first. */
  readonly done: readonly TaskLine[]
  readonly otherPlans: readonly string[]
}

export interface CurrentTask
  extends Pick<Briefing, 'task' | 'title' | 'description' | 'instruction' | 'accept' | 'write'> {
  /** `next`: nobody has claimed it yet. */
  readonly standing: 'yours' | 'next'
  readonly briefing: Briefing
}

export interface Decision {
  readonly by: string
  readonly task: TaskName | null
  readonly what: string
  readonly text: string
}

export interface TaskLine {
  readonly task: TaskName
  readonly title: string | null
  readonly status: Card['status']
  readonly why: string | null
}

/** By default the plan in which the agent has a task, else the open plan that changed last; never an ended one. */
export async function primePlan(
  room: PrimeRoom,
  reference: string | undefined,
): Promise<{ readonly ok: true; readonly prime: Prime } | { readonly ok: false; readonly missing: Missing }> {
  const { engine } = room
  const open = reference === undefined ? await openPlans(engine) : []
  const claimed = await claimedTasks(engine, room.agents)
  const chosen = reference === undefined ? chosenPlan(open, claimed) : null
  const found = chosen ?? (await lookUpPlan(engine, reference))
  if (!found.ok) return found
  const { plan } = found.target
  const summary = await engine.ask({ type: 'summary', plan })
  const board = await engine.ask({ type: 'board', plan })
  const defined = await engine.ask({ type: 'definition', plan })
  if (summary === null || board === null || defined === null)
    return { ok: false, missing: { what: 'plan', reference: found.target.name } }
  const works = board.filter(({ action }) => action !== 'group')
  const [mine, ...besides] = works
    .filter(({ claimedBy }) => claimedBy !== null && room.agents.includes(claimedBy))
    .toSorted((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0))
  const current = await currentTask(room, plan, mine)
  const elsewhere = await namesOf(
    engine,
    claimed.filter(one => one.plan !== plan),
  )
  return {
    ok: true,
    prime: {
      name: summary.name,
      title: summary.title,
      goal: summary.goal,
      status: summary.status,
      reason: maskReason(summary.reason, works),
      revision: summary.revision,
      progress: summary.progress,
      current,
      alsoYours: [...besides.map(({ name }) => name), ...elsewhere],
      claimed: works.flatMap(({ name, claimedBy }) =>
        claimedBy === null || room.agents.includes(claimedBy) ? [] : [{ task: name, by: claimedBy }],
      ),
      waiting: waitingIn(summary),
      ...(await decisionsOf(engine, plan, summary.version)),
      rules: rulesOf(defined.definition),
      ...sorted(works),
      otherPlans: open.filter(({ id }) => id !== plan).map(({ name }) => name),
    },
  }
}

type Chosen = Extract<Awaited<ReturnType<typeof lookUpPlan>>, { ok: true }>

function chosenPlan(open: readonly PlanRow[], claimed: readonly ClaimedTask[]): Chosen | null {
  const latest = open.find(({ id }) => claimed.some(({ plan }) => plan === id)) ?? open[0]
  return latest === undefined ? null : { ok: true, target: { plan: latest.id, name: latest.name, task: null } }
}

async function namesOf(engine: PrimeRoom['engine'], claimed: readonly ClaimedTask[]): Promise<readonly string[]> {
  const names = claimed.map(async ({ plan, task }) => {
    const summary = await engine.ask({ type: 'summary', plan })
    return summary === null ? [] : [`${summary.name}:${task}`]
  })
  return (await Promise.all(names)).flat()
}

/** `mine`: the latest claim of the agent; otherwise the next task that it may claim. */
async function currentTask(room: PrimeRoom, plan: PlanId, mine: Card | undefined): Promise<CurrentTask | null> {
  const { engine, agents, now } = room
  const isFree = ({ assignee, action }: Card): boolean =>
    action === 'external' && (assignee === null || agents.includes(assignee))
  const next =
    mine === undefined
      ? (await readyTasks(engine, plan, { now: now() }))?.records.find(({ card }) => isFree(card))
      : null
  const task = mine?.name ?? next?.card.name
  if (task === undefined) return null
  const briefing = await engine.ask({ type: 'briefing', plan, task })
  if (briefing === null) return null
  const { title, description, instruction, accept, write } = briefing
  return {
    standing: mine === undefined ? 'next' : 'yours',
    task,
    title,
    description,
    instruction,
    accept,
    write,
    briefing,
  }
}

const plain = (text: string): string => text

function waitingIn({ waiting, asked = [] }: Summary): readonly string[] {
  return [
    ...waiting.map(({ task, asks }) => askedSentence({ task, asks: { ...asks, on: null } }, plain)),
    ...asked.map(({ what, by, text, task }) =>
      what === 'question'
        ? questionSentence({ by, text, task }, plain)
        : proposalSentence({ by, rationale: text }, plain),
    ),
  ]
}

/** The reason of a plan contains the failure of its task. */
const maskReason = (reason: string | null, works: readonly Card[]): string | null =>
  works.reduce(
    (masked, one) =>
      one.confidential === true && one.reason ? (masked?.replaceAll(one.reason, CONFIDENTIAL) ?? null) : masked,
    reason,
  )

function sorted(works: readonly Card[]): Pick<Prime, 'failed' | 'pending' | 'done'> {
  const line = ({ name, title, status, reason, confidential }: Card): TaskLine => ({
    task: name,
    title,
    status,
    why: reason !== null && confidential === true ? CONFIDENTIAL : reason,
  })
  const rank = ({ status }: Card): number => ['running', 'ready', 'waiting'].indexOf(status) + 1 || 4
  return {
    failed: works.filter(({ status }) => ENDED.has(status) && !SATISFIES.has(status)).map(line),
    pending: works
      .filter(({ status }) => !ENDED.has(status))
      .toSorted((a, b) => rank(a) - rank(b))
      .map(line),
    done: works
      .filter(({ status }) => SATISFIES.has(status))
      .toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))
      .map(line),
  }
}

// Decisions of people, read backwards from the end of the journal: a plan may be long, and the latest count most.

const PAGE = 500
const DECISIONS_MAX = 40
const ENTRIES_MAX = 20_000

async function decisionsOf(
  engine: PrimeRoom['engine'],
  plan: PlanId,
  version: number,
): Promise<Pick<Prime, 'decisions' | 'notes' | 'decisionsSince'>> {
  const decisions: Decision[] = []
  const notes: Decision[] = []
  /** Answers whose question has not been read yet, by its id. */
  const answers = new Map<string, number>()
  let end = version
  while (end > 0 && decisions.length < DECISIONS_MAX && version - end < ENTRIES_MAX) {
    const after = Math.max(0, end - PAGE)
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: end - after })) ?? []
    for (const { actor, events } of entries.toReversed())
      for (const event of events.toReversed()) {
        const decision = decisionIn(event, actor)
        if (decision !== null) decisions.push(decision)
        const noted = noteIn(event, actor)
        if (noted !== null && notes.length < DECISIONS_MAX) notes.push(noted)
        if (event.type === 'question.answered') answers.set(event.id, decisions.length - 1)
        if (event.type !== 'question.asked') continue
        const at = answers.get(event.id)
        if (at !== undefined) decisions[at] = { ...decisions[at]!, text: `${event.text} → ${decisions[at]!.text}` }
      }
    end = after
  }
  return { decisions, notes, decisionsSince: end === 0 ? null : end }
}

function decisionIn(event: Event, actor: string): Decision | null {
  switch (event.type) {
    case 'gate.decided': {
      const { task, verdict, rationale, option, answers, by = actor } = event
      const words = [option, answers === undefined ? undefined : JSON.stringify(answers), rationale]
      return { by, task, what: verdict, text: words.filter(one => one !== undefined && one !== '').join(': ') }
    }
    case 'question.answered':
      return { by: event.by, task: null, what: 'answered', text: JSON.stringify(event.answers) }
    case 'revision.declined':
      return { by: event.by, task: null, what: 'declined a proposed change', text: event.rationale }
    default:
      return null
  }
}

function noteIn(event: Event, actor: string): Decision | null {
  switch (event.type) {
    case 'plan.revised':
      return { by: actor, task: null, what: `made revision ${event.revision}`, text: event.rationale }
    case 'task.skipped':
      return event.by === undefined ? null : { by: event.by, task: event.task, what: 'skipped', text: event.reason }
    case 'note.added':
      return {
        ...{ by: event.by ?? actor, task: event.task ?? null, text: event.text },
        what: event.kind === 'lesson' ? 'taught about' : 'noted',
      }
    default:
      return null
  }
}

function rulesOf({ policy = {}, done = [] }: PlanDefinition): readonly string[] {
  const { write, network, gates, replan, limits, budget } = policy
  const listed = (values: readonly string[]): string => (values.length === 0 ? 'nothing' : values.join(', '))
  return [
    ...(write === undefined ? [] : [`write only in ${listed(write)}`]),
    ...(network === undefined ? [] : [`network: ${listed(networkWords(readNetwork(network)))}`]),
    ...(gates?.before === undefined ? [] : [`a person approves before: ${listed(gates.before)}`]),
    ...(replan === undefined ? [] : [REPLAN[replan]]),
    ...(limits?.attempts === undefined ? [] : [`at most ${limits.attempts} attempts in all`]),
    ...(budget?.timeMs === undefined ? [] : [`at most ${Math.ceil(budget.timeMs / 1000)} s of work in all`]),
    ...(budget?.cost === undefined ? [] : [`at most ${budget.cost.amount} ${budget.cost.currency} in all`]),
    ...(budget?.attempts === undefined ? [] : [`at most ${budget.attempts} attempts in all, as its budget`]),
    ...done.map(criterion => `the plan is done when: ${criterionText(criterion)}`),
  ]
}

const REPLAN = {
  ask: 'a proposed change of the plan takes effect when a person accepts it',
  auto: 'a proposed change of the plan takes effect at once',
  never: 'the plan is not changed while it runs',
} as const
