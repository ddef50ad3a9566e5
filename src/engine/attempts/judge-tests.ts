// A criterion about tests: runs the command, reads its output test by test, and compares it with an earlier run. The results are stored as
// a blob; the journal holds their counts and the names that changed.

import type { Sha256 } from '../../domain/id.ts'
import type { CommandLine } from '../../domain/plan.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { baselineOf, earlierRuns, testCommand } from '../../domain/plan-rules/tests-criteria.ts'
import type { TestsCriterion } from '../../domain/plan-values.ts'
import type { TestRun, Verdict } from '../../domain/result.ts'
import { compareTests, type TestOutcome } from '../../format/test-results/compare-tests.ts'
import { readTestResults } from '../../format/test-results/test-results.ts'
import type { Outcome } from '../../runners/runner.ts'
import type { Rooms } from '../rooms.ts'
import { type CommandRun, type JudgeContext, runCommand } from './judge-criteria.ts'

type Blobs = Rooms['store']['blobs']

export async function judgeTests(criterion: TestsCriterion, judging: JudgeContext): Promise<Verdict> {
  const text = criterionText(criterion)
  const first = await runTests(criterion, judging)
  if (first.outcome === null) return { ...first.verdict, criterion: text }
  const own = judging.attempt.task
  const baseline = baselineOf(judging.state, own, criterion)
  const red = earlierRuns(judging.state, own, criterion).filter(({ run }) => run.isRed === true)
  const before = baseline === null ? null : await outcomeOf(judging.blobs, baseline.run.results)
  const others = {
    before,
    again: null,
    proven: red
      .flatMap(({ run }) => run.changed?.failing ?? [])
      .filter(name => !first.outcome.results?.broken.includes(name)),
    wasRed: red.length > 0,
  }
  let compared = compareTests(criterion, first.outcome, others)
  if (compared.isDoubtful && !judging.signal.aborted) {
    const { outcome: again } = await runTests(criterion, judging)
    if (again !== null) compared = compareTests(criterion, first.outcome, { ...others, again })
  }
  const { holds, changed } = compared
  // Without the baseline, new, missing and previously failing tests are unknown. A person decides; the criterion is not counted as true.
  const isLost = baseline !== null && before === null
  const without = isLost
    ? [`the results recorded by '${baseline.task}' are no longer stored, so it is unknown what changed`]
    : criterion.baseline !== undefined && baseline === null
      ? [`'${criterion.baseline}' has recorded no results, so no test may fail`]
      : []
  return {
    ...first.verdict,
    criterion: text,
    holds: isLost ? null : holds,
    evidence: [compared.evidence, ...without].join('; '),
    tests: {
      ...(await recorded(judging.blobs, criterion.command, first.outcome)),
      ...(baseline === null ? {} : { baseline: baseline.task }),
      ...(criterion.red === true ? { isRed: true } : {}),
      ...(Object.keys(changed).length === 0 ? {} : { changed }),
    },
  }
}

type Ran = (CommandRun & { readonly outcome: null }) | { readonly verdict: Verdict; readonly outcome: TestOutcome }

async function runTests({ command }: TestsCriterion, judging: JudgeContext): Promise<Ran> {
  const { verdict, exited } = await runCommand(command, judging)
  // A run that was ended by its time limit or a limit of the sandbox proves nothing about its tests.
  if (exited === null || exited.timedOut || exited.excess !== undefined) return { verdict, exited, outcome: null }
  return { verdict, outcome: outcomeIn(exited, judging.tools.root) }
}

type Exited = Extract<Outcome, { readonly type: 'exited' }>

const outcomeIn = (exited: Pick<Exited, 'exit' | 'stdout' | 'stderr'>, root: string): TestOutcome => ({
  exit: exited.exit,
  results: readTestResults(exited, root),
})

async function recorded(blobs: Blobs, command: CommandLine, outcome: TestOutcome): Promise<TestRun> {
  const { passed, failed, skipped } = outcome.results?.counts ?? {
    passed: outcome.exit === 0 ? 1 : 0,
    failed: outcome.exit === 0 ? 0 : 1,
    skipped: 0,
  }
  const broken = outcome.results?.broken.length ?? 0
  const results = await blobs.put(Buffer.from(JSON.stringify(outcome)))
  return { command: testCommand(command), results, passed, failed: failed + broken, skipped }
}

/** The baseline run that later tasks compare with. */
export const baselineRun = (
  { root, store }: Pick<Rooms, 'root' | 'store'>,
  command: CommandLine,
  exited: Exited,
): Promise<TestRun> => recorded(store.blobs, command, outcomeIn(exited, root))

async function outcomeOf(blobs: Blobs, id: Sha256): Promise<TestOutcome | null> {
  const bytes = await blobs.get(id)
  return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString('utf8')) as TestOutcome)
}
