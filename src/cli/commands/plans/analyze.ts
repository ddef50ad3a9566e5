// `planfold show FILE|PLAN --analysis`: what can be known before anything runs, and what is wrong or risky. Writes nothing.

import type { Analysis, Finding, Severity } from '../../../domain/analysis/analyze.ts'
import { numberOf, spoken } from '../../../domain/phrases.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { printMoney } from '../../../format/text/units.ts'
import { analyzed } from '../../../operations/analyze-plan.ts'
import type { SurroundingFault } from '../../../operations/policy/plan-surroundings.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { isFile, type PlanFile, readPlanFile, surroundingsOf } from '../../plan-file.ts'
import type { Paint } from '../../terminal/paint.ts'
import { cut, table, width } from '../../terminal/table.ts'
import { hintText } from '../../text/hint-text.ts'

// An analysis as people read it, on about one screen: the waves, the critical path, the estimate, then what is wrong or risky,
// the worst in full and the rest by kind.

const WAVES_SHOWN_MAX = 10
const NAMES_MAX = 12
const SAME_MAX = 3
const COLUMNS = 100

function report(
  context: Context,
  looked: LookedAt,
  analysis: Analysis,
  findings: readonly Placed[],
): readonly string[] {
  const { paint } = context
  const columns = Math.max(40, context.terminal?.columns() ?? COLUMNS)
  const { definition, file } = looked
  const title = definition.title === undefined ? '' : ` — ${escapeForTerminal(definition.title)}`
  return [
    cut(`${definition.name}${title}`, columns - 1),
    paint.dim(cut(summed(analysis), columns - 1)),
    ...(file?.told.dialect ? [paint.dim(`read as ${file.told.dialect}`)] : []),
    ...(file?.told.sketch ?? []).map(why =>
      cut(`${paint.yellow('sketch')}: ${escapeForTerminal(why)}; it can be shown, but not run`, columns + 9),
    ),
    '',
    ...waves(analysis, paint, columns),
    '',
    ...facts(analysis, paint, columns),
    '',
    ...findingLines(findings, paint),
  ]
}

function summed({ tasks, waves, groups, counts, conditional, compensating, unplaced }: Analysis): string {
  const parts = [
    `${number(tasks, 'task')} in ${number(waves.length, 'stage')}`,
    groups.length > 1 ? `${groups.length} independent parts` : null,
    listed(counts.action),
    listed(counts.effect),
    conditional.length === 0 ? null : `${conditional.length} only on some outcomes`,
    compensating.length === 0 ? null : `${compensating.length} only as undo steps`,
    unplaced.length === 0 ? null : `${unplaced.length} never`,
  ]
  return parts.filter(part => part !== null).join(' · ')
}

function waves({ waves: all }: Analysis, paint: Paint, columns: number): readonly string[] {
  const rows = all
    .slice(0, WAVES_SHOWN_MAX)
    .map((wave, at) => [String(at + 1).padStart(5), String(wave.length).padStart(5), names(wave)])
  const left = all.length - rows.length
  return [
    ...table(paint, ['stage', 'tasks', 'which'], rows, columns),
    ...(left > 0 ? [paint.dim(`   … and ${number(left, 'more stage')}`)] : []),
  ]
}

function facts(analysis: Analysis, paint: Paint, columns: number): readonly string[] {
  const { criticalPath, estimate, parallelism, cost } = analysis
  const { from } = estimate
  const assumed = [
    from.assumed === 0
      ? null
      : `${spoken(estimate.assumedMs)} assumed for ${number(from.assumed, 'task')} without an estimate`,
    from.budget === 0 ? null : `the budget of time taken for ${number(from.budget, 'task')}`,
    estimate.exact ? null : 'too complex to simulate: the real time may be longer',
  ].filter(part => part !== null)
  const lines: (readonly [string, string])[] = [
    ['critical path', `${spoken(criticalPath.ms)}: ${chain(criticalPath.tasks)}`],
    ['estimate', `${spoken(estimate.elapsedMs)} in parallel, ${spoken(estimate.totalMs)} sequentially`],
    ...assumed.map(part => ['', part] as const),
    ['speed-up', `${estimate.speedUp}× (max ${estimate.speedUpMax}×)`],
    [
      'parallelism',
      `max ${numberOf(parallelism.effective, 'task')} at once (widest stage ${parallelism.waves}, limit ${parallelism.concurrency}), ${parallelism.average} on average`,
    ],
    ...(cost.tasks.length === 0 && cost.plan === null ? [] : [['cost', costs(cost)] as const]),
  ]
  return lines.map(([name, value]) => `${paint.dim(name.padEnd(13))}  ${cut(escapeForTerminal(value), columns - 16)}`)
}

