// `planfold list`: all plans, page by page.

import { isPlanStatus, PLAN_STATUSES } from '../../domain/status.ts'
import { suggest } from '../../domain/suggest.ts'
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
}

export async function list(context: Context, options: ListOptions): Promise<number> {
  const { status, ...rest } = options
  if (status !== undefined && !isPlanStatus(status)) {
    const near = suggest(status, PLAN_STATUSES)
    throw usage(
      `'${status}' is no status of a plan`,
      near === null ? `one of ${PLAN_STATUSES.join(', ')}` : `did you mean '${near}'?`,
    )
  }
  return await withState(context, { create: false }, async ({ engine }) => {
    const page = await engine.ask({ type: 'plans', ...rest, ...(status === undefined ? {} : { status }) })
    answer(context, page, () => (page.items.length === 0 ? 'no plans' : planTable(context, page.items)))
    if (page.next !== null) remark(context, `more: planfold list --cursor ${page.next}`)
    return EXIT.done
  })
}
