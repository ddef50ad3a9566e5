// Repeats a recorded drafting and compares the results. The model's answers come from the recording; nothing is sent. The files must be
// unchanged, because the prompts quote them.

import type { PlanId } from '../../../domain/id.ts'
import { type JsonObject, mapOf } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type SemanticDiff, semanticDiff } from '../../../domain/revisions/semantic-diff.ts'
import { definitionHash } from '../../../format/plan/hash.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import type { ModelRecording } from '../../../runners/models.ts'
import type { CheckedToday, Looked, PlanComment, Planner, RepositoryView } from '../planner.ts'
import { proposePlan, withoutRecording } from './plan-goal.ts'

export interface RecordedDraft {
  readonly recording: ModelRecording
  /** The revision that it produced, and the plan at that time. */
  readonly revision: number
  readonly drafted: PlanDefinition
  readonly comments: readonly PlanComment[]
  readonly answers: ReadonlyMap<string, string>
  /** Results of the checks at that time; null if none was run. */
  readonly checks: ReadonlyMap<string, CheckedToday> | null
  /** The draft that the comments were about; null for the first one. */
  readonly earlier: PlanDefinition | null
  readonly commit: string | null
}

/** The last drafting of a plan by a model; null without a recording. */
export async function recordedDraft(engine: Pick<CallerEngine, 'ask'>, plan: PlanId): Promise<RecordedDraft | null> {
  const current = await engine.ask({ type: 'definition', plan })
  const text = current === null ? null : recordingText(current.definition)
  if (current === null || text === null) return null
  let { definition: drafted, revision } = current
  let earlier: PlanDefinition | null = null
  // Later manual revisions keep the recording, so the first revision with it is the drafted one.
  while (revision > 1) {
    const before = await engine.ask({ type: 'definition', plan, revision: revision - 1 })
    if (before === null) break
    if (recordingText(before.definition) !== text) {
      earlier = before.definition
      break
    }
    drafted = before.definition
    revision--
  }
  const planning = planningOf(drafted)
  const answers = (planning.answers ?? []) as readonly { readonly question: string; readonly answer: string }[]
  const { commit = null } = (planning.repository ?? {}) as { readonly commit?: string | null }
  return {
    recording: JSON.parse(text) as ModelRecording,
    revision,
    drafted,
    comments: (planning.comments ?? []) as unknown as readonly PlanComment[],
    checks:
      planning.checks === undefined
        ? null
        : new Map(Object.entries(mapOf(planning.checks)) as [string, CheckedToday][]),
    answers: new Map(answers.map(({ question, answer }) => [question, answer])),
    earlier,
    commit,
  }
}

const planningOf = ({ extra = {} }: PlanDefinition): JsonObject => (extra.planning ?? {}) as JsonObject

function recordingText(definition: PlanDefinition): string | null {
  const { recording } = planningOf(definition)
  return typeof recording === 'string' && recording.startsWith('{') ? recording : null
}

export interface ReplayedDraft {
  readonly same: boolean
  /** How many questions the recording answered. */
  readonly exchanges: number
  readonly diff: SemanticDiff
}

/** `planner` answers from the recording. Throws `PlanningFailure` for a prompt that is not in it. */
export async function replayDraft(
  { planner, repository }: { readonly planner: Planner; readonly repository: RepositoryView },
  { drafted, comments, answers, checks, earlier, recording }: RecordedDraft,
): Promise<ReplayedDraft> {
  const { drafts, looked } = planningOf(drafted)
  const { document } = await proposePlan({ planner, repository }, drafted.goal ?? '', comments, {
    ...(earlier === null || comments.length === 0 ? {} : { draft: earlier }),
    ask: async question => answers.get(question) ?? null,
    ...(typeof drafts === 'number' ? { drafts } : {}),
    ...(looked === undefined ? {} : { looked: looked as unknown as Looked }),
    runCheck: checks === null ? undefined : async script => checks.get(script) ?? 'unknown',
  })
  const again = { ...document.definition, name: drafted.name }
  const [before, after] = [withoutState(drafted), withoutState(again)]
  return {
    same: definitionHash(before) === definitionHash(after),
    exchanges: recording.exchanges.length,
    diff: semanticDiff(withoutRecording(before), withoutRecording(after)),
  }
}

/** Branch, commit and manifests may change without changing the plan. */
function withoutState(definition: PlanDefinition): PlanDefinition {
  const { repository: _, manifests: __, ...planning } = planningOf(definition)
  return { ...definition, extra: { ...definition.extra, planning } }
}
