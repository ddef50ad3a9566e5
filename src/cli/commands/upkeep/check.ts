// `planfold doctor store`: proves that the hash chains hold, that the query tables equal the fold of every
// journal; with --read-data every stored blob is read too.

import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'

export async function check(context: Context, options: { readonly readData?: boolean }): Promise<number> {
  const { paint } = context
  return await withState(context, { create: false }, async ({ engine }) => {
    const report = await engine.ask({ type: 'check', ...options })
    answer(context, report, () => [
      `${report.ok ? paint.green('✔ store OK') : paint.red('✖ store damaged')}: ${many(report.plans, 'plan')}, ${many(report.entries, 'entry', 'entries')}, ${many(report.blobs, 'blob')} (${megabytes(report.bytes)})`,
      ...report.faults.flatMap(fault => [
        `  ${paint.red('fault')} ${fault.plan === null ? '' : `${escapeForTerminal(fault.plan)}: `}${escapeForTerminal(fault.what)}`,
        `  ${paint.cyan('hint')}: ${escapeForTerminal(fault.hint)}`,
      ]),
      ...(report.unread ?? []).map(
        ({ plan, why }) =>
          `  note  ${escapeForTerminal(plan)}: not damaged, but not checked any further: ${escapeForTerminal(why)}`,
      ),
    ])
    return report.ok ? EXIT.done : EXIT.failed
  })
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

const many = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`
