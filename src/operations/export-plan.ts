// Exports a plan as a document: printed in a format with the current state of its tasks, or the verbatim text of its current revision. A
// document that is exported can be imported again; what the format cannot express is reported.

import type { Hint } from '../domain/hint.ts'
import type { PlanId } from '../domain/id.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import { findExtra, openExtra } from '../extras.ts'
import type { PlanTarget } from './find-target.ts'
import { readRevisions } from './read-journal.ts'
import type { CallerEngine } from './run-plan.ts'

type Asking = Pick<CallerEngine, 'ask'>

export interface ExportedPlan extends PlanTarget {
  readonly revision: number
  readonly hash: string
  readonly format: string
  readonly text: string
  readonly lost: readonly string[]
}

export type PlanExport =
  | { readonly status: 'exported'; readonly document: ExportedPlan }
  | { readonly status: 'gone' }
  | NotPrinted

type NotPrinted =
  | { readonly status: 'no-format'; readonly near: string | null }
  | { readonly status: 'read-only' }
  | { readonly status: 'refused'; readonly message: string; readonly hint: Hint }
  /** The printed document would not import, for this reason. */
  | { readonly status: 'unreadable'; readonly message: string | null }

export async function exportPlan(engine: Asking, { plan, name }: PlanTarget, format: string): Promise<PlanExport> {
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) return { status: 'gone' }
  const { definition, revision, hash } = current
  const printed = await print(engine, plan, definition, format)
  if (printed.status !== 'printed') return printed
  const { text, lost } = printed
  return { status: 'exported', document: { plan, name, revision, hash, format, lost, text } }
}

async function print(
  engine: Asking,
  plan: PlanId,
  definition: PlanDefinition,
  format: string,
): Promise<{ readonly status: 'printed'; readonly text: string; readonly lost: readonly string[] } | NotPrinted> {
  if (format === 'yaml' || format === 'planfold' || format === 'json') {
    const { printJson, printYaml } = await import('../format/plan/print.ts')
    return { status: 'printed', text: format === 'json' ? printJson(definition) : printYaml(definition), lost: [] }
  }
  if (format === 'html') {
    const text = await printReport(engine, plan)
    return text === null
      ? { status: 'refused', message: 'the plan has gone', hint: 'list them' }
      : { status: 'printed', text, lost: [] }
  }
  const { DIALECTS } = await openExtra('dialects')
  const dialect = DIALECTS.find(({ name }) => name === format)
  if (dialect === undefined) {
    const near = suggest(format, ['yaml', 'json', 'html', 'journal', ...DIALECTS.map(one => one.name)])
    return { status: 'no-format', near }
  }
  const { printDocument, readDocument } = await import('./read-document.ts')
  const board = (await engine.ask({ type: 'board', plan })) ?? []
  const statuses = new Map<string, TaskStatus>(board.map(card => [card.name, card.status]))
  const printed = printDocument(definition, dialect, task => statuses.get(task) ?? 'pending')
  if (printed.status !== 'printed') return printed
  const again = await readDocument(printed.text, { dialect, fallbackName: definition.name, check: null })
  return again.ok ? printed : { status: 'unreadable', message: again.diagnostics[0]?.message ?? null }
}

/** A report of the plan's run as one HTML file; null if the plan is gone. */
export async function printReport(engine: Asking, plan: PlanId): Promise<string | null> {
  const [current, handoff] = [
    await engine.ask({ type: 'definition', plan }),
    await engine.ask({ type: 'handoff', plan, links: false }),
  ]
  if (current === null || handoff === null) return null
  const changes: { task: string; files: readonly FilePatch[]; more: number }[] = []
  const used: { tokens: number | null; cost: number | null }[] = []
  for (const { task, paths, attempts } of handoff.tasks) {
    if (attempts > 0) {
      const page = await engine.ask({ type: 'taskPage', plan, task })
      for (const attempt of page?.attempts ?? []) if (attempt.used != null) used.push(attempt.used)
    }
    if (paths === 0 || changes.length >= CHANGES_MAX) continue
    const changed = await engine.ask({ type: 'taskChanges', plan, task })
    if (changed !== null) changes.push({ task, files: changed.files, more: changed.more })
  }
  const { report } = await openExtra('pictures')
  const sum = (key: 'tokens' | 'cost'): number | null => {
    const known = used.flatMap(one => (one[key] === null ? [] : [one[key]]))
    return known.length === 0 ? null : known.reduce((all, one) => all + one, 0)
  }
  return report({ definition: current.definition, handoff, changes, tokens: sum('tokens'), cost: sum('cost') })
}

interface FilePatch {
  readonly path: string
  readonly patch: readonly string[] | null
}

/** Changes of further tasks are counted, not shown line by line. */
const CHANGES_MAX = 50

export type OriginalExport =
  | { readonly status: 'exported'; readonly document: ExportedPlan }
  /** The current revision has no text; `last` is the last one with a text. */
  | { readonly status: 'no-text'; readonly revision: number; readonly last: number | null }

export async function exportOriginal(engine: Asking, { plan, name }: PlanTarget): Promise<OriginalExport> {
  const revisions = await readRevisions(engine, plan)
  const { revision, hash, source } = revisions.at(-1)!
  if (source === null) {
    const last = revisions.findLast(one => one.source !== null)
    return { status: 'no-text', revision, last: last?.revision ?? null }
  }
  const document = { plan, name, revision, hash, format: source.dialect, lost: [], text: source.text }
  return { status: 'exported', document }
}

export type DocumentFiles =
  | { readonly status: 'files'; readonly files: readonly { readonly name: string; readonly text: string }[] }
  | { readonly status: 'one-file' }
  | { readonly status: 'unfit'; readonly message: string }

/** The files of a document, for formats that are folders. */
export async function documentFiles({ format, text }: Pick<ExportedPlan, 'format' | 'text'>): Promise<DocumentFiles> {
  const dialect = (await findExtra('dialects'))?.DIALECTS.find(({ name }) => name === format)
  const split = dialect?.files?.(text) ?? null
  if (split === null) return { status: 'one-file' }
  return split.ok ? { status: 'files', files: split.files } : { status: 'unfit', message: split.message }
}

const PAGE = 200

export async function allPlans(engine: Asking): Promise<readonly PlanId[]> {
  const plans: PlanId[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await engine.ask({ type: 'plans', limit: PAGE, cursor })
    plans.push(...page.items.map(row => row.id))
    if (page.next === null) return plans
    cursor = page.next
  }
}
