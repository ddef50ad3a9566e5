// Resumes a plan for an agent. The agent may lift its own pause and those of the engine, but not one by any other person or agent.

import type { PlanId } from '../../domain/id.ts'
import { reasonBesides } from '../../domain/phrases.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Summary } from '../../domain/views/summary.ts'
import type { EngineInProcess, SubmitOptions, Submitted } from '../../engine/engine.ts'

type AgentEngine = Pick<EngineInProcess, 'ask' | 'submit' | 'caller'>

/** The plan may change between reading and ordering; then try again. */
const TRIES_MAX = 64

export async function resumeOwnPause(
  engine: AgentEngine,
  plan: PlanId,
  submit: SubmitOptions = {},
): Promise<Submitted> {
  for (let tries = 1; ; tries++) {
    const summary = await engine.ask({ type: 'summary', plan })
    const refusal = summary === null ? null : await pausedByOthers(engine, summary)
    if (refusal !== null) return { ok: false, refusal }
    const seen = summary === null ? {} : { expectedVersion: summary.version }
    const done = await engine.submit(plan, { type: 'resume' }, { ...submit, ...seen })
    const hasMoved =
      !done.ok && done.refusal.code === 'conflict' && (await versionOf(engine, plan)) !== summary?.version
    if (!hasMoved || tries === TRIES_MAX) return done
  }
}

const versionOf = async (engine: AgentEngine, plan: PlanId): Promise<number | undefined> =>
  (await engine.ask({ type: 'summary', plan }))?.version

async function pausedByOthers(engine: AgentEngine, summary: Summary): Promise<Refusal | null> {
  if (summary.status !== 'paused' || summary.shortage !== undefined) return null
  for (let end = summary.version; end > 0; end -= PAGE) {
    const after = Math.max(0, end - PAGE)
    const entries = (await engine.ask({ type: 'entries', plan: summary.id, after, limit: end - after })) ?? []
    const paused = entries.findLast(({ events }) => events.some(({ type }) => type === 'plan.paused'))
    if (paused === undefined) continue
    if (paused.actor === engine.caller.actor || paused.actor === 'engine') return null
    const why = reasonBesides(summary.status, summary.reason)
    const message = `${paused.actor} paused the plan${why === '' ? '' : `: ${why}`}`
    return refuse('not-allowed', message, 'ask them to resume it')
  }
  return null
}

const PAGE = 200
