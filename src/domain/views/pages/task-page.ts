// A task as a page shows it: its attempts and the decisions about it, from the journal.

import type { Event, EventOf, PlanEntry } from '../../event.ts'
import type { Millis, Sha256, TaskName } from '../../id.ts'
import { type Json, type JsonObject, mapOf } from '../../json.ts'
import type { CountedDecision } from '../../network-decision.ts'
import type { RunMode } from '../../plan.ts'
import {
  agentProgram,
  type Failure,
  type Programs,
  programWords,
  type Result,
  resultNotes,
  type Verdict,
} from '../../result.ts'
import { amount } from '../reported-work.ts'

export interface AttemptFacts {
  readonly visit: number
  readonly attempt: number
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly startedAt: Millis
  readonly endedAt: Millis | null
  readonly durationMs: number | null
  readonly by: string | null
  readonly exit: number | null
  readonly outcome: string | null
  readonly failure: Failure | null
  readonly lost: string | null
  readonly verdicts: readonly Verdict[]
  readonly outputs: JsonObject | null
  readonly log: { readonly sha256: Sha256; readonly bytes: number } | null
  /** The change set; null for no changes, or when not measured. */
  readonly changes: Sha256 | null
  readonly paths: number | null
  /** Changes beside its scope, and files that were not saved, in sentences. */
  readonly beside: readonly string[]
  readonly used: Used | null
  readonly network: readonly CountedDecision[]
  /** How its commands ran; null for none, and in older plans. */
  readonly runs: RunMode | null
  /** The programs of the machine as recorded when it ended, in words; the agents of other tasks are left out. */
  readonly programs: readonly string[]
  /** The entry in which it ended or, while it runs, in which it began. */
  readonly entry: number
}

export interface Used {
  readonly tokens: number | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** In dollars, or in the agent's own unit. */
  readonly cost: number | null
  /** Reported by the agent, not measured. */
  readonly reported: boolean
}

export interface DecisionFacts {
  readonly verdict: string
  readonly by: string
  readonly at: Millis
  readonly rationale: string
  readonly option: string | null
  readonly entry: number
}

/** What was said about an attempt, for all later attempts. */
export interface LessonFacts {
  readonly text: string
  readonly by: string
  readonly at: Millis
  readonly visit: number
  readonly attempt: number
  readonly entry: number
}

type JournalEntry = Pick<PlanEntry, 'version' | 'now' | 'actor' | 'events'>

/** All entries of the plan, from the first. `agent`: the agent of the task. */
export function taskHistory(
  entries: Iterable<JournalEntry>,
  task: TaskName,
  agent: string | null = null,
): {
  readonly attempts: readonly AttemptFacts[]
  readonly decisions: readonly DecisionFacts[]
  readonly lessons: readonly LessonFacts[]
} {
  const attempts: AttemptFacts[] = []
  const lessons: LessonFacts[] = []
  const decisions: DecisionFacts[] = []
  let programs: Programs = {}
  for (const { version, now, actor, events } of entries)
    for (const event of events) {
      // Each result names only what changed, whichever task it belongs to.
      const changed = 'result' in event ? (event.result.programs ?? {}) : {}
      programs = { ...programs, ...changed }
      if (!('task' in event) || event.task !== task) continue
      switch (event.type) {
        case 'attempt.started':
          attempts.push(begun(event, now, version))
          break
        case 'attempt.succeeded':
        case 'attempt.failed':
          end(attempts, event, attempt => ({
            ...attempt,
            ...ended(event, attempt, now, programs, agent),
            entry: version,
          }))
          break
        case 'attempt.lost':
          end(attempts, event, attempt => ({
            ...attempt,
            status: 'lost',
            endedAt: now,
            lost: event.reason,
            changes: event.wrote?.changes ?? null,
            paths: event.wrote?.paths ?? null,
            entry: version,
          }))
          break
        case 'network.decided':
          end(attempts, event, attempt => ({ ...attempt, network: added(attempt.network, event.decisions) }))
          break
        case 'gate.decided':
          decisions.push({
            verdict: event.verdict,
            by: event.by ?? actor,
            at: now,
            rationale: event.rationale,
            option: event.option ?? null,
            entry: version,
          })
          break
        case 'note.added':
          if (event.kind !== 'lesson') break
          lessons.push({
            ...{ text: event.text, by: event.by ?? actor, at: now, entry: version },
            ...(event.about ?? { visit: 1, attempt: 1 }),
          })
          break
        default:
          break
      }
    }
  return { attempts, decisions, lessons }
}

