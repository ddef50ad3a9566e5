// The progress of `converge`, from the journal: the round, what holds, whether its tasks were added, and whether anything changed since the
// previous round. So an interrupted round is not repeated.

import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../plan.ts'
import { criterionText } from '../plan-rules/criterion-text.ts'
import type { Verdict } from '../result.ts'

export interface Convergence {
  readonly round: number
  readonly verdicts: readonly Verdict[]
  readonly version: number
  readonly isAppended: boolean
  readonly made: number
  /** The last round failed as the one before (criteria and evidence), although tasks were added in between, and no task changed a file. */
  readonly isStuck: boolean
}

export function convergenceOf(
  entries: Iterable<{ readonly version: number; readonly events: readonly Event[] }>,
): Convergence {
  let last: Convergence = { round: 0, verdicts: [], version: 0, isAppended: false, made: 0, isStuck: false }
  let hasWritten = false
  for (const { version, events } of entries) {
    for (const event of events) {
      if (event.type === 'assessment.made') {
        const { round, verdicts } = event
        const isStuck = last.isAppended && !hasWritten && found(verdicts) === found(last.verdicts)
        const made = unmetIn(verdicts).length === 0 ? 0 : last.made
        last = { round, verdicts, version, isAppended: false, made, isStuck }
        hasWritten = false
      } else if (event.type === 'attempt.succeeded' || event.type === 'attempt.failed')
        hasWritten ||= (event.result.wrote?.changes ?? null) !== null
      else if (event.type === 'plan.revised' && !last.isAppended && hasRound(event.definition, last.round))
        last = { ...last, isAppended: true, made: last.made + 1 }
    }
  }
  return last
}

/** Failed criteria, without those that only a person can judge, which the plan asks for itself. */
export const unmetIn = (verdicts: readonly Verdict[]): readonly Verdict[] =>
  verdicts.filter(({ holds }) => holds === false)

const found = (verdicts: readonly Verdict[]): string =>
  JSON.stringify(unmetIn(verdicts).map(({ criterion, evidence }) => [criterion, evidence]))

export const fixName = (round: number, number: number): TaskName => `converge-${round}-${number}` as TaskName

const hasRound = ({ tasks }: PlanDefinition, round: number): boolean =>
  round > 0 && tasks.some(({ id }) => id === fixName(round, 1))

/** The plan with one task for each failed criterion, external or with a command. */
export function withFixes(
  definition: PlanDefinition,
  round: number,
  unmet: readonly Verdict[],
  command: string | undefined,
): PlanDefinition {
  const added = unmet.map(({ criterion, evidence = '' }, at): TaskDefinition => {
    const words = wordsFor(definition.done ?? [], criterion)
    const common = {
      id: fixName(round, at + 1),
      title: clipped(`Make it pass: ${words}`, 120),
      kind: 'fix',
      rationale: clipped(`round ${round}: check failed: ${criterion}${evidence === '' ? '' : ` (${evidence})`}`, 1_000),
      labels: [FIX_LABEL],
      // The next round judges the result, so a failure of the fix does not fail the plan.
      optional: true as const,
    }
    if (command === undefined) {
      const seen = evidence === '' ? '' : `\nSeen: ${evidence}`
      return { ...common, action: { type: 'external' }, instruction: `Make this check pass: ${criterion}${seen}` }
    }
    return {
      ...common,
      action: { type: 'run', command: { script: command } },
      env: { PLANFOLD_CRITERION: literal(criterion), PLANFOLD_EVIDENCE: literal(evidence), PLANFOLD_ROUND: `${round}` },
      // Like an agent's work: repeatable after an interruption, and never in parallel, because the writes are unknown.
      effect: 'model',
      write: definition.policy?.write ?? ['**'],
    }
  })
  return { ...definition, tasks: [...definition.tasks, ...added] }
}

/** A plan file does not have the tasks that `converge` added; running it again keeps them. */
export function keepAddedTasks(before: PlanDefinition, after: PlanDefinition): PlanDefinition {
  const written = new Set(after.tasks.map(({ id }) => id))
  const fixes = before.tasks.filter(task => isFix(task) && !written.has(task.id))
  return fixes.length === 0 ? after : { ...after, tasks: [...after.tasks, ...fixes] }
}

const FIX_LABEL = 'converge'

/** The label alone is not enough, since any author can write it. */
const isFix = ({ id, kind, labels }: TaskDefinition): boolean =>
  /^converge-\d+-\d+$/.test(id) && kind === 'fix' && labels?.includes(FIX_LABEL) === true

const wordsFor = (done: readonly Criterion[], criterion: string): string =>
  done.find(one => criterionText(one) === criterion)?.text ?? criterion

const clipped = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

/** Evidence must not be parsed as an expression, and an environment cannot contain a zero byte. */
const literal = (text: string): string => text.replaceAll('\0', '').replaceAll('${{', () => '$${{')
