// `planfold prune`: removes archived plans older than a while, with their journals, output and unreachable blobs. With
// --archive the plans that ended before then are archived first. Files that appeared outside a scope may be a person's: they are named, and
// removed only after a yes.

import type { Composed } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { unadoptedForks } from '../../../operations/adopt-fork.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { MovedFiles, PlanRow } from '../../../stores/store.ts'
import { answer, type Context, EXIT, printNote, withState } from '../../command.ts'
import { submit } from '../../order.ts'
import { confirm } from '../../terminal/confirm.ts'

export interface PruneOptions {
  readonly before: number
  readonly dryRun?: boolean
  readonly archive?: boolean
  readonly yes?: boolean
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
    const looked = await composed.engine.ask({ type: 'prune', before, dryRun: true })
    const moved = movedLines(looked.moved)
    const isRemoved =
      moved.length > 0 && !dryRun && (options.yes === true || (await askedToRemove(context, moved, looked.moved)))
    const pruned = await composed.engine.ask({ type: 'prune', before, dryRun, ...(isRemoved ? { moved: true } : {}) })
    const verb = dryRun ? 'would be' : 'were'
    answer(context, { dryRun, archived, unadopted, ...pruned, moved: { ...pruned.moved, removed: isRemoved } }, () => [
      ...unadopted.map(
        name => `${name} is a fork with unmerged work and was not archived. Next: planfold fork adopt ${name}`,
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
      ...(moved.length === 0
        ? []
        : isRemoved
          ? ['removed from .planfold/outside-scope:', ...moved]
          : ['not removed from .planfold/outside-scope, because they may be yours (--yes removes them):', ...moved]),
      ...(pruned.agentHomes === 0
        ? []
        : [`conversations of agents of ${numberOf(pruned.agentHomes, 'plan')} ${verb} removed (.planfold/agents)`]),
      ...(pruned.held === 0
        ? []
        : [
            `${numberOf(pruned.held, 'plan stays', 'plans stay')}: they have recent file backups (planfold undo files PLAN) or artifacts that are kept forever (planfold artifact list PLAN)`,
          ]),
    ])
    return EXIT.done
  })
}

function movedLines({ files, more }: MovedFiles): readonly string[] {
  const named = files.map(file => `  ${escapeForTerminal(file)}`)
  return more === 0 ? named : [...named, `  … and ${more} more`]
}

async function askedToRemove(
  context: Context,
  lines: readonly string[],
  { files, more }: MovedFiles,
): Promise<boolean> {
  if (context.terminal === null || context.settings.json) return false
  printNote(context, ['files that appeared outside the write scope of a task, perhaps yours:', ...lines].join('\n'))
  return await confirm(
    context,
    `remove ${numberOf(files.length + more, 'file')} from .planfold/outside-scope for good?`,
  )
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
