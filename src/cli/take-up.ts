// `run FILE` again, told to whoever typed it; what happens is decided in operations/run-plan.ts.

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import { goOnWithPlan, onwardWords, type Revised, type RunRoom, runPlan, type WentOn } from '../operations/run-plan.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { remark } from './answer.ts'
import type { Context } from './context.ts'
import { refused, usage } from './exit.ts'
import { createOrder, type PlanFile } from './plan-file.ts'

export interface TakenUp {
  readonly plan: PlanId
  readonly name: string
  /** The version before we did anything to it; 0 for a new plan. */
  readonly since: number
}

/** What becomes of a plan that has ended, and of what happened in it and may not happen twice. */
export interface TakeUpOptions {
  readonly again?: boolean
  readonly repeat?: boolean
  readonly keepDone?: boolean
}

export async function takeUp(
  context: Context,
  composed: Composed,
  file: PlanFile,
  options: TakeUpOptions = {},
): Promise<TakenUp> {
  const run = await runPlan(roomOf(composed), {
    create: createOrder(file),
    rationale: `run ${file.path}`,
    ...(options.again === true ? { again: true } : {}),
    ...unsafeOf(options),
  })
  switch (run.how) {
    case 'refused':
      throw refused(run.refusal)
    case 'afresh': {
      const { name, status } = run.was
      remark(context, `${name} has ended${status === null ? '' : ` (${status})`}; running it afresh as ${run.name}`)
      break
    }
    case 'revised':
      await tellRevision(context, `${file.path} has changed; ${run.name}`, run.revised)
      break
    case 'went-on':
      await tellOnward(context, run.name, run, file.path)
      break
    case 'made':
    case 'attached':
      break
    default:
      run satisfies never
  }
  const { plan, name, since } = run
  return { plan, name, since }
}

/** A plan that failed goes on as it is; says so. */
export async function goOn(
  context: Context,
  composed: Composed,
  { plan, name }: Pick<TakenUp, 'plan' | 'name'>,
  options: TakeUpOptions = {},
): Promise<void> {
  const went = await goOnWithPlan(roomOf(composed), plan, { rationale: `run ${name}`, ...unsafeOf(options) })
  if (!went.ok) throw refused(went.refusal)
  await tellOnward(context, name, went, null)
}

const roomOf = ({ engine, actor }: Composed): RunRoom => ({
  ask: query => engine.ask(query),
  submit: (plan, order, options) => engine.submit(plan, order, actor, options),
})

function unsafeOf({ repeat, keepDone }: TakeUpOptions): { readonly unsafe?: 'repeat' | 'keep' } {
  if (repeat === true && keepDone === true)
    throw usage('--repeat and --keep-done contradict each other', 'say one of them')
  return repeat === true ? { unsafe: 'repeat' } : keepDone === true ? { unsafe: 'keep' } : {}
}

async function tellOnward(context: Context, name: string, { revised, counts }: WentOn, path: string | null) {
  if (revised !== null) await tellRevision(context, `${path ?? 'it'} has changed; ${name}`, revised)
  remark(context, `plan ${name} failed; going on with it: ${onwardWords(counts)}`)
}

async function tellRevision(context: Context, what: string, { from, before, after }: Revised): Promise<void> {
  const { diffDefinitions, printDiff } = await import('../format/diff.ts')
  remark(context, `${what} becomes revision ${from + 1}:`)
  remark(
    context,
    escapeForTerminal(printDiff(diffDefinitions(before, after)), { keepLines: true }).replace(/^/gm, '  '),
  )
}
