// The steps of a goal as tasks: scope, criteria, rollback, and outputs for the next step.

import type { TaskName } from '../../../domain/id.ts'
import type { Action, Criterion, TaskDefinition } from '../../../domain/plan.ts'
import type { PlanParts } from '../compose-plan.ts'
import { shellLine } from '../end-checks.ts'
import type { EndCheck } from '../kinds/end-check.ts'
import type { FoundCommand } from '../planner.ts'
import { holds } from '../ranking/scope-entries.ts'
import type { WorkStep } from '../work-steps.ts'
import { instructionOf, type Left, live, oneLine } from './briefing-text.ts'
import { isNoted } from './change-log.ts'

export const MINUTE = 60_000

export interface Before {
  readonly needs: readonly TaskName[]
  readonly left: readonly Left[]
  readonly logs: readonly Left[]
}

export function workTask(parts: PlanParts, step: WorkStep, { needs, left, logs }: Before): TaskDefinition {
  const { renaming } = parts
  const isCommand = step.id === 'rename' && renaming !== null
  const action: Action = isCommand ? { type: 'run', command: { argv: renaming.run.map(live) } } : { type: 'external' }
  const accept = acceptOf(parts, step)
  const { reports } = step
  return {
    id: step.id as TaskName,
    title: step.title,
    kind: step.kind,
    rationale: step.why,
    needs,
    action,
    ...(isCommand ? { network: [] } : { instruction: instructionOf(parts, step, left, logs) }),
    write: isCommand
      ? renaming.files
      : [...arranged(scopeOf(parts, step), parts, step), ...(isTested(step) ? parts.reports : [])],
    ...(reports === undefined || isCommand ? {} : { outputs: { [reports]: { from: 'report', type: 'text' } } }),
    ...(accept.length === 0 ? {} : { accept }),
    ...(step.network === undefined ? {} : { network: step.network }),
    risks: step.risks,
    ...(step.rollback === undefined && step.scope === 'nothing'
      ? {}
      : { rollback: step.rollback ?? `a rollback of '${step.id}' reverts the files it wrote` }),
    estimateMs: (isCommand ? 1 : step.minutes) * MINUTE,
  }
}

function scopeOf(parts: PlanParts, { scope }: WorkStep): readonly string[] {
  const { scopes, places } = parts
  switch (scope) {
    case 'nothing':
      return []
    case 'both':
      // The step that makes the new test pass must not change it.
      return hasRed(parts) ? scopes.sources : [...new Set([...scopes.sources, ...scopes.tests])]
    case 'holding':
      return places.holding.length > 0
        ? places.holding
        : [...new Set([...scopes.sources, ...scopes.tests, ...scopes.docs])]
    default:
      return scopes[scope]
  }
}

/** Most likely paths first, without those inside a listed folder; the change log is added. */
function arranged(
  entries: readonly string[],
  { analysis, places, judged }: PlanParts,
  step: WorkStep,
): readonly string[] {
  const order = [...analysis.files, ...analysis.tests].map(({ path }) => path)
  const rank = (entry: string): number => {
    const at = order.findIndex(path => path === entry || holds(entry, path))
    return at < 0 ? order.length : at
  }
  const outer = entries.filter(entry => !entries.some(other => holds(other, entry)))
  const logs = [...(places.changeLog === null ? [] : [places.changeLog]), ...places.openLogs]
  const noted = isNoted(step, judged.kind) ? logs : []
  return [...new Set([...outer.toSorted((a, b) => rank(a) - rank(b)), ...(entries.length > 0 ? noted : [])])]
}

/** Only what a command or expression can check; everything else is part of the review. */
function acceptOf(parts: PlanParts, { proof, reports, scope }: WorkStep): readonly Criterion[] {
  const goal = parts.ends.map(({ script, text }) => check(script, text))
  switch (proof) {
    case 'report':
      return reports === undefined
        ? []
        : [{ type: 'expect', expression: `outputs.${reports}.trim() != ''`, text: `it ends with the ${reports}` }]
    case 'red':
      return tests(parts, 'red')
    case 'green':
      return [...(scope === 'tests' ? [] : goal), ...tests(parts, hasRed(parts) ? 'green' : 'kept')]
    case 'end':
      return goal
    default:
      return proof satisfies never
  }
}

const hasRed = ({ steps, dropped }: PlanParts): boolean =>
  steps.some(({ id, proof }) => proof === 'red' && !dropped.has(id))

/**
 * Compares tests with the baseline. `red`: a new test fails. `green`: it passes. `kept`: no new failures and none missing.
 * `whole`: the same for all tests, if the others cover only a package.
 */
export function tests(parts: PlanParts, want: 'red' | 'green' | 'kept' | 'whole'): readonly Criterion[] {
  const { analysis, ends, steps, dropped, scopes } = parts
  const isWhole = want === 'whole'
  const test = isWhole ? (analysis.commands.allTests ?? null) : analysis.commands.test
  if (test === null) return []
  const before = isWhole ? (isChecked(ends, test) ? null : ALL_TESTS_BEFORE) : testsBaseline(parts)
  // If the goal is that they pass, they run as in the goal's check, which is recorded.
  const line = shellLine(isChecked(ends, test) ? test.run : ((isWhole ? parts.allSuite : parts.suite) ?? test.run))
  // Removing code also removes its tests.
  const isRemoval = steps.some(({ id }) => id === 'remove' || id === 'replace')
  const [only, ...others] = scopes.tests
  const where = only === undefined || others.length > 0 ? '**' : only
  return [
    {
      type: 'tests',
      command: { script: live(line) },
      ...(want === 'kept' || isWhole ? {} : { new: where }),
      ...(before === null || dropped.has(before) ? {} : { baseline: before as TaskName }),
      ...(want === 'red' ? { red: true as const } : {}),
      ...(isRemoval ? { fewer: 'allowed' as const } : {}),
      text: isRemoval ? 'no test fails that did not fail before' : TEXTS[want],
    },
  ]
}

export const TEXTS = {
  red: 'the new test fails, and nothing else changes',
  green: 'the new test passes, and no other fails that did not fail before',
  kept: 'no test fails that did not fail before, and none is gone',
  whole: 'of all tests none fails that did not fail before, and none is gone',
} as const

export const BASELINE = 'baseline'
export const TESTS_BEFORE = 'tests-before'
export const ALL_TESTS_BEFORE = 'all-tests-before'

/** The task that recorded the tests; null if there is none. */
function testsBaseline({ ends, steps, analysis: { commands } }: PlanParts): string | null {
  const { test } = commands
  if (test === null || !steps.some(isTested)) return null
  if (!isChecked(ends, test)) return ends.length === 0 ? BASELINE : TESTS_BEFORE
  return ends.length === 1 && ends[0]!.command === undefined ? BASELINE : null
}

/** Can this step affect the tests? */
export const isTested = ({ scope, kind }: WorkStep): boolean =>
  scope !== 'nothing' && scope !== 'docs' && scope !== 'new' && kind !== 'docs' && kind !== 'ci'

export const isChecked = (ends: readonly EndCheck[], command: FoundCommand | null): boolean =>
  command !== null &&
  ends.some(
    end =>
      end.script === shellLine(command.run) ||
      (end.command !== undefined && shellLine(end.command.run) === shellLine(command.run)),
  )

export const check = (script: string, text: string): Criterion => ({
  type: 'check',
  command: { script: live(script) },
  text: oneLine(text, 200),
})
