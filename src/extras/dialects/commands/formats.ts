// `planfold import --formats`: the formats that can be imported, and which of them can be exported, too.

import { answer, type Context, EXIT } from '../../../cli/command.ts'
import { table } from '../../../cli/terminal/table.ts'
import { canonical } from '../../../format/plan/canonical.ts'
import { DIALECTS } from '../dialects.ts'

export async function formats(context: Context): Promise<number> {
  const all = [
    { name: canonical.name, about: canonical.about, reads: true, prints: true },
    ...DIALECTS.map(({ name, about, print }) => ({ name, about, reads: true, prints: print !== undefined })),
  ]
  const { paint, terminal } = context
  const rows = all.map(({ name, about, prints }) => [name, prints ? 'import, export' : 'import', about])
  answer(context, { formats: all }, () => table(paint, ['name', 'can', 'about'], rows, terminal?.columns() ?? null))
  return EXIT.done
}
