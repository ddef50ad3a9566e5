// `planfold revise PLAN [FILE]`: a rewritten plan, or single changes by name, become the next revision. It prints what changes, and what
// becomes of every task; with --dry-run nothing else happens.

import type { PlanDefinition, PlanSource } from '../../../domain/plan.ts'
import type { MergeMode, MergeNote } from '../../../domain/revisions/merge.ts'
import { PLAN_ENDED } from '../../../domain/status.ts'
import type { Engine } from '../../../engine/engine.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import type { PlanDocument } from '../../../operations/read-document.ts'
import {
  type CurrentPlan,
  type PreparedRevision,
  prepareRevision,
  type RevisionEdits,
  readCurrentPlan,
  readRevision,
} from '../../../operations/revise-plan.ts'
import { sourceOf } from '../../../operations/run-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { CliError, EXIT, type FileDiagnostic, refused, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'
import { faultyDocument, locator, readText } from '../../plan-file.ts'
import { printDiagnostics } from '../../text/diagnostics.ts'

// The text a plan is revised with: read like any plan document, in any dialect.

export interface Written extends Pick<PlanDocument, 'definition'> {
  readonly ended: PlanDocument['told']['ended']
  readonly source: PlanSource
  readonly warnings: readonly FileDiagnostic[]
}

export async function readRevisionFile(
  context: Context,
  path: string,
  current: PlanDefinition,
  mode: MergeMode,
): Promise<Written> {
  const text = await readText(context, path)
  const read = await readRevision(text, current, mode, path === '-' ? {} : { fileName: path })
  if (!read.ok) throw faultyDocument(path, text, read.diagnostics)
  const { definition, told, warnings } = read.document
  if (told.sketch.length > 0) {
    const message = `${path} is only a sketch: ${told.sketch[0]}`
    throw new CliError(EXIT.refused, 'not-allowed', message, 'fill in what is left open, then revise')
  }
  const located = warnings.map(locator(text, line => ({ file: path, line })))
  return { definition, ended: told.ended, source: sourceOf(read.document), warnings: located }
}

export interface ReviseOptions {
  readonly merge?: boolean
  readonly replace?: boolean
  readonly message?: string
  readonly expectRevision?: number
  readonly dryRun?: boolean
  readonly remove?: string
  readonly order?: string
  readonly ids?: 'generated'
  readonly propose?: boolean
  readonly cause?: string
  readonly task?: string
}

export async function revise(
  context: Context,
  word: string,
  file: string | undefined,
  options: ReviseOptions,
): Promise<number> {
  if (options.propose === true) return await propose(context, word, file, options)
  const [needless] = (['cause', 'task'] as const).filter(name => options[name] !== undefined)
  if (needless !== undefined) throw usage(`--${needless} needs --propose`, 'add --propose')
  if (file === undefined && options.remove === undefined && options.order === undefined && options.ids === undefined)
    throw usage('what is to change?', 'name a file, or say --remove, --order or --ids generated')
  const mode: MergeMode = options.merge === true || file === undefined ? 'merge' : 'replace'
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const plan = await findPlan(engine, word)
    const current = await currentOf(engine, plan, options)
    const written = file === undefined ? null : await readRevisionFile(context, file, current.definition, mode)
    for (const line of printDiagnostics(context.paint, written?.warnings ?? [])) printNote(context, line)
    const revision = prepare(current, { ...options, ...writtenAs(written, mode) })
    const { diff, definition, hash, notes, fates, summary } = revision
    const data = { plan: plan.plan, name: plan.name, mode, hash, summary, diff, notes, fates }
    if (options.dryRun === true) {
      const next = hash === current.hash ? current.revision : current.revision + 1
      answer(context, { dryRun: true, ...data, revision: current.revision, next }, () => [
        ...changeLines(context, revision),
        context.paint.dim('nothing was written'),
      ])
      return fates.some(({ fate }) => fate === 'refused') ? EXIT.refused : EXIT.done
    }
    const rationale = options.message ?? defaultRationale(file, mode, options)
    const accepted = await submit(composed, plan.plan, {
      type: 'revise',
      definition,
      rationale,
      expectedRevision: current.revision,
      ...(written === null ? {} : { source: written.source }),
      ...(written === null || mode === 'merge' ? {} : { file: written.definition.tasks.map(({ id }) => id) }),
    })
    const unchanged = accepted.events.length === 0
    const number = unchanged ? current.revision : current.revision + 1
    const { version, events } = accepted
    answer(context, { ...data, revision: number, version, events }, () =>
      unchanged
        ? ['no changes', ...notesText(notes)]
        : [
            `${plan.name} is now revision ${number}: ${escapeForTerminal(summary)}`,
            ...changeLines(context, revision).slice(1),
          ],
    )
    return EXIT.done
  })
}

