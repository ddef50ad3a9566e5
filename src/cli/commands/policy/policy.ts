// `planfold policy show|allow|forbid`: the user's own rules, and with a plan also what it says itself.

import { locate } from '../../../compose.ts'
import { type NetworkUse, networkWords } from '../../../domain/plan-rules/network.ts'
import {
  allowNetwork,
  forbidNetwork,
  type PlanNetwork,
  planNetwork,
  setWithoutSandbox,
  showNetwork,
} from '../../../operations/policy/network-rules.ts'
import type { UserRulesPlace } from '../../../safety/network/user-rules.ts'
import type { Answer } from '../../../safety/safety-refusal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { CliError, EXIT, notFound, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { table } from '../../terminal/table.ts'

export interface RuleOptions {
  readonly project?: true
}

export async function showPolicy(context: Context, word?: string): Promise<number> {
  const place = placeOf(context)
  const { file, rules, withoutSandbox } = done(await showNetwork(place))
  const plan = word === undefined ? null : await networkIn(context, word)
  answer(context, { file, root: place.root, network: rules, withoutSandbox, plan }, () => {
    const rows = [
      ...(plan === null ? [] : planRows(plan)),
      ...rules.map(({ rule, from }) => ['network', rule, FROM[from]]),
      ...(withoutSandbox ? [['no-sandbox', 'commands run where there is no sandbox', FROM.user]] : []),
    ]
    if (rows.length === 0) return 'no rules of yours. Add one: planfold policy allow network ADDRESS'
    return table(context.paint, ['what', 'allowed', 'where'], rows, context.terminal?.columns() ?? null)
  })
  return EXIT.done
}

async function networkIn(context: Context, word: string): Promise<PlanNetwork & { readonly name: string }> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const found = await engine.ask({ type: 'definition', plan })
    if (found === null) throw new Error(`the plan ${plan} has gone`)
    return { name, ...planNetwork(found.definition) }
  })
}

function planRows({ policy, tasks }: PlanNetwork): readonly (readonly string[])[] {
  const rows = (use: NetworkUse, where: string) => {
    const words = networkWords(use)
    return (words.length === 0 ? ['nothing'] : words).map(rule => ['network', rule, where])
  }
  return [
    ...(policy === null ? [['network', 'not declared', 'the plan']] : rows(policy, 'the plan')),
    ...tasks.flatMap(({ task, ...use }) => rows(use, `task ${task}`)),
  ]
}

const FROM = { user: 'all workspaces', project: 'this workspace' } as const

export type Ruled = 'network' | 'no-sandbox'

export async function change(
  context: Context,
  how: 'allow' | 'forbid',
  what: Ruled,
  address: string | undefined,
  options: RuleOptions,
): Promise<number> {
  if (what === 'no-sandbox') {
    if (address !== undefined || options.project === true)
      throw usage('this holds for the whole machine', `planfold policy ${how} no-sandbox`)
    return await withoutSandbox(context, how === 'allow')
  }
  if (address === undefined) throw usage('which address?', `planfold policy ${how} network https://example.org`)
  return await (how === 'allow' ? allow : forbid)(context, address, options)
}

async function withoutSandbox(context: Context, isAllowed: boolean): Promise<number> {
  const changed = done(await setWithoutSandbox(placeOf(context), isAllowed))
  answer(context, { withoutSandbox: isAllowed, changed }, () =>
    isAllowed
      ? 'commands of your own plans run with your permissions where there is no sandbox'
      : 'where there is no sandbox, the next plan asks first',
  )
  return EXIT.done
}

export async function allow(context: Context, address: string, { project }: RuleOptions): Promise<number> {
  const from = project === true ? 'project' : 'user'
  const changed = done(await allowNetwork(placeOf(context), { address, for: from }))
  answer(context, { address, for: from, changed }, () => {
    const said = `${escapeForTerminal(address)} in ${FROM[from]}`
    return changed ? `allowed ${said}` : `${said} was allowed already`
  })
  return EXIT.done
}

export async function forbid(context: Context, address: string, { project }: RuleOptions): Promise<number> {
  const from = project === true ? 'project' : 'user'
  const changed = done(await forbidNetwork(placeOf(context), { address, for: from }))
  if (!changed)
    throw notFound(`you have no rule '${address}' for ${FROM[from]}`, 'see what there is: planfold policy show')
  answer(context, { address, for: from, changed }, () => `took back ${escapeForTerminal(address)} in ${FROM[from]}`)
  return EXIT.done
}

export function placeOf({ cwd, environment, settings }: Context): UserRulesPlace {
  return { environment, ...locate({ cwd, environment, ...(settings.dir === undefined ? {} : { dir: settings.dir }) }) }
}

export function done<T>(said: Answer<T>): T {
  if (said.ok) return said.value
  const { class: kind, message, hint } = said.failure
  throw kind === 'policy'
    ? new CliError(EXIT.refused, 'policy', message, hint)
    : new CliError(EXIT.usage, 'invalid', message, hint)
}
