// `planfold log PLAN [TASK]`: what happened, line by line, from the journal; with --output what the task printed.

import type { Composed } from '../../compose.ts'
import { tasksOf } from '../../domain/event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { timeline } from '../../domain/views/timeline.ts'
import { readJournal } from '../../operations/read-journal.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import type { Entry } from '../../stores/store.ts'
import { answer, envelope, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { dateAndTime } from '../elapsed.ts'
import { EXIT } from '../exit.ts'
import { Follower } from '../live/follower.ts'
import { meantPlanAndTask } from '../meant.ts'
import { stopping } from '../stopping.ts'

export interface LogOptions {
  readonly output?: boolean
  readonly follow?: boolean
  readonly after?: number
}

export async function log(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: LogOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantPlanAndTask(composed.engine, first, second, { removed: true })
    const removed = task === null ? null : await composed.engine.ask({ type: 'removed', plan, task })
    if (removed !== null)
      remark(
        context,
        `'${removed.card.name}' was removed in revision ${removed.revision}; this is what happened before`,
      )
    if (options.output === true) {
      const { output } = await import('../output.ts')
      return await output(context, composed, { plan, task, after: options.after ?? 0, follow: options.follow === true })
    }
    return options.follow === true
      ? await follow(context, composed, plan, task, options.after ?? 0)
      : await past(context, composed, plan, task, options.after ?? 0)
  })
}

async function past(
  context: Context,
  { engine }: Composed,
  plan: PlanId,
  task: TaskName | null,
  from: number,
): Promise<number> {
  const moments = []
  for await (const entries of readJournal(engine, plan, from)) {
    if (context.settings.json) moments.push(...entries.flatMap(entry => momentsOf(entry, task)))
    else tell(context, entries, task)
    if (context.hangup.aborted) break
  }
  const removed = task === null ? null : await engine.ask({ type: 'removed', plan, task })
  answer(context, { items: moments, ...(removed === null ? {} : { removed: removed.revision }) }, () => [])
  return EXIT.done
}

/** Until the plan ends, the reader goes away, or Ctrl-C. */
async function follow(
  context: Context,
  { engine }: Composed,
  plan: PlanId,
  task: TaskName | null,
  after: number,
): Promise<number> {
  const stop = stopping(context)
  let end = (): void => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const follower = new Follower(engine, plan, after, entry => {
    if (context.settings.json)
      for (const moment of momentsOf(entry, task)) context.stdout.write(envelope({ data: moment }))
    else tell(context, [entry], task)
    if (entry.events.some(event => event.type === 'plan.finished')) end()
  })
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary !== null && summary.endedAt !== null) await follower.reach(summary.version)
  else await Promise.race([ended, stop.stopped, follower.followed])
  await follower.close()
  stop.close()
  return EXIT.done
}

function tell(context: Context, entries: readonly Entry[], task: TaskName | null): void {
  const { paint } = context
  const lines = entries
    .flatMap(entry => momentsOf(entry, task))
    .map(
      ({ at, version, actor, text }) =>
        `${paint.dim(`${String(version).padStart(4)} ${dateAndTime(at)}`)} ${escapeForTerminal(text)} ${paint.dim(`[${escapeForTerminal(actor)}]`)}\n`,
    )
  if (lines.length > 0) context.stdout.write(lines.join(''))
}

const momentsOf = (entry: Entry, task: TaskName | null) =>
  timeline(entry).filter((moment, at) => {
    if (task === null || moment.task === task) return true
    return tasksOf(entry.events[at]!).includes(task)
  })
