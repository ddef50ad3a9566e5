// `planfold report [PLAN] [TASK] --status done|failed`: how the work on a claimed task went, with everything that is known about it, in
// one command. Without a task, the one that the caller has claimed. For agents that have no other tools than a shell.

import type { Composed } from '../../../compose.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { claimedTasks } from '../../../operations/agents/claimed-tasks.ts'
import { tickCriteria } from '../../../operations/agents/tick-criteria.ts'
import type { TaskTarget } from '../../../operations/find-target.ts'
import { reportTask, type WorkReport } from '../../../operations/report-task.ts'
import { answer, type Context, EXIT, refused, usage, withDir, withState } from '../../command.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { acceptedLines, remarkHowToGoOn, sendNotifications } from '../../order.ts'
import { type DoneOptions, outputsOf, remarkUnaccepted } from './claim.ts'

export interface ReportOptions extends DoneOptions {
  readonly status: 'done' | 'failed'
  readonly message?: string
  readonly tick?: readonly string[]
  readonly retryable?: boolean
  readonly mode?: string
}

export async function report(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: ReportOptions,
): Promise<number> {
  checkOptions(options)
  const { status, message, token, outcome, notMine, retryable, mode, tick = [] } = options
  const outputs = (await outputsOf(context, options)) ?? undefined
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const target = await reportedTask(composed, first, second)
    const { plan, task } = target
    const ticked = tick.length === 0 ? null : await tickCriteria(engine, target, tick, { evidence: message })
    if (ticked?.status === 'refused') throw refused(ticked.refusal)
    const work: WorkReport =
      status === 'done'
        ? { status, outcome, notMine, outputs: withEvidence(outputs, message) }
        : { status, mode, outputs, why: { message: message ?? '', retryable } }
    const done = await reportTask(engine, target, work, { token })
    if (done.status === 'refused') throw refused(done.refusal)
    const { accepted, unaccepted } = done
    const { name, version, events, claim } = accepted
    const isKept = unaccepted?.kept === true
    const again = `planfold report ${name} ${task} --status done${claim === undefined ? '' : ` --token ${claim.token}`}`
    const isMore = ((await engine.ask({ type: 'summary', plan }))?.claimable ?? 0) > 0
    const data = {
      plan,
      name,
      version,
      task,
      status,
      accepted: unaccepted === null,
      unmet: (unaccepted?.verdicts ?? []).filter(({ holds }) => holds === false),
      ticked: ticked?.criteria ?? [],
      card: await engine.ask({ type: 'task', plan, task }),
      events,
      claim,
      next: (isKept ? [again] : isMore ? [`planfold next ${name} --claim`] : []).map(line => withDir(context, line)),
    }
    answer(context, data, () => acceptedLines(accepted))
    if (isKept) await sendNotifications(composed, plan)
    else await remarkHowToGoOn(context, composed, plan)
    if (unaccepted === null) return EXIT.done
    remarkUnaccepted(context, unaccepted, { name, task, claim, again })
    return EXIT.failed
  })
}

const withEvidence = (outputs: JsonObject | undefined, evidence: string | undefined) =>
  evidence === undefined || outputs?.evidence !== undefined ? outputs : { ...outputs, evidence }

function checkOptions({ status, message, outcome, retryable, mode }: ReportOptions): void {
  if (status === 'failed' && message === undefined)
    throw usage('a failure report needs a message', "add -m 'what went wrong'")
  const others = status === 'failed' ? { '--outcome': outcome } : { '--retryable': retryable, '--mode': mode }
  const [odd] = Object.entries(others).find(([, value]) => value !== undefined) ?? []
  if (odd !== undefined)
    throw usage(`${odd} does not go with --status ${status}`, `leave ${odd} out, or report the other status`)
}

async function reportedTask(
  { engine }: Composed,
  first: string | undefined,
  second: string | undefined,
): Promise<TaskTarget> {
  const named = first === undefined ? null : await findPlanOrTask(engine, first, second)
  if (named !== null && named.task !== null) return { ...named, task: named.task }
  const { actor } = engine.caller
  const [only, ...others] = await claimedTasks(engine, [actor], named?.plan)
  if (only === undefined)
    throw usage(
      `${actor} has claimed no task${named === null ? '' : ` of '${named.name}'`}`,
      'name it: planfold report PLAN TASK; or act as who claimed it: --as NAME',
    )
  if (others.length > 0) {
    const tasks = [only, ...others].map(({ task }) => task)
    throw usage(
      `${actor} has claimed ${tasks.length} tasks: ${tasks.join(', ')}`,
      'name one: planfold report PLAN TASK',
    )
  }
  const name = named?.name ?? (await engine.ask({ type: 'summary', plan: only.plan }))?.name ?? only.plan
  return { plan: only.plan, name, task: only.task }
}
