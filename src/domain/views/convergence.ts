// How far `converge` has come, as the journal tells: which round, what held in it, whether its tasks were added, whether anything
// moved since the round before. A round that was cut off is found here, and so is never made twice.

import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../plan.ts'
import { criterionText } from '../plan-rules/criterion-text.ts'
import type { Verdict } from '../result.ts'

export interface Convergence {
  /** Rounds judged so far; 0 when none was. */
  readonly round: number
  readonly verdicts: readonly Verdict[]
  /** The entry in which it was judged. */
  readonly version: number
  readonly isAppended: boolean
  readonly made: number
  /** The last round found what the one before it had found, although tasks were added in between; nor has any task changed a file. */
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

/** What does not hold. What only a person can judge is not among it: the plan asks for that itself. */
export const unmetIn = (verdicts: readonly Verdict[]): readonly Verdict[] =>
  verdicts.filter(({ holds }) => holds === false)

const found = (verdicts: readonly Verdict[]): string =>
  JSON.stringify(unmetIn(verdicts).map(({ criterion, evidence }) => [criterion, evidence]))

export const fixName = (round: number, number: number): TaskName => `converge-${round}-${number}` as TaskName

const hasRound = ({ tasks }: PlanDefinition, round: number): boolean =>
  round > 0 && tasks.some(({ id }) => id === fixName(round, 1))

/** The plan with one task for each criterion that does not hold: for whoever claims it, or with a command. */
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
      // What comes of it is judged in the next round; a failure of its own says nothing about the plan.
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
      // As an agent's work: cut off, it is done again. And never two of them at once: nobody knows what they write.
      effect: 'model',
      write: definition.policy?.write ?? ['**'],
    }
  })
  return { ...definition, tasks: [...definition.tasks, ...added] }
}

/** A text does not know the tasks that `converge` added; whoever runs it again keeps them. */
export function keepAddedTasks(before: PlanDefinition, after: PlanDefinition): PlanDefinition {
  const written = new Set(after.tasks.map(({ id }) => id))
  const fixes = before.tasks.filter(task => isFix(task) && !written.has(task.id))
  return fixes.length === 0 ? after : { ...after, tasks: [...after.tasks, ...fixes] }
}

const FIX_LABEL = 'converge'

/** The label alone is anybody's word. */
const isFix = ({ id, kind, labels }: TaskDefinition): boolean =>
  /^converge-\d+-\d+$/.test(id) && kind === 'fix' && labels?.includes(FIX_LABEL) === true

/** How somebody put it, when they did. */
const wordsFor = (done: readonly Criterion[], criterion: string): string =>
  done.find(one => criterionText(one) === criterion)?.text ?? criterion

const clipped = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

/** What was seen is nobody's expression, and an environment holds no zero byte. */
const literal = (text: string): string => text.replaceAll('\0', '').replaceAll('${{', () => '$${{')
