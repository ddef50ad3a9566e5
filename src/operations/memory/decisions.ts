// What people decided, in one plan or in all of them, newest first. Read from the journals, so nothing has to be kept up to date.

import type { PlanId } from '../../domain/id.ts'
import { type Decision, DecisionReader } from '../../domain/memory/decisions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { PlanRow } from '../../stores/store.ts'
import { readJournal } from '../read-journal.ts'

/** `id`: the name of the plan and the entry of its journal, as in `release@14`; further ones of that entry are numbered. */
export interface ListedDecision extends Decision {
  readonly id: string
  readonly plan: PlanId
  readonly name: string
}

type Asking = Pick<Engine, 'ask'>
interface Named {
  readonly id: PlanId
  readonly name: string
}

const PAGE = 200

/** The newest of all plans, at most `limit`. A plan that last changed before the oldest of them is not read. */
export async function latestDecisions(engine: Asking, limit: number): Promise<readonly ListedDecision[]> {
  const plans: PlanRow[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(engine, cursor)
    plans.push(...page.items)
    cursor = page.next
  }
  plans.sort((a, b) => b.updatedAt - a.updatedAt)
  let found: readonly ListedDecision[] = []
  for (const plan of plans) {
    if (found.length === limit && found.at(-1)!.at > plan.updatedAt) break
    found = newestFirst([...found, ...(await decisionsIn(engine, plan))]).slice(0, limit)
  }
  return found
}

const pageOf = (engine: Asking, cursor: string) =>
  engine.ask({ type: 'plans', limit: PAGE, ...(cursor === '' ? {} : { cursor }) })

/** Of one plan, newest first. */
export async function decisionsIn(engine: Asking, { id: plan, name }: Named): Promise<readonly ListedDecision[]> {
  const reader = new DecisionReader()
  const found: ListedDecision[] = []
  for await (const entries of readJournal(engine, plan, 0))
    for (const entry of entries)
      for (const [at, decision] of reader.read(entry).entries())
        found.push({ ...decision, id: `${name}@${entry.version}${at === 0 ? '' : `.${at + 1}`}`, plan, name })
  return newestFirst(found)
}

const newestFirst = (decisions: readonly ListedDecision[]): readonly ListedDecision[] =>
  decisions.toSorted((a, b) => b.at - a.at || b.entry - a.entry)
