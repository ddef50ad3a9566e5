// `planfold list`: all plans, page by page.

import { suggest } from '../../../domain/phrases.ts'
import { isPlanStatus, PLAN_STATUSES } from '../../../domain/status.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import type { PlanRow } from '../../../stores/store.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT, usage } from '../../exit.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { planWord, tint } from '../../terminal/paint.ts'
import { table } from '../../terminal/table.ts'

// Plans as a table, for `list` and `status`.

export function planTable(context: Context, plans: readonly PlanRow[]): readonly string[] {
  const { paint, terminal } = context
  const now = context.now()
  const rows = plans.map(plan => [
    { text: plan.name, tint: paint.bold },
    {
      text: plan.archived ? `${planWord(plan.status)}, archived` : planWord(plan.status),
      tint: tint(paint, plan.status),
    },
    `${plan.done}/${plan.tasks}`,
    ago(plan.updatedAt, now),
    plan.title ?? plan.goal ?? '',
  ])
  return table(paint, ['plan', 'status', 'done', 'changed', 'title'], rows, terminal?.columns() ?? null)
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
  if (all === true && options.archived === true) throw usage('--all and --archived contradict each other', 'say one')
  // As the table says it.
  const status = word === 'waiting' ? 'blocked' : word
  if (status !== undefined && !isPlanStatus(status)) {
    const near = suggest(status, SHOWN_STATUSES)
    throw usage(
      `'${status}' is no status of a plan`,
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
    answer(context, page, () => (page.items.length === 0 ? 'no plans' : planTable(context, page.items)))
    if (page.next !== null) printNote(context, `more: planfold list${wordsOf(options)} --cursor ${page.next}`)
    if (archived === false && page.items.length === 0) {
      const hidden = await engine.ask({ type: 'plans', archived: true, limit: 1 })
      if (hidden.items.length > 0)
        printNote(context, 'archived plans are not listed; see them with: planfold list --archived')
    }
    return EXIT.done
  })
}

/** As the table says them. */
const SHOWN_STATUSES = PLAN_STATUSES.map(status => (status === 'blocked' ? 'waiting' : status))

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
