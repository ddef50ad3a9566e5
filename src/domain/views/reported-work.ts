// What agents report in the outputs of their tasks, under the names of the PlanStore: `files_modified`, `tests_added`, `coverage`,
// `metrics.lines_changed` and `artifacts`. Reported, not measured; other shapes stay plain data.

import { isMap, type Json } from '../json.ts'
import type { Card } from './board.ts'

export interface ReportedWork {
  readonly filesModified: readonly string[]
  readonly testsAdded: number
  readonly linesChanged: number
  readonly coverage: number | null
  readonly artifacts: readonly string[]
}

/** Of one task or several, in order of completion; null without any report. */
export function reportedWork(outputs: readonly Json[]): ReportedWork | null {
  const files = new Set<string>()
  const artifacts = new Set<string>()
  let [testsAdded, linesChanged, isSaid] = [0, 0, false]
  let coverage: number | null = null
  for (const one of outputs) {
    if (!isMap(one)) continue
    const { files_modified, tests_added, metrics, artifacts: made, coverage: covered } = one
    for (const file of texts(files_modified)) files.add(file)
    for (const artifact of texts(made)) artifacts.add(artifact)
    const lines = amount(isMap(metrics) ? metrics.lines_changed : undefined)
    const tests = amount(tests_added)
    testsAdded += tests ?? 0
    linesChanged += lines ?? 0
    coverage = amount(covered) ?? coverage
    isSaid ||= tests !== null || lines !== null
  }
  if (!isSaid && coverage === null && files.size === 0 && artifacts.size === 0) return null
  return { filesModified: [...files], testsAdded, linesChanged, coverage, artifacts: [...artifacts] }
}

export function reportedByPlan(cards: readonly Card[]): ReportedWork | null {
  const ended = cards.filter(({ status }) => status === 'completed')
  return reportedWork(ended.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0)).map(({ outputs }) => outputs))
}

/** A list of names; artifacts may be maps with a name. */
function texts(value: Json | undefined): readonly string[] {
  if (!Array.isArray(value)) return []
  return (value as readonly Json[]).flatMap(item => {
    const name = isMap(item) ? (item.name ?? item.path) : item
    return typeof name === 'string' && name !== '' ? [name] : []
  })
}

export const amount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
