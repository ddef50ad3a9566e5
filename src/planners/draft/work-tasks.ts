// The steps of a goal as tasks: what each may write, what proves it, how it is undone, and what it hands to the next.

import type { TaskName } from '../../domain/id.ts'
import type { Action, Criterion, TaskDefinition } from '../../domain/plan.ts'
import type { PlanParts } from '../compose-plan.ts'
import { shellLine } from '../end-checks.ts'
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
    write: isCommand ? renaming.files : arranged(scopeOf(parts, step), parts, step),
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

function scopeOf({ scopes, places }: PlanParts, { scope }: WorkStep): readonly string[] {
  switch (scope) {
    case 'nothing':
      return []
    case 'both':
      return [...new Set([...scopes.sources, ...scopes.tests])]
    case 'holding':
      return places.holding.length > 0
        ? places.holding
        : [...new Set([...scopes.sources, ...scopes.tests, ...scopes.docs])]
    default:
      return scopes[scope]
  }
}

/** The likeliest first, without what a folder of the scope holds; what changed is noted where it always is. */
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
  const noted = places.changeLog !== null && isNoted(step, judged.kind) ? [places.changeLog] : []
  return [...new Set([...outer.toSorted((a, b) => rank(a) - rank(b)), ...(entries.length > 0 ? noted : [])])]
}

/** Only what a command or an expression can judge: whatever a person has to judge is judged once, in the review. */
function acceptOf({ analysis, ends }: PlanParts, { proof, reports, scope }: WorkStep): readonly Criterion[] {
  const { test, allTests } = analysis.commands
  const line = test === null ? null : shellLine(test.run)
  const goal = ends.map(({ script, text }) => check(script, text))
  switch (proof) {
    case 'told':
      return reports === undefined
        ? []
        : [{ type: 'expect', expression: `outputs.${reports}.trim() != ''`, text: `it ends with the ${reports}` }]
    case 'red':
      return line === null ? [] : [check(`! ${line}`, 'the new test fails')]
    case 'green':
      return [
        ...(scope === 'tests' ? [] : goal),
        ...(line === null || ends.some(({ script }) => script === line)
          ? []
          : [check(line, allTests === undefined ? 'all tests pass' : 'the tests of the package pass')]),
      ]
    case 'end':
      return goal
    default:
      return proof satisfies never
  }
}

export const check = (script: string, text: string): Criterion => ({
  type: 'check',
  command: { script: live(script) },
  text: oneLine(text, 200),
})
