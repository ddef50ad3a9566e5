// `planfold schema`: the JSON Schema of the plan document, for editors.

import { answer } from '../answer.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit.ts'

export async function schema(context: Context): Promise<number> {
  const { planJsonSchema } = await import('../../format/json-schema.ts')
  const schema = planJsonSchema()
  answer(context, schema, () => JSON.stringify(schema, null, 2))
  return EXIT.done
}