function costs({ tasks, unsaid, plan }: Analysis['cost']): string {
  const sums =
    tasks.length === 0 ? 'not declared' : `up to ${tasks.map(printMoney).join(' and ')} by the budgets of the tasks`
  return `${sums}${tasks.length > 0 && unsaid > 0 ? `, ${number(unsaid, 'task')} not declared` : ''}${plan === null ? '' : `; the plan allows ${printMoney(plan)}`}`
}

function findingLines(findings: readonly Placed[], paint: Paint): readonly string[] {
  if (findings.length === 0) return [`${paint.green('✔')} no problems found`]
  const byCode = new Map<string, Placed[]>()
  for (const finding of findings) {
    const key = `${finding.severity} ${finding.code}`
    if (byCode.has(key)) byCode.get(key)!.push(finding)
    else byCode.set(key, [finding])
  }
  const counts = (['error', 'warning', 'info'] as const).flatMap(severity => {
    const count = findings.filter(finding => finding.severity === severity).length
    return count === 0 ? [] : [tint(paint, severity)(number(count, NOUNS[severity]))]
  })
  return [counts.join(', '), ...[...byCode.values()].flatMap(same => lines(same, paint))]
}

const NOUNS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'note' }

function lines(same: readonly Placed[], paint: Paint): readonly string[] {
  if (same[0]!.severity === 'info') return [noteLine(same, paint)]
  const shown = SAME_MAX
  const rest = same.slice(shown)
  const hint = escapeForTerminal(same[0]!.hint)
  return [
    ...same.slice(0, shown).map(finding => {
      const place =
        finding.line === undefined
          ? ''
          : `${paint.bold(`${escapeForTerminal(finding.file ?? '')}:${finding.line}:${finding.column}`)}: `
      const severity = tint(paint, finding.severity)(NOUNS[finding.severity])
      return `${place}${severity}: ${escapeForTerminal(finding.message)} ${paint.dim(`[${finding.code}]`)}`
    }),
    ...(rest.length === 0
      ? []
      : [paint.dim(`  … and ${rest.length} more of these: ${names(rest.map(({ task }) => task ?? 'the plan'))}`)]),
    `  ${paint.cyan('hint')}: ${hint}`,
  ]
}

/** Notes of one code in one line, without a place: a short plan has many of them, and none is urgent. */
function noteLine(same: readonly Placed[], paint: Paint): string {
  const { message, hint, code } = same[0]!
  const more = same.length === 1 ? '' : ` (and ${same.length - 1} more)`
  return `${tint(paint, 'info')('note')}: ${escapeForTerminal(`${message}${more} (${hint})`)} ${paint.dim(`[${code}]`)}`
}

function tint(paint: Paint, severity: Severity): (text: string) => string {
  return severity === 'error' ? paint.red : severity === 'warning' ? paint.yellow : paint.dim
}

function names(all: readonly string[]): string {
  const shown = all.slice(0, NAMES_MAX).join(', ')
  return all.length > NAMES_MAX ? `${shown}, … (+${all.length - NAMES_MAX})` : shown
}

function chain(tasks: readonly string[]): string {
  if (tasks.length <= NAMES_MAX && width(tasks.join(' → ')) < 200) return tasks.join(' → ')
  return `${tasks.slice(0, 4).join(' → ')} → … (${Math.max(0, tasks.length - 6)} more) → ${tasks.slice(-2).join(' → ')}`
}

