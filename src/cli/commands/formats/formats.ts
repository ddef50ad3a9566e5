// `planfold formats`: every way of writing a plan that is read here, and which of them are printed, too.

import { answer } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { EXIT } from '../../exit.ts'
import { table } from '../../terminal/table.ts'

export async function formats(context: Context): Promise<number> {
  const { DIALECTS } = await import('../../../format/dialects/dialect-list.ts')
  const { canonical } = await import('../../../format/dialects/canonical.ts')
  const all = [
    { name: canonical.name, about: canonical.about, reads: true, prints: true },
    ...DIALECTS.map(({ name, about, print }) => ({ name, about, reads: true, prints: print !== undefined })),
  ]
  const { paint, terminal } = context
  const rows = all.map(({ name, about, prints }) => [name, prints ? 'read, print' : 'read', about])
  answer(context, { formats: all }, () => table(paint, ['name', 'can', 'about'], rows, terminal?.columns() ?? null))
  return EXIT.done
}
