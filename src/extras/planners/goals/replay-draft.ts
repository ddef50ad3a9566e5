// Drafts a plan again from the recording that it keeps, and compares. A model answers as it did then; nothing is sent to it. The files
// must be as they were, because the questions to the model quote them.

import type { PlanId } from '../../../domain/id.ts'
import { type JsonObject, mapOf } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type SemanticDiff, semanticDiff } from '../../../domain/revisions/semantic-diff.ts'
import { definitionHash } from '../../../format/plan/hash.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import type { ModelRecording } from '../../../runners/models.ts'
import type { CheckedToday, Looked, PlanComment, Planner, RepositoryView } from '../planner.ts'
import { proposePlan, withoutRecording } from './plan-goal.ts'

/** A drafting as the plan remembers it. */
export interface RecordedDraft {
  readonly recording: ModelRecording
  /** The revision that came of it, and the plan as it was then. */
  readonly revision: number
  readonly drafted: PlanDefinition
  readonly comments: readonly PlanComment[]
  readonly answers: ReadonlyMap<string, string>
  /** How checks ended then; null when none was run. */
  readonly checks: ReadonlyMap<string, CheckedToday> | null
  /** The draft that the comments were about. */
  readonly earlier: PlanDefinition | null
  /** The commit of that time, where there was one. */
  readonly commit: string | null
}

/** The last drafting of a plan by a model; null when it keeps no recording. */
export async function recordedDraft(engine: Pick<CallerEngine, 'ask'>, plan: PlanId): Promise<RecordedDraft | null> {
  const current = await engine.ask({ type: 'definition', plan })
  const text = current === null ? null : recordingText(current.definition)
  if (current === null || text === null) return null
  let { definition: drafted, revision } = current
  let earlier: PlanDefinition | null = null
  // Later revisions, made by hand, keep the recording: the first that has it came of the drafting.
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

/** `planner` answers from the recording. Throws `PlanningFailure` when it is asked something that is not in it. */
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

/** Branch, commit and manifests may have changed without a change to what the plan is made of. */
function withoutState(definition: PlanDefinition): PlanDefinition {
  const { repository: _, manifests: __, ...planning } = planningOf(definition)
  return { ...definition, extra: { ...definition.extra, planning } }
}
