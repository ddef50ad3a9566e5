// `planfold policy show|allow|forbid`: the user's own rules. Needs no plan and no store.

import { locate } from '../../../compose.ts'
import { allowNetwork, forbidNetwork, showNetwork } from '../../../operations/policy/network-rules.ts'
import type { UserRulesPlace } from '../../../safety/network/user-rules.ts'
import type { Answer } from '../../../safety/safety-refusal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { CliError, EXIT, notFound } from '../../exit.ts'
import { table } from '../../terminal/table.ts'

export interface RuleOptions {
  readonly project?: true
}

export async function showPolicy(context: Context): Promise<number> {
  const { file, rules } = done(await showNetwork(placeOf(context)))
  const { root } = placeOf(context)
  answer(context, { file, root, network: rules }, () => {
    if (rules.length === 0) return 'no rules of yours. Add one: planfold policy allow network ADDRESS'
    const rows = rules.map(({ rule, from }) => ['network', rule, FROM[from]])
    return table(context.paint, ['what', 'allowed', 'where'], rows, context.terminal?.columns() ?? null)
  })
  return EXIT.done
}

const FROM = { user: 'all workspaces', project: 'this workspace' } as const

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

function placeOf({ cwd, environment, settings }: Context): UserRulesPlace {
  return { environment, ...locate({ cwd, environment, ...(settings.dir === undefined ? {} : { dir: settings.dir }) }) }
}

function done<T>(said: Answer<T>): T {
  if (said.ok) return said.value
  const { class: kind, message, hint } = said.failure
  throw kind === 'policy'
    ? new CliError(EXIT.refused, 'policy', message, hint)
    : new CliError(EXIT.usage, 'invalid', message, hint)
}