async function propose(
  context: Context,
  word: string,
  file: string | undefined,
  { message, ...options }: ReviseOptions,
): Promise<number> {
  if (file === undefined || options.remove !== undefined || options.order !== undefined || options.ids !== undefined)
    throw usage('a proposal is a changed plan file', 'planfold revise PLAN FILE --propose')
  if (message === undefined) throw usage('a proposal needs a reason', "add -m 'why'")
  const proposals = await import('./proposals.ts')
  return await proposals.propose(context, word, file, { ...options, message })
}

export async function currentOf(
  engine: Engine,
  { plan, name }: PlanTarget,
  options: ReviseOptions,
): Promise<CurrentPlan> {
  const current = await readCurrentPlan(engine, plan)
  if (current === null) throw new Error(`the plan ${plan} has gone`)
  if (PLAN_ENDED.has(current.status)) {
    const message = `plan '${name}' has ended: ${current.status}`
    const hint =
      current.status === 'failed'
        ? 'run the changed file: planfold run FILE updates the plan and continues it; completed tasks stay completed'
        : 'run the changed file: planfold run FILE makes a new plan of it'
    throw new CliError(EXIT.refused, 'ended', message, hint)
  }
  const { expectRevision } = options
  if (expectRevision !== undefined && expectRevision !== current.revision) {
    const message = `plan '${name}' is at revision ${current.revision}, not ${expectRevision}`
    const hint = `see what changed: planfold revise diff ${name} ${Math.min(expectRevision, current.revision)}`
    throw new CliError(EXIT.refused, 'conflict', message, hint)
  }
  return current
}

export function prepare(current: CurrentPlan, edits: RevisionEdits): PreparedRevision {
  const prepared = prepareRevision(current, edits)
  if (prepared.status === 'prepared') return prepared.revision
  if (prepared.status === 'refused') throw refused(prepared.refusal)
  const [fault] = prepared.faults
  const [first] = prepared.diagnostics
  const at = fault !== undefined || first?.path === undefined ? '' : ` at ${first.path}`
  const { message = '', hint } = fault ?? first ?? {}
  throw new CliError(EXIT.usage, 'invalid-plan', `the revision is wrong${at}: ${message}`, hint)
}

export const writtenAs = (written: Written | null, mode: MergeMode): Pick<RevisionEdits, 'written'> =>
  written === null ? {} : { written: { definition: written.definition, ended: written.ended, mode } }

function defaultRationale(file: string | undefined, mode: MergeMode, options: ReviseOptions): string {
  const parts = [
    file === undefined ? '' : `${mode} ${file}`,
    options.remove === undefined ? '' : `remove ${options.remove}`,
    options.order === undefined ? '' : `order ${options.order}`,
    options.ids === undefined ? '' : 'generated ids',
  ]
  return `revise: ${parts.filter(part => part !== '').join(', ')}`
}

const FATES_SHOWN_MAX = 60

/** The diff, then what becomes of every task that does not simply stay as it is, then the notes. */
export function changeLines({ paint }: Context, { summary, diff, notes, fates }: PreparedRevision): readonly string[] {
  const text = escapeForTerminal(explainDiff(diff), { keepLines: true })
  const moved = fates.filter(({ fate }) => fate !== 'kept')
  const lines = moved.slice(0, FATES_SHOWN_MAX).map(({ task, fate, why }) => {
    const line = `  ${task} ${escapeForTerminal(why)}`
    return fate === 'refused' ? paint.red(line) : line
  })
  return [
    escapeForTerminal(summary),
    ...(text === '' ? [] : ['', ...text.split('\n')]),
    ...(lines.length === 0 ? [] : ['', ...lines]),
    ...(moved.length > lines.length ? [paint.dim(`  … and ${moved.length - lines.length} more`)] : []),
    ...notesText(notes),
  ]
}

const notesText = (notes: readonly MergeNote[]): readonly string[] =>
  notes.map(({ message }) => `note: ${escapeForTerminal(message)}`)
