// `run FILE` again: the same content and still open is taken up again, changed content becomes a revision, and what has ended
// is run afresh as a clone (`name-2`) linked to its origin.

import type { Composed } from '../compose.ts'
import type { PlanId, PlanName } from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { PLAN_ENDED } from '../domain/status.ts'
import { definitionHash } from '../format/hash.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { remark } from './answer.ts'
import type { Context } from './context.ts'
import { Complaint, EXIT } from './exit.ts'
import { submit } from './order.ts'
import { createOrder, type PlanFile, sourceOf } from './plan-file.ts'

export interface TakenUp {
  readonly plan: PlanId
  readonly name: string
  /** The version before we did anything to it; 0 for a new plan. */
  readonly since: number
}

export async function takeUp(
  context: Context,
  composed: Composed,
  file: PlanFile,
  options: { readonly again?: boolean } = {},
): Promise<TakenUp> {
  const { definition } = file
  const latest = await latestOf(composed, definition.name)
  if (latest === null) {
    try {
      return await make(composed, file, null)
    } catch (error) {
      // Another process may have made it since we looked; then it is there for both of us.
      if ((await latestOf(composed, definition.name)) === null) throw error
      return await takeUp(context, composed, file, options)
    }
  }
  const summary = await composed.engine.ask({ type: 'summary', plan: latest.plan })
  if (summary === null || PLAN_ENDED.has(summary.status)) {
    if (summary !== null && summary.status !== 'completed' && options.again !== true)
      await refuseTwice(composed, latest, summary.status)
    const made = await make(composed, file, latest.plan)
    remark(
      context,
      `${latest.name} has ended${summary === null ? '' : ` (${summary.status})`}; running it afresh as ${made.name}`,
    )
    return made
  }
  const taken: TakenUp = { plan: latest.plan, name: latest.name, since: summary.version }
  // A clone bears another name; everything else decides whether it is the same plan.
  const named: PlanDefinition = { ...definition, name: latest.name as PlanName }
  const current = await composed.engine.ask({ type: 'definition', plan: latest.plan })
  // Items that were found while it ran stand in no text.
  const wanted = current === null ? named : keepItems(current.definition, named)
  if (current !== null && current.hash !== definitionHash(wanted))
    await revise(context, composed, taken, current, wanted, file)
  return taken
}

/** What may not happen twice and has happened is not run afresh because something after it failed. */
async function refuseTwice(
  composed: Composed,
  { plan, name }: { readonly plan: PlanId; readonly name: string },
  status: string,
): Promise<void> {
  const cards = (await composed.engine.ask({ type: 'board', plan })) ?? []
  const done = cards.filter(card => card.effect === 'unsafe' && card.status === 'completed')
  if (done.length === 0) return
  const failed = cards.find(card => card.status === 'failed')
  throw new Complaint(
    EXIT.refused,
    'not-allowed',
    `'${name}' ${status}, but ${done.map(card => `'${card.name}'`).join(', ')} happened and may not happen twice`,
    `${failed === undefined ? '' : `go on where it stopped: planfold retry ${name} ${failed.name}; `}to run everything once more: planfold run FILE --again`,
  )
}

async function revise(
  context: Context,
  composed: Composed,
  { plan, name }: TakenUp,
  current: { readonly definition: PlanDefinition; readonly revision: number },
  wanted: PlanDefinition,
  file: PlanFile,
): Promise<void> {
  const { path } = file
  const { diffDefinitions, printDiff } = await import('../format/diff.ts')
  remark(context, `${path} has changed; ${name} becomes revision ${current.revision + 1}:`)
  remark(
    context,
    escapeForTerminal(printDiff(diffDefinitions(current.definition, wanted)), { keepLines: true }).replace(/^/gm, '  '),
  )
  await submit(composed, plan, {
    type: 'revise',
    definition: wanted,
    rationale: `run ${path}`,
    source: sourceOf(file),
    expectedRevision: current.revision,
  })
}

async function make(composed: Composed, file: PlanFile, origin: PlanId | null): Promise<TakenUp> {
  const made = await submit(composed, null, {
    ...createOrder(file),
    ...(origin === null ? {} : { origin, taken: 'number' }),
  })
  return { plan: made.plan, name: made.name, since: 0 }
}

/** The plan of this name, or the last of the clones made from it. */
async function latestOf(
  composed: Composed,
  name: string,
): Promise<{ readonly plan: PlanId; readonly name: string } | null> {
  let latest = await composed.engine.ask({ type: 'find', reference: name })
  for (let number = 2; latest !== null; number++) {
    const next = await composed.engine.ask({ type: 'find', reference: `${name}-${number}` })
    if (next === null || !(await isClone(composed, next.plan))) break
    latest = next
  }
  return latest
}

async function isClone(composed: Composed, plan: PlanId): Promise<boolean> {
  const entries = await composed.engine.ask({ type: 'entries', plan, after: 0, limit: 1 })
  const created = entries?.[0]?.events.find(event => event.type === 'plan.created')
  return created?.origin !== undefined
}
