// What a started agent is given: its briefing, its login, and a way to ask a person for permissions beyond those of its task.

import { createHash } from 'node:crypto'
import type { Event } from '../../domain/event.ts'
import { AGENT_FORM } from '../../domain/network-decision.ts'
import { type AgentLogin, agentRequest } from '../../domain/plan-rules/agent-request.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { judgedBy } from '../../domain/state/task-index.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import type { AgentFacts, AgentTools, Attempt } from '../../runners/runner.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import { entriesAfter } from '../files/other-plans.ts'
import { judgedTexts, workOf } from '../judges/judged-work.ts'
import { lazy } from '../lazy-imports.ts'
import { changesSince, readChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { earlierOf } from './earlier-attempts.ts'
import { askForPermit } from './network-access.ts'
import { refusesSending } from './policy-checks.ts'

const CHANGED_MAX = 50
const DECISIONS_MAX = 20
const PATIENCE_MS = 10 * 60_000

export async function agentTools(rooms: Rooms, state: PlanState, attempt: Attempt): Promise<AgentTools> {
  const { agent: use } = state.definition.defaults ?? {}
  const { plan, task, visit, attempt: number } = attempt
  const isWanted = (now: PlanState): boolean => {
    const found = now.tasks.get(task)
    if (PLAN_ENDED.has(now.status) || now.ending !== null) return false
    return found?.status === 'running' && found.visit === visit && found.attempt === number
  }
  const login = await borrowedLogin(rooms, state, attempt)
  return {
    facts: await factsFor(rooms, state, attempt),
    ...(login === null ? {} : { login }),
    use,
    async permit({ what, about }, signal) {
      const digest = createHash('sha256')
        .update(JSON.stringify([visit, about]))
        .digest('hex')
      const rule = `agent:${digest.slice(0, 32)}`
      const text = `The agent of task '${task}' wants to ${what}. Allow it?`
      const waiting = new AbortController()
      const cancel = rooms.clock.after(rooms.agentPatienceMs ?? PATIENCE_MS, () => waiting.abort())
      try {
        const user = { plan, task, visit, attempt: number, isWanted }
        const both = AbortSignal.any([signal, waiting.signal])
        const answer = await askForPermit(rooms.store, user, { rule, text, form: AGENT_FORM, agent: { rule } }, both)
        if (answer === 'over') return waiting.signal.aborted && !signal.aborted ? 'late' : 'over'
        return answer ? 'yes' : 'no'
      } finally {
        cancel()
      }
    },
  }
}

/** Null unless the person has allowed this agent to use their login. */
async function borrowedLogin(
  { environment, root, stateDir, agentLogin }: Rooms,
  state: PlanState,
  { action }: Attempt,
): Promise<Answer<AgentLogin> | null> {
  const request = agentRequest(action)
  const name = request?.command === null ? (request.use ?? state.definition.defaults?.agent) : undefined
  if (name === undefined) return null
  const place = { environment, root, stateDir }
  const { readUserRules } = await lazy.userRules()
  const own = await readUserRules(place)
  if (!own.ok || !own.value.logins.includes(name)) return null
  const login = (await agentLogin?.(name)) ?? null
  if (login === null) return null
  const failure = refusesSending(state, 'logins') ?? refusesSending(state, 'models')
  return failure === null ? { ok: true, value: login } : { ok: false, failure }
}

async function factsFor(rooms: Rooms, state: PlanState, attempt: Attempt): Promise<AgentFacts> {
  const { definition } = state
  const task = state.tasks.get(attempt.task)
  const judged = task === undefined ? null : judgedBy(state, task)
  const learnt =
    task === undefined || judged !== null ? [] : await (await lazy.lessons()).lessonsFor(rooms, state, task)
  return {
    ...(learnt.length === 0 ? {} : { learnt }),
    ...(judged === null ? {} : { judged: judgedTexts(await workOf(rooms, state, judged)) }),
    plan: definition.name,
    goal: definition.goal ?? definition.title ?? null,
    decisions: await decisionsIn(rooms, state),
    earlier: task === undefined ? [] : await earlierOf(rooms, state, task),
    changed: await changedSoFar(rooms, state, attempt),
  }
}

async function changedSoFar(rooms: Rooms, state: PlanState, attempt: Attempt): Promise<AgentFacts['changed']> {
  const look = state.tasks.get(attempt.task)?.prepared ?? null
  const wrote = attempt.attempt <= 1 ? null : await changesSince(rooms, state, look)
  const paths = wrote?.changes == null ? [] : (await readChanges(rooms, wrote.changes)).map(({ path }) => path)
  return { paths: paths.slice(0, CHANGED_MAX), more: Math.max(0, paths.length - CHANGED_MAX) }
}

async function decisionsIn(rooms: Rooms, { id }: PlanState): Promise<readonly string[]> {
  const asked = new Map<string, string>()
  const decisions: string[] = []
  for (const { events } of await entriesAfter(rooms.store, id, 0))
    for (const event of events) {
      if (event.type === 'question.asked') asked.set(event.id, event.text)
      const decision = decisionIn(event, asked)
      if (decision !== null) decisions.push(decision)
    }
  return decisions.slice(-DECISIONS_MAX)
}

function decisionIn(event: Event, asked: ReadonlyMap<string, string>): string | null {
  switch (event.type) {
    case 'gate.decided': {
      const { task, verdict, rationale, option, answers } = event
      const words = [option, answers === undefined ? undefined : JSON.stringify(answers), rationale]
      return `${task}: ${verdict} ${words.filter(one => one !== undefined && one !== '').join(', ')}`.trim()
    }
    case 'question.answered':
      return `${asked.get(event.id) ?? 'a question'} → ${JSON.stringify(event.answers)}`
    case 'revision.declined':
      return `a proposed change was declined: ${event.rationale}`
    default:
      return null
  }
}
