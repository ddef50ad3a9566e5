// `planfold export --formats` and `--schema`: the formats that can be imported and exported, and the JSON Schemas.

import { answer, answerDocument, type Context, EXIT } from '../../command.ts'
import { table } from '../../terminal/table.ts'
import { VERSION } from '../../version.ts'

export async function schema(context: Context, { http }: { readonly http?: boolean } = {}): Promise<number> {
  const document = http === true ? await httpDocument() : await planDocument()
  answerDocument(context, document, () => JSON.stringify(document, null, 2))
  return EXIT.done
}

async function planDocument() {
  const { planJsonSchema } = await import('../../../format/plan/json-schema.ts')
  return planJsonSchema()
}

async function httpDocument() {
  const [{ openApi }, { ROUTES }] = await Promise.all([
    import('../../../server/api-docs/openapi.ts'),
    import('../../../server/routes/route-list.ts'),
  ])
  return openApi(ROUTES, { version: VERSION })
}

export async function formats(context: Context): Promise<number> {
  const { DIALECTS } = await import('../../../extras/dialects/dialect-list.ts')
  const { canonical } = await import('../../../extras/dialects/canonical.ts')
  const all = [
    { name: canonical.name, about: canonical.about, reads: true, prints: true },
    ...DIALECTS.map(({ name, about, print }) => ({ name, about, reads: true, prints: print !== undefined })),
  ]
  const { paint, terminal } = context
  const rows = all.map(({ name, about, prints }) => [name, prints ? 'import, export' : 'import', about])
  answer(context, { formats: all }, () => table(paint, ['name', 'can', 'about'], rows, terminal?.columns() ?? null))
  return EXIT.done
}