const begun = (
  { visit, attempt, claim, runs }: Extract<Event, { readonly type: 'attempt.started' }>,
  now: Millis,
  version: number,
): AttemptFacts => ({
  visit,
  attempt,
  status: 'running',
  startedAt: now,
  endedAt: null,
  durationMs: null,
  by: claim?.by ?? null,
  exit: null,
  outcome: null,
  failure: null,
  lost: null,
  verdicts: [],
  outputs: null,
  log: null,
  changes: null,
  paths: null,
  beside: [],
  used: null,
  network: [],
  runs: runs ?? null,
  programs: [],
  entry: version,
})

function end(
  attempts: AttemptFacts[],
  { visit, attempt }: { readonly visit: number; readonly attempt: number },
  change: (before: AttemptFacts) => AttemptFacts,
): void {
  const at = attempts.findLastIndex(one => one.visit === visit && one.attempt === attempt)
  if (at !== -1) attempts[at] = change(attempts[at]!)
}

/** Combines equal decisions about the same host and port, with their count. */
function added(before: readonly CountedDecision[], more: readonly CountedDecision[]): readonly CountedDecision[] {
  const all = [...before]
  for (const one of more) {
    const { host, port, allowed, rule, why } = one
    const at = all.findIndex(
      other =>
        other.host === host &&
        other.port === port &&
        other.allowed === allowed &&
        (other.rule ?? other.why) === (rule ?? why),
    )
    if (at === -1) all.push(one)
    else all[at] = { ...all[at]!, count: all[at]!.count + one.count }
  }
  return all
}

function ended(
  { task, result }: EventOf<'attempt.succeeded' | 'attempt.failed'>,
  { startedAt, runs }: AttemptFacts,
  now: Millis,
  programs: Programs,
  agent: string | null,
): Partial<AttemptFacts> {
  return {
    status: result.status,
    endedAt: now,
    durationMs: result.durationMs ?? Math.max(0, now - startedAt),
    exit: result.exit ?? null,
    outcome: result.status === 'succeeded' ? (result.outcome ?? 'success') : null,
    failure: result.status === 'failed' ? result.failure : null,
    verdicts: result.verdicts ?? [],
    outputs: result.outputs ?? null,
    log: result.log ?? null,
    changes: result.wrote?.changes ?? null,
    paths: result.wrote?.paths ?? null,
    beside: resultNotes(task, result),
    used: usedBy(result),
    programs: runs === null ? [] : shownPrograms(programs, runs, agent),
  }
}

/** Without the agents of other tasks, and without the sandbox if it ran outside. */
function shownPrograms(programs: Programs, runs: RunMode, agent: string | null): readonly string[] {
  const isIts = (name: string): boolean =>
    name === 'sandbox' ? runs !== 'as you' : !name.startsWith(agentProgram('')) || name === agentProgram(agent ?? '')
  return Object.entries(programs).flatMap(([name, program]) => (isIts(name) ? programWords(name, program) : []))
}

/** Measured for a model task; otherwise as the worker reported. */
export function usedBy({ model, outputs = {} }: Result): Used | null {
  if (model !== undefined) {
    const { inputTokens, outputTokens } = model.usage
    const cost = model.cost.known ? model.cost.usd : null
    return { tokens: inputTokens + outputTokens, inputTokens, outputTokens, cost, reported: false }
  }
  const metrics = { ...mapOf(outputs.metrics), ...mapOf(outputs.usage) }
  const [inputTokens, outputTokens] = [whole(metrics.input_tokens), whole(metrics.output_tokens)]
  const sum = inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0)
  const tokens = whole(metrics.tokens) ?? sum
  const cost = amount(metrics.cost_usd) ?? amount(metrics.cost)
  return tokens === null && cost === null ? null : { tokens, inputTokens, outputTokens, cost, reported: true }
}

const whole = (value: Json | undefined): number | null => (Number.isSafeInteger(value) ? amount(value) : null)
