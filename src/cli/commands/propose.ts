// `planfold propose PLAN FILE -m WHY`: a rewritten plan that becomes the next revision when somebody agrees to it. What would change
// is told; with --dry-run nothing else happens.

import type { MergeMode } from '../../domain/merge.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { printDiagnostics } from '../diagnostics.ts'
import { EXIT } from '../exit.ts'
import { meantPlan, meantTask } from '../meant.ts'
import { submit, tellPeople } from '../order.ts'
import { currentOf, prepare, told } from './revise.ts'
import { readRevision } from './revise-text.ts'

export interface ProposeOptions {
  readonly merge?: boolean
  readonly message: string
  /** What was observed. */
  readonly cause?: string
  /** The task it is about. */
  readonly task?: string
  readonly expectRevision?: number
  readonly dryRun?: boolean
}

export async function propose(context: Context, word: string, file: string, options: ProposeOptions): Promise<number> {
  const mode: MergeMode = options.merge === true ? 'merge' : 'replace'
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const plan = await meantPlan(engine, word)
    const current = await currentOf(engine, plan, options)
    const written = await readRevision(context, file, current.definition, mode)
    for (const line of printDiagnostics(context.paint, written.warnings)) remark(context, line)
    const revision = await prepare(current, written, mode, {})
    const { definition, hash, diff, summary, fates } = revision
    const data = { plan: plan.plan, name: plan.name, on: current.revision, hash, summary, diff, fates }
    if (options.dryRun === true) {
      answer(context, { dryRun: true, ...data }, () => [
        ...told(context, revision),
        context.paint.dim('nothing was written'),
      ])
      return EXIT.done
    }
    const task = options.task === undefined ? {} : { task: (await meantTask(engine, plan.name, options.task)).task }
    const { events } = await submit(composed, plan.plan, {
      type: 'propose',
      definition,
      rationale: options.message,
      source: written.source,
      expectedRevision: current.revision,
      ...(options.cause === undefined ? {} : { cause: options.cause }),
      ...task,
    })
    const made = events.find(event => event.type === 'revision.proposed')
    const taken = events.find(event => event.type === 'plan.revised')
    const waiting = (await engine.ask({ type: 'proposals', plan: plan.plan })) ?? []
    const same = waiting.find(card => card.hash === hash && card.fate.status === 'waiting')
    const id = made?.id ?? same?.id ?? null
    answer(context, { ...data, id, revision: taken?.revision ?? null, accepted: taken !== undefined }, () => [
      taken !== undefined
        ? `${plan.name} is now revision ${taken.revision}: its policy takes proposals by itself`
        : made !== undefined
          ? `proposed as ${id}, for revision ${current.revision} of ${plan.name}: ${escapeForTerminal(summary)}`
          : `this very revision is proposed already, as ${id}`,
      ...told(context, revision).slice(1),
      ...(taken === undefined
        ? ['', `decide with: planfold accept ${plan.name} ${id}   or: planfold decline ${plan.name} ${id} -m 'why'`]
        : []),
    ])
    // Where nobody drives the plan, nobody else would tell whoever is to decide.
    await tellPeople(composed, plan.plan)
    return EXIT.done
  })
}
