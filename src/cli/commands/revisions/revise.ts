// `planfold revise PLAN [FILE]`: a rewritten plan, or single changes by name, become the next revision. What changes, and what
// becomes of every task, is told; with --dry-run nothing else happens.

import type { TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { mayRunAgain } from '../../../domain/plan-rules/effect.ts'
import {
  type Edited,
  type Fate,
  fatesOf,
  type MergeMode,
  type MergeNote,
  mergeDefinitions,
  namesIn,
  orderTasks,
  removeTasks,
  type Standing,
  type Standings,
} from '../../../domain/revisions/merge.ts'
import { semanticDiff, summarise } from '../../../domain/revisions/semantic-diff.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import { PLAN_ENDED, type TaskStatus } from '../../../domain/status.ts'
import type { Card } from '../../../domain/views/board.ts'
import type { Engine } from '../../../engine/engine.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { definitionHash } from '../../../format/plan/hash.ts'
import { parsePlan } from '../../../format/plan/parse.ts'
import { printJson } from '../../../format/plan/print.ts'
import { generateTaskIds, renameTasks } from '../../../format/plan/rename-tasks.ts'
import { checkPlan } from '../../../operations/check-plan.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, remark } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { Complaint, EXIT, type FileDiagnostic, refused, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'
import { readText } from '../../plan-file.ts'
import { printDiagnostics } from '../../text/diagnostics.ts'

// The text a plan is revised with: read like any plan document, in any dialect, except that a text to be merged may name tasks
// it does not hold, because the plan does.

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

export interface ReviseOptions {
  /** Keep what the text does not mention. */
  readonly merge?: boolean
  readonly replace?: boolean
  readonly rationale?: string
  readonly expectRevision?: number
  readonly dryRun?: boolean
  /** Names of tasks, with commas. */
  readonly remove?: string
  readonly order?: string
  readonly ids?: 'generated'
}

export async function revise(
  context: Context,
  word: string,
  file: string | undefined,
  options: ReviseOptions,
): Promise<number> {
  if (file === undefined && options.remove === undefined && options.order === undefined && options.ids === undefined)
    throw usage('what is to change?', 'name a file, or say --remove, --order or --ids generated')
  const mode: MergeMode = options.merge === true || file === undefined ? 'merge' : 'replace'
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const plan = await findPlan(engine, word)
    const current = await currentOf(engine, plan, options)
    const written = file === undefined ? null : await readRevision(context, file, current.definition, mode)
    for (const line of printDiagnostics(context.paint, written?.warnings ?? [])) remark(context, line)
    const revision = await prepare(current, written, mode, options)
    const { diff, definition, hash, notes, fates, summary } = revision
    const data = { plan: plan.plan, name: plan.name, mode, hash, summary, diff, notes, fates }
    if (options.dryRun === true) {
      const next = hash === current.hash ? current.revision : current.revision + 1
      answer(context, { dryRun: true, ...data, revision: current.revision, next }, () => [
        ...told(context, revision),
        context.paint.dim('nothing was written'),
      ])
      return fates.some(({ fate }) => fate === 'refused') ? EXIT.refused : EXIT.done
    }
    const rationale = options.rationale ?? defaultRationale(file, mode, options)
    const accepted = await submit(composed, plan.plan, {
      type: 'revise',
      definition,
      rationale,
      expectedRevision: current.revision,
      ...(written === null ? {} : { source: written.source }),
    })
    const unchanged = accepted.events.length === 0
    const number = unchanged ? current.revision : current.revision + 1
    const { version, events } = accepted
    answer(context, { ...data, revision: number, version, events }, () =>
      unchanged
        ? ['nothing changed: it is so already', ...notesText(notes)]
        : [
            `${plan.name} is now revision ${number}: ${escapeForTerminal(summary)}`,
            ...told(context, revision).slice(1),
          ],
    )
    return EXIT.done
  })
}

interface Current {
  readonly definition: PlanDefinition
  readonly revision: number
  readonly hash: string
  readonly status: string
  readonly standings: Standings
}

