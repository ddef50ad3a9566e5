// `planfold list`: all plans, page by page.

import { suggest } from '../../../domain/phrases.ts'
import { isPlanStatus, PLAN_STATUSES } from '../../../domain/status.ts'
import type { AnswerOf } from '../../../engine/engine.ts'
import { openExtra } from '../../../extras.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, printNote, usage, withState } from '../../command.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { planWord, tint } from '../../terminal/paint.ts'
import { table } from '../../terminal/table.ts'

export function planTable(
  { paint, terminal, ...context }: Context,
  plans: AnswerOf<'overview'>['items'],
): readonly string[] {
  const now = context.now()
  const rows = plans.map(plan => [
    { text: plan.name, tint: paint.bold },
    { text: plan.archived ? `${plan.seen.word}, archived` : plan.seen.word, tint: tint(paint, plan.seen.sign) },
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
  readonly all?: boolean
  readonly goals?: true | string
}

export interface GoalList {
  /** Goals, or one of them. */
  listGoals(context: Context, goal: string | undefined, options: Omit<ListOptions, 'goals'>): Promise<number>
}

export async function list(context: Context, { goals, ...options }: ListOptions): Promise<number> {
  if (goals !== undefined) {
    const { listGoals } = await openExtra('planners')
    return await listGoals(context, goals === true ? undefined : goals, options)
  }
  const { status: word, all, archived = all === true ? undefined : false, ...rest } = options
  if (all === true && options.archived === true)
    throw usage('--all and --archived cannot be used together', 'use one of them')
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
      type: 'overview',
      ...rest,
      archived,
      status,
    })
    const lines = context.settings.json ? [] : planTable(context, page.items)
    answer(context, page, () => (page.items.length === 0 ? 'no plans' : lines))
    if (page.next !== null) printNote(context, `more: planfold list${wordsOf(options)} --cursor ${page.next}`)
    if (archived === false && page.items.length === 0) {
      const hidden = await engine.ask({ type: 'plans', archived: true, limit: 1 })
      if (hidden.items.length > 0) printNote(context, 'archived plans are not listed. Next: planfold list --archived')
    }
    return EXIT.done
  })
}

const SHOWN_STATUSES = PLAN_STATUSES.map(planWord)

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