function listed(counts: Analysis['counts']['action']): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

const number = numberOf

interface LookedAt {
  readonly definition: PlanDefinition
  readonly statuses: ReadonlyMap<string, TaskStatus>
  /** Null for a plan of the store. */
  readonly file: PlanFile | null
}

/** A plan whose graph is wrong is looked at as well, when the caller says that it minds by itself. */
export async function lookAt(
  context: Context,
  word: string | undefined,
  options?: Parameters<typeof readPlanFile>[2],
): Promise<LookedAt> {
  if (word !== undefined && (await isFile(context, word))) {
    const file = await readPlanFile(context, word, options)
    return { definition: file.definition, statuses: file.told.ended, file }
  }
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const current = await engine.ask({ type: 'definition', plan })
    const board = (await engine.ask({ type: 'board', plan })) ?? []
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    return {
      definition: current.definition,
      statuses: new Map(board.map(card => [card.name, card.status])),
      file: null,
    }
  })
}

export interface AnalyzeCommandOptions {
  readonly strict?: boolean
  /** The length of a task that says none, in milliseconds. */
  readonly assume?: number
  readonly maxTasks?: number
}

export type Placed = Finding & { readonly file?: string; readonly line?: number; readonly column?: number }

export async function analyze(
  context: Context,
  word: string | undefined,
  options: AnalyzeCommandOptions,
): Promise<number> {
  const looked = await lookAt(context, word, { check: null })
  const analysis = analyzed(looked.definition, {
    now: context.now(),
    assumedMs: options.assume,
    topLevelMax: options.maxTasks,
  })
  const findings = placed(analysis.findings, looked)
  const around = await surroundingsOf(context, looked.definition)
  const surroundings = around.map(({ hint, elsewhere, atStart: _, ...fault }) => ({
    ...fault,
    ...(hint === undefined ? {} : { hint: hintText(hint) }),
    ...(elsewhere === undefined ? placeIn(looked, fault) : {}),
  }))
  const bad = [...analysis.findings, ...surroundings].filter(
    ({ severity }) => severity === 'error' || (options.strict === true && severity === 'warning'),
  ).length
  const { name } = looked.definition
  const sketch = looked.file?.told.sketch ?? []
  answer(context, { name, ok: bad === 0, sketch, ...analysis, findings, surroundings }, () => [
    ...report(context, looked, analysis, findings),
    ...aroundLines(surroundings, context.paint),
  ])
  return bad === 0 ? EXIT.done : EXIT.usage
}

/** Finding a place costs a walk through the document; so many are more than anyone reads. */
const PLACED_MAX = 500

function placed(findings: readonly Finding[], { file }: LookedAt): readonly Placed[] {
  if (file === null) return findings
  return findings.map((finding, at) => {
    if (at >= PLACED_MAX) return finding
    return { ...finding, ...placeIn({ file }, finding) }
  })
}

function placeIn({ file }: Pick<LookedAt, 'file'>, fault: Parameters<PlanFile['locate']>[0]) {
  if (file === null) return {}
  const { line, column } = file.locate(fault)
  return { file: file.path, line, column }
}

type Around = Omit<SurroundingFault, 'hint'> & { readonly hint?: string; readonly line?: number }

const AROUND_MAX = 20

function aroundLines(surroundings: readonly Around[], paint: Paint): readonly string[] {
  if (surroundings.length === 0) return []
  const left = surroundings.length - AROUND_MAX
  return [
    '',
    'policies, secrets, runners and databases on this machine:',
    ...surroundings
      .slice(0, AROUND_MAX)
      .flatMap(({ severity, message, hint, line }) => [
        `${tint(paint, severity)(severity)}: ${escapeForTerminal(message)}${line === undefined ? '' : ` (line ${line})`}`,
        ...(hint === undefined ? [] : [paint.dim(`  hint: ${escapeForTerminal(hint)}`)]),
      ]),
    ...(left > 0 ? [paint.dim(`… and ${number(left, 'more')}; --json shows all`)] : []),
  ]
}
