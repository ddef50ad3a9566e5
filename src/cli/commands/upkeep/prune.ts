// `planfold prune`: removes archived plans older than a while, with their journals, output and unreachable blobs. With
// --archive the plans that ended before then are archived first.

import type { Composed } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { unadoptedForks } from '../../../operations/adopt-fork.ts'
import type { PlanRow } from '../../../stores/store.ts'
import { answer } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { EXIT } from '../../exit.ts'
import { submit } from '../../order.ts'

export interface PruneOptions {
  /** An age, in milliseconds. */
  readonly before: number
  readonly dryRun?: boolean
  readonly archive?: boolean
}

const PAGE = 200

export async function prune(context: Context, options: PruneOptions): Promise<number> {
  const dryRun = options.dryRun === true
  return await withState(context, { create: false }, async composed => {
    const before = composed.now() - options.before
    const archived: string[] = []
    const ended = options.archive === true ? await endedBefore(composed, before) : []
    const { keep, unadopted } = await unadoptedForks(composed.engine, ended)
    for (const row of ended) {
      if (keep.has(row.id)) continue
      if (!dryRun) await submit(composed, row.id, { type: 'archive' })
      archived.push(row.name)
    }
    const pruned = await composed.engine.ask({ type: 'prune', before, dryRun })
    const verb = dryRun ? 'would be' : 'were'
    answer(context, { dryRun, archived, unadopted, ...pruned }, () => [
      ...unadopted.map(
        name => `${name} is a fork with unmerged work and was not archived. Next: planfold adopt ${name}`,
      ),
      ...(options.archive === true
        ? [
            archived.length === 0
              ? 'no plan to archive'
              : `${numberOf(archived.length, 'plan')} ${archived.length === 1 && !dryRun ? 'was' : verb} archived`,
          ]
        : []),
      pruned.plans + pruned.entries + pruned.blobs === 0
        ? 'nothing to remove'
        : `${numberOf(pruned.plans, 'plan')}, ${numberOf(pruned.entries, 'entry')}, ${numberOf(pruned.blobs, 'blob')} (${Math.ceil(pruned.bytes / 1024)} kB) ${verb} removed`,
      ...(pruned.moved === 0
        ? []
        : [`misplaced files of ${numberOf(pruned.moved, 'attempt')} ${verb} removed (.planfold/outside-scope)`]),
      ...(pruned.agentHomes === 0
        ? []
        : [`conversations of agents of ${numberOf(pruned.agentHomes, 'plan')} ${verb} removed (.planfold/agents)`]),
      ...(pruned.held === 0
        ? []
        : [
            `${numberOf(pruned.held, 'plan stays', 'plans stay')}: they have recent file backups (planfold restore PLAN)`,
          ]),
    ])
    return EXIT.done
  })
}

async function endedBefore({ engine }: Composed, before: number): Promise<readonly PlanRow[]> {
  const rows: PlanRow[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await engine.ask({
      type: 'plans',
      archived: false,
      limit: PAGE,
      cursor,
    })
    rows.push(...page.items.filter(row => row.endedAt !== null && row.endedAt < before && !row.archived))
    if (page.next === null) return rows
    cursor = page.next
  }
}
