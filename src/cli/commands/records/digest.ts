// `planfold summary [PLAN…]`: progress and blockers since a time, of some plans or of all that are open or have moved. Nothing is
// written.

import type { Composed } from '../../../compose.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import type { Digest } from '../../../domain/views/digest.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { Page, PlanRow } from '../../../stores/store.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { ago, dateAndTime } from '../../terminal/elapsed-time.ts'
import { symbol, tint } from '../../terminal/paint.ts'
import { hintText } from '../../text/hint-text.ts'
import { askedWords, assignees } from '../../text/inbox-text.ts'
import { type ShownState, stateNow } from '../../text/plan-state.ts'
import { momentOf, type Since } from '../plans/log.ts'

export interface DigestOptions {
  readonly since: Since
}

const PAGE = 200
const SHOWN_MAX = 8

export async function digest(context: Context, words: readonly string[], options: DigestOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async composed => {
    const until = context.now()
    const since = momentOf(options.since, until)
    const plans =
      words.length === 0
        ? await moving(composed, since)
        : await Promise.all(words.map(async word => await findPlan(composed.engine, word)))
    const items: Digest[] = []
    const states = new Map<PlanId, ShownState>()
    const unreadable: { plan: PlanId; name: string; why: string }[] = []
    for (const { plan, name } of plans) {
      try {
        const summary = await composed.engine.ask({ type: 'digest', plan, since })
        const state = await stateNow(composed.engine, plan)
        if (summary === null || state === null) continue
        items.push(summary)
        states.set(plan, state)
      } catch (error) {
        // One damaged plan must not hide the others; named on the command line, it is reported as an error.
        if (!(error instanceof Error) || error.name !== 'StoreDamaged' || words.length > 0) throw error
        unreadable.push({ plan, name, why: error.message })
      }
    }
    answer(context, { since, until, items, unreadable }, () => [
      `since ${dateAndTime(since)}`,
      ...(items.length + unreadable.length === 0 ? ['nothing has happened, and no plan is open'] : []),
      ...items.flatMap(item => ['', ...digestLines(context, item, states.get(item.plan)!)]),
      ...unreadable.map(
        ({ name, why }) => `${context.paint.red('✖')} ${escapeForTerminal(name)}: ${escapeForTerminal(why)}`,
      ),
    ])
    return EXIT.done
  })
}

async function moving(
  { engine }: Composed,
  since: number,
): Promise<readonly { readonly plan: PlanId; readonly name: string }[]> {
  const found: PlanRow[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<PlanRow> = await engine.ask({
      type: 'plans',
      archived: false,
      limit: PAGE,
      ...(cursor === '' ? {} : { cursor }),
    })
    found.push(...page.items.filter(row => row.updatedAt >= since || isOpen(row)))
    cursor = page.next
  }
  return found.sort((a, b) => b.updatedAt - a.updatedAt).map(({ id, name }) => ({ plan: id, name }))
}

const isOpen = ({ status }: PlanRow): boolean => status === 'active' || status === 'blocked' || status === 'paused'

function digestLines(context: Context, summary: Digest, { word, sign }: ShownState): readonly string[] {
  const { paint } = context
  const now = context.now()
  const { progress } = summary
  const why =
    summary.reason === null || summary.reason === '' ? '' : paint.dim(` (${escapeForTerminal(summary.reason)})`)
  const line = (word: string, text: string): string => `  ${word.padEnd(10)} ${text}`
  const red = (word: string, text: string): string => `  ${paint.red(word.padEnd(10))} ${text}`
  const list = (word: string, tasks: readonly { readonly task: TaskName }[]): readonly string[] =>
    tasks.length === 0 ? [] : [line(word, few(tasks.map(({ task }) => task)))]
  return [
    `${symbol(paint, sign)} ${paint.bold(summary.name)} ${tint(paint, sign)(word)} ${progress.done}/${progress.total}${why}`,
    ...(summary.title === null ? [] : [`  ${escapeForTerminal(summary.title)}`]),
    ...list('completed', summary.completed),
    ...summary.failed.map(({ task, message, handled }) =>
      red('failed', `${task}: ${escapeForTerminal(message)}${handled ? paint.dim(' (handled)') : ''}`),
    ),
    ...list('skipped', summary.skipped),
    ...summary.setbacks.map(({ task, times, last }) =>
      line('again', `${task} failed or was interrupted ${times}×: ${escapeForTerminal(last)}`),
    ),
    ...summary.decided.map(({ task, verdict, by, rationale }) =>
      line(
        'decided',
        `${task} ${verdict} by ${escapeForTerminal(by)}${rationale === '' ? '' : `: ${escapeForTerminal(rationale)}`}`,
      ),
    ),
    ...summary.answered.map(({ text, by }) =>
      line('answered', `${escapeForTerminal(text)}: by ${escapeForTerminal(by)}`),
    ),
    ...summary.escalated.map(({ task, why, to }) =>
      red('escalated', `${task}: ${escapeForTerminal(to ?? 'somebody')} was called (${why})`),
    ),
    ...summary.untold.map(({ to, kind, failure }) =>
      red('untold', `${escapeForTerminal(to)}: ${kind}: ${escapeForTerminal(failure)}`),
    ),
    ...summary.revised.map(({ revision, by, rationale }) =>
      line('revised', `to ${revision} by ${escapeForTerminal(by)}: ${escapeForTerminal(rationale)}`),
    ),
    ...summary.rolledBack.map(({ how, by }) => line('rollback', `${how}, by ${escapeForTerminal(by)}`)),
    ...summary.running.map(({ task, since, by }) =>
      line(
        word === 'interrupted' && by === null ? word : 'running',
        `${task}${by === null ? '' : ` by ${escapeForTerminal(by)}`}${since === null ? '' : `, ${ago(since, now)}`}`,
      ),
    ),
    ...summary.waiting.map(item => {
      const whose = assignees(item)
      const who = whose.length === 0 ? '' : ` ${whose.join(', ')}`
      return `  ${paint.yellow('waits'.padEnd(10))} ${askedWords(item)}${who}, since ${ago(item.since, now)}`
    }),
    ...summary.blocked
      .slice(0, SHOWN_MAX)
      .map(({ why: because }) => red('blocked', escapeForTerminal(hintText(because)))),
    ...(summary.status === 'draft'
      ? [line('next', `not started: planfold run ${escapeForTerminal(summary.name)}`)]
      : summary.next.slice(0, SHOWN_MAX).map(({ why: because }) => line('next', escapeForTerminal(hintText(because))))),
  ]
}

const few = (names: readonly string[]): string =>
  names.length <= SHOWN_MAX
    ? names.join(', ')
    : `${names.slice(0, SHOWN_MAX).join(', ')} and ${names.length - SHOWN_MAX} more`
