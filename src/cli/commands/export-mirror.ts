// `planfold export [PLAN] --mirror`: writes the mirror of one plan, or of all, anew from the journal.

import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { clearStale, type MirrorOption, mirrorFolder, writeMirror } from '../mirror.ts'

const PAGE = 200

export async function exportMirror(context: Context, word: string | undefined, option: MirrorOption): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const folder = mirrorFolder(context, composed, option) ?? composed.root
    const plans = word === undefined ? await allPlans(composed) : [(await meantPlan(composed.engine, word)).plan]
    const files: string[] = []
    for (const plan of plans) {
      const file = await writeMirror(composed.engine, plan, folder)
      if (file !== null) files.push(file)
    }
    await clearStale(folder, context.now())
    answer(context, { folder, files }, () =>
      files.length === 0 ? 'there are no plans' : files.map(file => escapeForTerminal(file)),
    )
    return EXIT.done
  })
}

async function allPlans({ engine }: Composed): Promise<readonly PlanId[]> {
  const plans: PlanId[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await engine.ask({ type: 'plans', limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    plans.push(...page.items.map(row => row.id))
    if (page.next === null) return plans
    cursor = page.next
  }
}
