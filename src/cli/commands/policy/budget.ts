// `planfold budget [PLAN]` and `planfold budget add PLAN`: what is spent, reserved and left; and more of it.

import { amountsText, keyText } from '../../../domain/budget/budget-text.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Money } from '../../../domain/plan.ts'
import type { AnswerOf } from '../../../engine/engine.ts'
import { raiseOrder } from '../../../operations/policy/raise-budget.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, refused, withState } from '../../command.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { orderAndTell } from '../../order.ts'
import { table } from '../../terminal/table.ts'
import { stateNow } from '../../text/plan-state.ts'

type Report = NonNullable<AnswerOf<'budget'>>

export async function showBudget(context: Context, word: string | undefined): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const report = await engine.ask({ type: 'budget', plan })
    if (report === null) throw new Error(`the plan ${plan} has gone`)
    const state = context.settings.json ? null : await stateNow(engine, plan)
    answer(context, report, () => budgetLines(context, report, state?.words ?? report.status))
    return EXIT.done
  })
}

const NAMES = {
  cost: 'cost',
  tokens: 'tokens',
  calls: 'calls',
  attempts: 'attempts',
  timeMs: 'time',
  outputBytes: 'output',
} as const

function budgetLines(context: Context, report: Report, state: string): readonly string[] {
  const { blocks, used, assumed, asked, unpricedCalls } = report
  const rows = blocks.flatMap(({ task, lines, foreign }) => [
    ...lines.map(({ key, cap, spent, reserved, left }) => [
      task ?? 'plan',
      NAMES[key],
      keyText(key, cap),
      keyText(key, spent),
      key === 'timeMs' ? '' : keyText(key, reserved),
      keyText(key, left),
    ]),
    ...(foreign === null ? [] : [[task ?? 'plan', 'cost', foreign, 'not counted', '', 'prices are known in USD']]),
  ])
  const head = ['whose', 'what', 'limit', 'spent', 'reserved', 'left']
  return [
    `${escapeForTerminal(report.name)}: ${state}`,
    ...(rows.length === 0
      ? ['no budget. Write one into the plan file: policy: { budget: { cost: 2 USD, time: 1h } }']
      : table(context.paint, head, rows, context.terminal?.columns() ?? null)),
    ...(rows.length > 0 && !report.kept ? ['nothing is counted before the plan is started'] : []),
    ...(used === null || rows.length === 0 ? [] : [`used in all: ${amountsText(used)}`]),
    ...(assumed === undefined ? [] : [`of this, assumed because calls were interrupted: ${amountsText(assumed)}`]),
    ...(unpricedCalls === 0 ? [] : [`the cost of ${numberOf(unpricedCalls, 'call')} is not known and not in this`]),
    ...forecastLines(report),
    ...(asked === null
      ? []
      : ['', `waits for you: ${escapeForTerminal(asked.text)}`, ...nextLines(report.name, asked.id)]),
  ]
}

function forecastLines({ forecast: { tasks, unknown, samples, rest }, blocks }: Report): readonly string[] {
  if (tasks === 0) return []
  if (rest === null)
    return [`forecast: unknown; no similar task has been completed yet (${numberOf(tasks, 'task')} to do)`]
  const plan = blocks.find(({ task }) => task === null)
  const short = (plan?.lines ?? []).filter(({ key, left }) => (rest[key] ?? 0) > left && key !== 'timeMs')
  const but = unknown === 0 ? '' : `; ${numberOf(unknown, 'task')} of ${tasks} like no other, not included`
  return [
    `forecast of the rest: about ${amountsText(rounded(rest))}, from ${numberOf(samples, 'similar task')}${but}`,
    ...short.map(({ key, left }) => `the ${NAMES[key]} left (${keyText(key, left)}) will probably not be enough`),
  ]
}

function rounded(rest: NonNullable<Report['forecast']['rest']>): typeof rest {
  const { cost, ...others } = rest
  // Counted units are rounded to the nearest whole number.
  const whole = Object.fromEntries(
    Object.entries(others).map(([key, value]) => [
      key,
      key === 'attempts' || key === 'calls' ? Math.max(1, Math.round(value)) : Math.ceil(value),
    ]),
  )
  return { ...(cost === undefined ? {} : { cost: Math.ceil(cost * 1e4) / 1e4 }), ...whole }
}

const nextLines = (name: string, id: string): readonly string[] => [
  `Next: planfold answer ${name} ${id} more=yes`,
  `  or: planfold budget add ${name} …, see planfold budget add --help`,
]

export interface BudgetAddOptions {
  readonly cost?: Money
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  readonly time?: number
  readonly output?: number
  readonly task?: string
}

export async function addToBudget(context: Context, word: string, options: BudgetAddOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const { plan, name } = await findPlan(engine, word)
    const task = options.task === undefined ? null : (await findTask(engine, name, options.task)).task
    const { cost, tokens, calls, attempts, time: timeMs, output: outputBytes } = options
    const more = { cost, tokens, calls, attempts, timeMs, outputBytes }
    const order = raiseOrder(Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)), task)
    if ('code' in order) throw refused(order)
    await orderAndTell(context, composed, plan, order)
    return EXIT.done
  })
}
