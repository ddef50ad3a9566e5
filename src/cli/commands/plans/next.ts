// `planfold next [PLAN] [TASK]`: what can be worked on now and what is to be done; with --explain, why every other task cannot.
// Without a plan, of all plans that are open. With --claim, the first of them is claimed.

import type { TaskName } from '../../../domain/id.ts'

import type { Engine } from '../../../engine/engine.ts'
import { openPlans, type PlanOrTask } from '../../../operations/find-target.ts'
import { type NextSteps, nextSteps } from '../../../operations/next-step.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, usage, withState } from '../../command.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { symbol } from '../../terminal/paint.ts'
import { briefingLines, leftLines } from '../../text/briefing-text.ts'
import { hintText } from '../../text/hint-text.ts'
import { scopeWaitLines } from '../../text/wait-text.ts'

export interface NextOptions {
  readonly explain?: boolean
  readonly claim?: boolean
  readonly lease?: number
}

export async function next(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: NextOptions,
): Promise<number> {
  const { claim, lease, explain } = options
  if (claim === true && explain === true)
    throw usage('--claim and --explain cannot be used together', 'use one of them')
  if (claim !== true && lease !== undefined) throw usage('--lease needs --claim', 'add --claim')
  if (claim === true)
    return await (await import('../people/claim.ts')).claim(
      context,
      first,
      second,
      lease === undefined ? {} : { lease },
    )
  return await withState(context, { create: false }, async ({ engine }) => {
    const open = first === undefined ? await openPlans(engine, PLANS_MAX) : []
    const several = open.length > 1 ? open.map(({ id, name }) => ({ plan: id, name, task: null })) : null
    several?.sort((a, b) => (a.plan < b.plan ? -1 : 1))
    const targets = several ?? [await findPlanOrTask(engine, first, second, { looking: true })]
    const looks: Look[] = []
    for (const one of targets) looks.push(await look(engine, one, options))
    const [only] = looks
    if (
      several === null &&
      !context.settings.json &&
      only !== undefined &&
      only.ready.length + only.held.length === 0
    ) {
      const why = await look(engine, only, { explain: true })
      if (why.explained.length <= EXPLAINED_MAX) looks[0] = why
    }
    const all = <T>(of: (look: Look) => readonly T[]) =>
      looks.flatMap(each => of(each).map(item => ({ ...item, plan: each.plan, planName: each.name })))
    const explained = looks.some(each => each.explain) ? { explained: all(each => each.explained) } : {}
    const data = {
      ready: all(each => each.ready),
      briefings: all(each => each.briefings),
      held: all(each => each.held),
      ...explained,
    }
    answer(context, data, () => {
      const shown = looks.filter(each => several === null || each.explain || each.ready.length + each.held.length > 0)
      if (shown.length === 0) return ['no task is ready in any plan. Why: planfold next PLAN --explain']
      return shown.flatMap(each => [...(several === null ? [] : [each.name]), ...lines(context, each)])
    })
    return EXIT.done
  })
}

const EXPLAINED_MAX = 10
const PLANS_MAX = 500

interface Look extends PlanOrTask, NextSteps {
  readonly explain: boolean
  readonly isDraft: boolean
}

async function look(engine: Engine, target: PlanOrTask, options: { readonly explain?: boolean }): Promise<Look> {
  const { plan, task } = target
  const explain = options.explain === true || task !== null
  const isDraft = (await engine.ask({ type: 'summary', plan }))?.status === 'draft'
  return { ...target, explain, isDraft, ...(await nextSteps(engine, plan, { task, explain })) }
}

function lines(context: Context, look: Look): readonly string[] {
  const { name, task, explain, isDraft, ready, explained, held, briefings } = look
  const start = isDraft ? [context.paint.dim(`Next: planfold run ${name}`)] : []
  const visitOf = (of: TaskName): number => ready.find(card => card.name === of)?.visit ?? 0
  const briefed = (of: TaskName): readonly string[] =>
    briefings
      .filter(each => each.task === of)
      .flatMap(each => [
        ...briefingLines(each, context.paint),
        ...leftLines(each, { plan: name, visit: visitOf(of) }, context.paint),
      ])
  if (explain && task === null) return [...explainedLines(explained), ...start]
  if (explain)
    return [...explained.flatMap(each => [escapeForTerminal(hintText(each.why)), ...briefed(each.task)]), ...start]
  if (ready.length === 0 && held.length > 0) return scopeWaitLines(held, context.paint)
  if (ready.length === 0) return [`no task is ready. Why: planfold next ${name} --explain`]
  return ready.flatMap(card => {
    const how =
      card.action === 'external' ? `planfold claim ${name} ${card.name}` : `${card.action}, runs automatically`
    const title = card.title === null ? '' : `  ${escapeForTerminal(card.title)}`
    return [
      `${symbol(context.paint, card.status)} ${card.name}${title}  ${context.paint.dim(how)}`,
      ...briefed(card.name),
    ]
  })
}

export function explainedLines(explained: Look['explained']): readonly string[] {
  const groups = new Map<string, { line: string; readonly as: string; count: number }>()
  for (const { task, why } of explained) {
    const line = escapeForTerminal(hintText(why))
    const parent = /^(.+)\/\d+$/.exec(task)?.[1]
    const isAboutIt = parent !== undefined && line.startsWith(`'${task}' `)
    const as = isAboutIt ? `'${parent}/*' (# tasks)${line.slice(task.length + 2)}` : line
    const group = groups.get(as)
    if (group === undefined) groups.set(as, { line, as, count: 1 })
    else group.count++
  }
  return [...groups.values()].map(({ line, as, count }) => (count === 1 ? line : as.replace('#', String(count))))
}
