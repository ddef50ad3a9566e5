// `planfold init`: a place for plans, and an example plan to start from.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXAMPLE_PLAN } from '../example-plan.ts'

export async function init(context: Context): Promise<number> {
  return await withState(context, { create: true }, async ({ stateDir }) => {
    const plan = join(context.cwd, 'plan.yaml')
    const written = await writeNew(plan, EXAMPLE_PLAN)
    answer(context, { stateDir, plan: written ? plan : null }, () =>
      context.settings.quiet
        ? []
        : [
            `state in ${stateDir}`,
            written ? 'wrote plan.yaml, an example' : 'plan.yaml is there already; left as it is',
            '',
            'look at it:  planfold validate plan.yaml',
            'run it:      planfold run plan.yaml',
          ],
    )
    return 0
  })
}

/** Never overwrites; true when it wrote. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
