// `planfold list`: all plans, page by page.

import { isPlanStatus, PLAN_STATUSES } from '../../domain/status.ts'
import { suggest } from '../../domain/suggest.ts'
import { shellWord } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, usage } from '../exit.ts'
import { planTable } from '../plan-table.ts'

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
      ...(archived === undefined ? {} : { archived }),
      ...(status === undefined ? {} : { status }),
    })
    answer(context, page, () => (page.items.length === 0 ? 'no plans' : planTable(context, page.items)))
    if (page.next !== null) remark(context, `more: planfold list${wordsOf(options)} --cursor ${page.next}`)
    if (archived === false && page.items.length === 0) {
      const hidden = await engine.ask({ type: 'plans', archived: true, limit: 1 })
      if (hidden.items.length > 0)
        remark(context, 'archived plans are not listed; see them with: planfold list --archived')
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
