// `planfold schema`: the schema of plan files, or the document of the service.

import { answerDocument, type Context, EXIT } from '../../command.ts'
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
  const [{ openApi }, { listRoutes }] = await Promise.all([
    import('../../../server/api-docs/openapi.ts'),
    import('../../../server/routes/route-list.ts'),
  ])
  return openApi(await listRoutes(), { version: VERSION })
}
