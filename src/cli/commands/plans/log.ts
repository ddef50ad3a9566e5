// `planfold log PLAN [TASK]`: what happened, line by line, from the journal; with --output what the task printed; with --add, a comment is added.

import { InvalidArgumentError } from 'commander'
import type { Composed } from '../../../compose.ts'
import type { Event } from '../../../domain/event.ts'
import { tasksOf } from '../../../domain/events/event-row.ts'
import type { Millis, PlanId, TaskName } from '../../../domain/id.ts'
import { isSetback, type Moment, timeline } from '../../../domain/views/timeline.ts'
import { readDuration } from '../../../format/text/units.ts'
import { readJournal } from '../../../operations/read-journal.ts'
import { escapeForTerminal, indentedLines } from '../../../safety/text/terminal.ts'
import type { Entry } from '../../../stores/store.ts'
import { answer, type Context, EXIT, envelope, printNote, usage, withDir, withState } from '../../command.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { Follower } from '../../live/follower.ts'
import { sendNotifications, submit } from '../../order.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'
import { stopping } from '../../terminal/interrupt.ts'
import { wordsFor } from '../../text/hint-text.ts'

// Since when: a while ago (`24h`), or a time that is written out (`2026-11-15`, `2026-11-15T08:30:00Z`).

export type Since = { readonly agoMs: number } | { readonly at: Millis }

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/

export function since(text: string): Since {
  const read = readDuration(text)
  if (read.ok) return { agoMs: read.value }
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('Write how long ago, e.g. 24h or 7d, or a time, e.g. 2026-11-15T08:30:00Z.')
  return { at }
}

export const momentOf = (when: Since, now: Millis): Millis => ('at' in when ? when.at : now - when.agoMs)

export interface LogOptions {
  readonly output?: boolean
  readonly follow?: boolean
  readonly after?: number
  readonly since?: Since
  readonly grep?: string
  readonly failed?: boolean
  readonly add?: boolean
  readonly message?: string
  readonly field?: string
  readonly line?: number
}

interface Selection {
  readonly plan: PlanId
  readonly name: string
  readonly task: TaskName | null
  readonly after: number
  readonly wants: (moment: Moment, event: Event) => boolean
}

export async function log(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: LogOptions,
): Promise<number> {
  if (options.add === true) return await addNote(context, first, second, options)
  const text = options.message !== undefined || options.field !== undefined || options.line !== undefined
  if (text) throw usage('-m, --field and --line need --add', 'add --add to add a comment')
  if (options.output === true && options.failed === true)
    throw usage('--failed and --output cannot be used together', 'use one of them, or name the failed task')
  return await withState(context, { create: false }, async composed => {
    const target = await findPlanOrTask(composed.engine, first, second, { removed: true, looking: true })
    const { plan, task } = target
    const removed = task === null ? null : await composed.engine.ask({ type: 'removed', plan, task })
    if (removed !== null)
      printNote(
        context,
        `'${removed.card.name}' was removed in revision ${removed.revision}; this is its log until then`,
      )
    const { after = 0, follow: stays = false, grep, since } = options
    const from = since === undefined ? null : momentOf(since, context.now())
    if (options.output === true) {
      const { output } = await import('../../drive.ts')
      return await output(context, composed, {
        plan,
        task,
        after,
        follow: stays,
        grep,
        ...(from === null ? {} : { since: from }),
      })
    }
    const wants = (moment: Moment, event: Event): boolean =>
      (from === null || moment.at >= from) &&
      (grep === undefined || holds(moment.text, grep) || holds(moment.actor, grep)) &&
      (options.failed !== true || isSetback(event))
    const selection: Selection = { ...target, after, wants }
    return stays ? await follow(context, composed, selection) : await past(context, composed, selection)
  })
}

async function addNote(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  { message, field, line }: LogOptions,
): Promise<number> {
  if (message === undefined) throw usage('--add needs the comment', "add -m 'the comment'")
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findPlanOrTask(composed.engine, first, second)
    const { name, version, events } = await submit(composed, plan, {
      type: 'note',
      text: message,
      ...(task === null ? {} : { task }),
      ...(field === undefined && line === undefined ? {} : { place: { field, line } }),
    })
    answer(
      context,
      { plan, name, version, events },
      () => `note added to ${name}${task === null ? '' : ` ${task}`}: ${indentedLines(message, 2)}`,
    )
    await sendNotifications(composed, plan)
    return EXIT.done
  })
}

const holds = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase())

async function past(context: Context, { engine }: Composed, selection: Selection): Promise<number> {
  const { plan, task } = selection
  const moments = []
  for await (const entries of readJournal(engine, plan, selection.after)) {
    if (context.settings.json) moments.push(...entries.flatMap(entry => momentsOf(entry, selection)))
    else tell(context, entries, selection)
    if (context.hangup.aborted) break
  }
  const removed = task === null ? null : await engine.ask({ type: 'removed', plan, task })
  answer(context, { items: moments, ...(removed === null ? {} : { removed: removed.revision }) }, () => [])
  return EXIT.done
}

async function follow(context: Context, { engine }: Composed, selection: Selection): Promise<number> {
  const { plan } = selection
  const stop = stopping(context)
  let end = (): void => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const follower = new Follower(engine, plan, selection.after, entry => {
    if (context.settings.json)
      for (const moment of momentsOf(entry, selection)) context.stdout.write(envelope({ data: moment }))
    else tell(context, [entry], selection)
    if (entry.events.some(event => event.type === 'plan.finished')) end()
  })
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary !== null && summary.endedAt !== null) await follower.reach(summary.version)
  else await Promise.race([ended, stop.stopped, follower.followed])
  await follower.close()
  stop.close()
  return EXIT.done
}

function tell(context: Context, entries: readonly Entry[], selection: Selection): void {
  const { paint } = context
  const lines = entries
    .flatMap(entry => momentsOf(entry, selection))
    .map(
      ({ at, version, actor, text }) =>
        `${paint.dim(`${String(version).padStart(4)} ${dateAndTime(at)}`)} ${withDir(context, indentedLines(text, 25))} ${paint.dim(`[${escapeForTerminal(actor === 'janitor' ? 'system' : actor)}]`)}\n`,
    )
  if (lines.length > 0) context.stdout.write(lines.join(''))
}

const momentsOf = (entry: Entry, { name, task, wants }: Selection) =>
  timeline(entry, wordsFor(name)).filter((moment, at) => {
    const event = entry.events[at]!
    return (task === null || moment.task === task || tasksOf(event).includes(task)) && wants(moment, event)
  })
