// `planfold import FILE`: a plan document becomes a draft. A journal is history, not a plan: it is refused.

import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, usage } from '../exit.ts'
import { submit } from '../order.ts'
import { readPlanFile } from '../plan-file.ts'

export async function importPlan(context: Context, file: string): Promise<number> {
  await refuseJournal(context, file)
  const { definition } = await readPlanFile(context, file)
  return await withState(context, { create: true }, async composed => {
    const { plan, name, version } = await submit(composed, null, { type: 'create', definition })
    answer(
      context,
      { plan, name, version, status: 'draft' },
      () => `${name} is a draft; start it with: planfold run ${name}`,
    )
    return EXIT.done
  })
}

async function refuseJournal(context: Context, file: string): Promise<void> {
  if (file === '-' || !/\.jsonl$/i.test(file)) return
  const { readText } = await import('../plan-file.ts')
  if (/^\{"position":\d+,"plan":/.test((await readText(context, file)).slice(0, 100))) {
    throw usage(
      `${file} is an exported journal, not a plan`,
      'import a plan document; a plan with this content: planfold export PLAN --format yaml',
    )
  }
}
