// The text a plan is revised with: read like any plan document, in any dialect, except that a text to be merged may name tasks
// it does not hold, because the plan does.

import type { TaskName } from '../../domain/id.ts'
import { type MergeMode, mergeDefinitions } from '../../domain/merge.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { allTasks } from '../../domain/task-graph.ts'
import { parsePlan } from '../../format/parse.ts'
import { renameTasks } from '../../format/rename-tasks.ts'
import { checkPlan } from '../../operations/check-plan.ts'
import type { Context } from '../context.ts'
import { Complaint, EXIT, type FileDiagnostic } from '../exit.ts'
import { readText } from '../plan-file.ts'

export interface Written {
  readonly definition: PlanDefinition
  /** What the text says has ended. */
  readonly claimed: ReadonlyMap<TaskName, TaskStatus>
  readonly source: { readonly dialect: string; readonly text: string }
  readonly warnings: readonly FileDiagnostic[]
}

export async function readRevision(
  context: Context,
  path: string,
  current: PlanDefinition,
  mode: MergeMode,
): Promise<Written> {
  const text = await readText(context, path)
  const merging = mode === 'merge'
  const parsed = parsePlan(text, {
    ...(path === '-' ? {} : { fileName: path }),
    // A text without a name of its own means this plan.
    fallbackName: current.name,
    ...(merging ? { known: allTasks(current).map(({ id }) => id) } : {}),
    check: written =>
      checkPlan(
        merging ? mergeDefinitions({ current, written, mode, standings: new Map() }, renameTasks).definition : written,
      ),
  })
  const lines = text.split('\n')
  const located = (diagnostic: Omit<FileDiagnostic, 'file' | 'source'>): FileDiagnostic => ({
    ...diagnostic,
    file: path,
    source: lines[diagnostic.line - 1]?.replace(/\r$/, '') ?? '',
  })
  if (!parsed.ok) {
    const [first] = parsed.diagnostics
    const message =
      first === undefined ? `${path} is not a plan` : `${path}:${first.line}:${first.column}: ${first.message}`
    throw new Complaint(EXIT.usage, 'invalid-plan', message, first?.hint, parsed.diagnostics.map(located))
  }
  if (parsed.sketch.length > 0) {
    const message = `${path} is only a sketch: ${parsed.sketch[0]}`
    throw new Complaint(EXIT.refused, 'not-allowed', message, 'fill in what is left open, then revise')
  }
  const { definition, dialect, ended, warnings } = parsed
  const source = { dialect: dialect ?? 'planfold', text }
  return { definition, claimed: ended, source, warnings: warnings.map(located) }
}
