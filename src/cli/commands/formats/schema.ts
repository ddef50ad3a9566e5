// `planfold schema`: the JSON Schema of the plan document, for editors; or the OpenAPI document of the service, for clients.

import { answerDocument } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { EXIT } from '../../exit.ts'
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
