// Reads the journal of a plan page by page, verified. At a broken entry, everything before it is passed on first; then the fault is thrown,
// with the number of the entry.

import type { PlanId } from '../domain/id.ts'
import type { Engine } from '../engine/engine.ts'
import { type Revision, revisionsIn } from '../format/plan/revisions.ts'
import { ChainBroken, type Entry } from '../stores/store.ts'

const PAGE = 500

export async function* readJournal(
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  from: number,
): AsyncGenerator<readonly Entry[]> {
  for (let after = from; ; ) {
    const page = await pageOf(engine, plan, after)
    yield page.entries
    if (page.fault !== null) throw page.fault
    if (page.entries.length < PAGE) return
    after = page.entries.at(-1)!.version
  }
}

export async function readRevisions(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<readonly Revision[]> {
  const found: Revision[] = []
  for await (const entries of readJournal(engine, plan, 0)) found.push(...revisionsIn(entries))
  return found
}

async function pageOf(
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  after: number,
): Promise<{ readonly entries: readonly Entry[]; readonly fault: ChainBroken | null }> {
  try {
    return { entries: (await engine.ask({ type: 'entries', plan, after, limit: PAGE })) ?? [], fault: null }
  } catch (fault) {
    if (!(fault instanceof ChainBroken)) throw fault
    const sound = Math.min(PAGE, fault.version - 1 - after)
    if (sound <= 0) return { entries: [], fault }
    return { entries: (await engine.ask({ type: 'entries', plan, after, limit: sound })) ?? [], fault }
  }
}
