// `planfold list`: all plans, page by page.

import { suggest } from '../../../domain/phrases.ts'
import { isPlanStatus, PLAN_STATUSES } from '../../../domain/status.ts'
import type { Engine } from '../../../engine/engine.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import type { PlanRow } from '../../../stores/store.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT, usage } from '../../exit.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { planWord, tint } from '../../terminal/paint.ts'
import { table } from '../../terminal/table.ts'
import { type ShownState, shownState } from '../../text/plan-state.ts'

// Plans as a table, for `list` and `status`.

export async function planTable(
  context: Context,
  engine: Engine,
  plans: readonly PlanRow[],
): Promise<readonly string[]> {
  const { paint, terminal } = context
  const now = context.now()
  const states = await Promise.all(plans.map(async plan => await stateOf(engine, plan)))
  const rows = plans.map((plan, at) => [
    { text: plan.name, tint: paint.bold },
    {
      text: plan.archived ? `${states[at]!.word}, archived` : states[at]!.word,
      tint: tint(paint, states[at]!.sign),
    },
    `${plan.done}/${plan.tasks}`,
    ago(plan.updatedAt, now),
    plan.title ?? plan.goal ?? '',
  ])
  return table(paint, ['plan', 'status', 'done', 'changed', 'title'], rows, terminal?.columns() ?? null)
}

/** Of a plan that has started and not finished, who runs it must be asked. */
async function stateOf(engine: Engine, { id, status }: PlanRow): Promise<Pick<ShownState, 'word' | 'sign'>> {
  const summary = status === 'active' ? await engine.ask({ type: 'summary', plan: id }) : null
  if (summary === null) return { word: planWord(status), sign: status === 'blocked' ? 'waiting' : status }
  const board = (await engine.ask({ type: 'board', plan: id })) ?? []
  return shownState({ summary, board, isDriven: summary.holder?.alive === true })
}

export interface ListOptions {
  readonly status?: string
  readonly session?: string
  readonly limit?: number
  readonly cursor?: string
  readonly text?: string
  readonly archived?: boolean
  /** Archived ones as well. */
  readonly all?: boolean
}

export async function list(context: Context, options: ListOptions): Promise<number> {
  const { status: word, all, archived = all === true ? undefined : false, ...rest } = options
  if (all === true && options.archived === true)
    throw usage('--all and --archived cannot be used together', 'use one of them')
  // As the table says it.
  const status = word === 'waiting' ? 'blocked' : word === 'running' ? 'active' : word
  if (status !== undefined && !isPlanStatus(status)) {
    const near = suggest(status, SHOWN_STATUSES)
    throw usage(
      `unknown plan status '${status}'`,
      near === null ? `one of ${SHOWN_STATUSES.join(', ')}` : `did you mean '${near}'?`,
    )
  }
  return await withState(context, { create: false }, async ({ engine }) => {
    const page = await engine.ask({
      type: 'plans',
      ...rest,
      archived,
      status,
    })
    const lines = context.settings.json ? [] : await planTable(context, engine, page.items)
    answer(context, page, () => (page.items.length === 0 ? 'no plans' : lines))
    if (page.next !== null) printNote(context, `more: planfold list${wordsOf(options)} --cursor ${page.next}`)
    if (archived === false && page.items.length === 0) {
      const hidden = await engine.ask({ type: 'plans', archived: true, limit: 1 })
      if (hidden.items.length > 0) printNote(context, 'archived plans are not listed. Next: planfold list --archived')
    }
    return EXIT.done
  })
}

/** As the table says them. */
const SHOWN_STATUSES = PLAN_STATUSES.map(planWord)

/** What was asked for, for the next page. */
const wordsOf = ({ status, session, text, archived, all, limit }: ListOptions): string =>
  [
    ...(status === undefined ? [] : ['--status', status]),
    ...(session === undefined ? [] : ['--session', shellWord(session)]),
    ...(text === undefined ? [] : ['--text', shellWord(text)]),
    ...(archived === true ? ['--archived'] : []),
    ...(all === true ? ['--all'] : []),
    ...(limit === undefined ? [] : ['--limit', limit]),
  ]
    .map(word => ` ${word}`)
    .join('')