export async function currentOf(engine: Engine, { plan, name }: PlanTarget, options: ReviseOptions): Promise<Current> {
  const current = await engine.ask({ type: 'definition', plan })
  const summary = await engine.ask({ type: 'summary', plan })
  if (current === null || summary === null) throw new Error(`the plan ${plan} has gone`)
  if (PLAN_ENDED.has(summary.status)) {
    const message = `plan '${name}' has ended: ${summary.status}`
    const hint =
      summary.status === 'failed'
        ? 'planfold run FILE goes on with it as the file says then: what is done stays done, what failed or changed runs'
        : 'run the changed file: planfold run FILE makes a new plan of it'
    throw new Complaint(EXIT.refused, 'ended', message, hint)
  }
  const { expectRevision } = options
  if (expectRevision !== undefined && expectRevision !== current.revision) {
    const message = `plan '${name}' is at revision ${current.revision}, not ${expectRevision}`
    const hint = `see what changed: planfold revisions diff ${name} ${Math.min(expectRevision, current.revision)}`
    throw new Complaint(EXIT.refused, 'conflict', message, hint)
  }
  return { ...current, status: summary.status, standings: await standingsOf(engine, plan, summary) }
}

/** How each task stands. One that failed and asks what then is tried again when it is changed, as one that failed is. */
export async function standingsOf(
  engine: Engine,
  plan: PlanTarget['plan'],
  { waiting, holder }: Undecided,
): Promise<Standings> {
  const cards = (await engine.ask({ type: 'board', plan })) ?? []
  const failed = new Set(waiting.flatMap(({ task, asks }) => (/^(recovery|replan)$/.test(asks.type) ? [task] : [])))
  return new Map(
    cards.map(card => [
      card.name,
      {
        status: failed.has(card.name) ? 'failed' : card.status,
        ran: ran(card),
        ...(holder?.alive === true ? {} : leftBy(card)),
      },
    ]),
  )
}

interface Undecided {
  readonly waiting: readonly { readonly task: TaskName; readonly asks: { readonly type: string } }[]
  /** Who drives it. */
  readonly holder: { readonly alive: boolean } | null
}

/** Nobody carries it out any more; what somebody has claimed goes on without us. */
function leftBy({ status, claimedBy, effect }: Card): Pick<Standing, 'left'> {
  if (status !== 'running' || claimedBy !== null) return {}
  return { left: mayRunAgain(effect) ? 'again' : 'asked' }
}

const BEGUN: ReadonlySet<TaskStatus> = new Set(['running', 'waiting', 'completed', 'failed', 'abandoned'])
const ran = ({ attempt, visit, status }: Card): boolean => attempt > 0 || visit > 1 || BEGUN.has(status)

interface Prepared {
  readonly definition: PlanDefinition
  readonly hash: string
  readonly diff: ReturnType<typeof semanticDiff>
  readonly summary: string
  readonly notes: readonly MergeNote[]
  readonly fates: readonly Fate[]
}

export async function prepare(
  current: Current,
  written: Written | null,
  mode: MergeMode,
  options: ReviseOptions,
): Promise<Prepared> {
  const { standings } = current
  const merged =
    written === null
      ? { definition: current.definition, notes: [] }
      : mergeDefinitions(
          { current: current.definition, written: written.definition, mode, standings, claimed: written.claimed },
          renameTasks,
        )
  let { definition } = merged
  if (options.remove !== undefined) definition = must(removeTasks(definition, namesIn(options.remove)))
  if (options.order !== undefined) definition = must(orderTasks(definition, namesIn(options.order)))
  if (options.ids === 'generated') {
    if (current.status !== 'draft')
      throw new Complaint(
        EXIT.refused,
        'not-allowed',
        'ids are generated only for a draft: to a run, another id is another task',
        'keep the ids, or make a new plan with generated ones',
      )
    definition = generateTaskIds(definition, definition.name)
  }
  demandSound(definition)
  const diff = semanticDiff(current.definition, definition)
  return {
    definition,
    hash: definitionHash(definition),
    diff,
    summary: summarise(diff),
    notes: merged.notes,
    fates: fatesOf(current.definition, definition, standings),
  }
}

function must(edited: Edited): PlanDefinition {
  if (!edited.ok) throw refused(edited.refusal)
  return edited.definition
}

/** What was put together of two texts is judged like one that somebody wrote. */
function demandSound(definition: PlanDefinition): void {
  const [fault] = checkPlan(definition)
  if (fault !== undefined)
    throw new Complaint(EXIT.usage, 'invalid-plan', `the revision is wrong: ${fault.message}`, fault.hint)
  const parsed = parsePlan(printJson(definition), { lenient: true })
  if (parsed.ok) return
  const [first] = parsed.diagnostics
  const message = `the revision is wrong${first?.path === undefined ? '' : ` at ${first.path}`}: ${first?.message ?? ''}`
  throw new Complaint(EXIT.usage, 'invalid-plan', message, first?.hint)
}

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
export function told({ paint }: Context, { summary, diff, notes, fates }: Prepared): readonly string[] {
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
