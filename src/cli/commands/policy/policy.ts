// `planfold policy show|allow|ask|deny|remove|log`: the policy in effect, and the user's own rules.

import { locate, modelsAt, tracesAddress } from '../../../compose.ts'
import { suggest } from '../../../domain/phrases.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type NetworkUse, networkWords } from '../../../domain/plan-rules/network.ts'
import { parseNetworkRule } from '../../../domain/plan-rules/network-rule.ts'
import { ruleWords } from '../../../domain/policy/command-rules.ts'
import type { PolicyLayer } from '../../../domain/policy/policy-layer.ts'
import { type Egress, egressOf, modelsIn } from '../../../operations/policy/egress.ts'
import {
  allowNetwork,
  type PlanNetwork,
  planNetwork,
  removeNetwork,
  setCommandRule,
  showNetwork,
} from '../../../operations/policy/network-rules.ts'
import { currentLayers, type PolicyLine, policyChanges, policyLines } from '../../../operations/policy/policy-report.ts'
import type { UserRulesPlace } from '../../../safety/network/user-rules.ts'
import type { Person } from '../../../safety/policy/policy-log.ts'
import type { Answer } from '../../../safety/safety-refusal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, notFound, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { callerName } from '../../open-state.ts'
import { table } from '../../terminal/table.ts'
import { partText } from '../../text/hint-text.ts'

export interface RuleOptions {
  readonly project?: true
}

export interface ShowOptions {
  readonly egress?: true
}

export async function showPolicy(context: Context, word?: string, { egress }: ShowOptions = {}): Promise<number> {
  const place = placeOf(context)
  const { file, rules } = done(await showNetwork(place))
  const found = word === undefined ? null : await planOrCommand(context, word)
  const layers = found?.layers ?? (await layersAt(place))
  if (egress === true) return await showEgress(context, { place, rules, layers, plan: found })
  const plan = found === null ? null : { name: found.name, ...planNetwork(found.definition) }
  const policy = policyLines(layers, found?.definition ?? null)
  answer(context, { file, root: place.root, network: rules, policy, plan }, () => {
    const rows = [
      ...policy.filter(({ key, from }) => !isNetworkOfPlan(key, from)).map(lineRow),
      ...(plan === null ? [] : planRows(plan)),
      ...rules.map(({ rule, from }) => ['network', rule, `allowed by you, ${FROM[from]}`]),
    ]
    if (rows.length === 0) return NOTHING_SAID
    return table(context.paint, ['what', 'rule', 'where'], rows, context.terminal?.columns() ?? null)
  })
  return EXIT.done
}

const NOTHING_SAID = [
  'no policy files, and no rules of yours. The defaults apply:',
  '  sandbox   preferred: commands run in a sandbox where there is one',
  '  network   tasks without `network` reach any address',
  '  approval  risky tasks wait for a person',
  'Add a rule: planfold policy allow network ADDRESS',
]

async function layersAt(place: UserRulesPlace): Promise<readonly PolicyLayer[]> {
  const read = await currentLayers(place)
  if (!read.ok) {
    const { unreadablePolicy } = await import('../../../operations/policy/plan-surroundings.ts')
    const { refuseAround } = await import('../../plan-file.ts')
    refuseAround(null, await unreadablePolicy(place))
  }
  return done(read)
}

const isNetworkOfPlan = (key: string, from: PolicyLine['from']): boolean =>
  key.startsWith('network') && (from === 'plan' || from === 'task')

function lineRow({ key, value, from, file, line, task }: PolicyLine): readonly string[] {
  const at = file === undefined ? '' : ` ${file}${line === undefined ? '' : `:${line}`}`
  return [key, escapeForTerminal(value), task === undefined ? `${LAYERS[from]}${at}` : `task ${task}`]
}

const LAYERS = {
  organisation: 'organisation',
  user: 'you',
  project: 'project',
  plan: 'the plan',
  task: 'task',
} as const

interface FoundPlan {
  readonly name: string
  readonly definition: PlanDefinition
  /** As they were written down when it started; null while it is a draft. */
  readonly layers: readonly PolicyLayer[] | null
}

/** `show` may be left out, so a slip in the name of another command looks like a plan. */
async function planOrCommand(context: Context, word: string): Promise<FoundPlan> {
  return await planIn(context, word).catch(error => {
    const target = error instanceof CliError && error.code === 'not-found' ? suggest(word, COMMANDS) : null
    if (target === null) throw error
    throw usage(`there is no plan '${word}', and no command 'policy ${word}'`, `did you mean 'policy ${target}'?`)
  })
}

const COMMANDS = ['show', 'allow', 'ask', 'deny', 'remove', 'log']

async function planIn(context: Context, word: string): Promise<FoundPlan> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const [found, summary] = [
      await engine.ask({ type: 'definition', plan }),
      await engine.ask({ type: 'summary', plan }),
    ]
    if (found === null || summary === null) throw new Error(`the plan ${plan} has gone`)
    const layers = summary.status === 'draft' ? null : (found.policy ?? [])
    return { name, definition: found.definition, layers }
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

async function showEgress(
  context: Context,
  {
    place,
    rules,
    layers,
    plan,
  }: {
    readonly place: UserRulesPlace
    readonly rules: readonly { readonly rule: string; readonly from: 'user' | 'project' }[]
    readonly layers: readonly PolicyLayer[]
    readonly plan: FoundPlan | null
  },
): Promise<number> {
  const models = await modelsAt(place).list(plan === null ? [] : modelsIn(plan.definition))
  const traces = await tracesAddress(context.environment)
  const egress = egressOf({ plan: plan?.definition ?? null, layers, models, traces, rules })
  answer(context, { root: place.root, plan: plan?.name ?? null, egress }, () =>
    egress.length === 0
      ? 'nothing leaves this machine by what is configured here'
      : table(
          context.paint,
          ['what', 'address', 'sends', 'configured by'],
          egress.map(egressRow),
          context.terminal?.columns() ?? null,
        ),
  )
  return EXIT.done
}

const egressRow = ({ kind, address, sends, from, denied }: Egress): readonly string[] => [
  kind,
  escapeForTerminal(address),
  denied === undefined ? escapeForTerminal(sends) : `nothing: denied by ${denied}`,
  escapeForTerminal(from),
]

export async function logPolicy(context: Context): Promise<number> {
  const changes = done(await policyChanges(placeOf(context)))
  answer(context, { changes }, () =>
    changes.length === 0
      ? 'nobody has changed your rules yet'
      : table(
          context.paint,
          ['when', 'who', 'did', 'rule', 'where'],
          changes.map(({ at, by, did, what, rule, root }) => [
            new Date(at).toISOString().slice(0, 19).replace('T', ' '),
            escapeForTerminal(by),
            `${did} ${what}`,
            escapeForTerminal(rule ?? ''),
            root ?? FROM.user,
          ]),
          context.terminal?.columns() ?? null,
        ),
  )
  return EXIT.done
}

export type Ruled = 'network' | 'command'

export async function change(
  context: Context,
  how: 'allow' | 'ask' | 'deny' | 'remove',
  what: Ruled,
  words: readonly string[],
  options: RuleOptions,
): Promise<number> {
  const person = await personOf(context)
  if (what === 'command') {
    if (options.project === true) throw usage('rules about commands apply in all workspaces', 'leave --project out')
    return await changeCommand(context, how, words, person)
  }
  const [address, ...more] = words
  if (address === undefined || more.length > 0)
    throw usage(
      address === undefined ? 'which address?' : 'one address at a time',
      `planfold policy ${how} network https://example.org`,
    )
  return await (how === 'allow' ? allow : remove)(context, address, options)
}

async function changeCommand(
  context: Context,
  how: 'allow' | 'ask' | 'deny' | 'remove',
  rule: readonly string[],
  person: Person,
): Promise<number> {
  const changed = done(await setCommandRule(placeOf(context), { rule, into: how === 'remove' ? null : how, person }))
  const said = escapeForTerminal(ruleWords(rule))
  if (how === 'remove' && !changed)
    throw notFound(`you have no rule '${said}'`, 'see what there is: planfold policy show')
  const does = { allow: 'allowed', ask: 'asked about', deny: 'denied' } as const
  answer(context, { command: rule, rule: how === 'remove' ? null : how, changed }, () => {
    if (how === 'remove') return `removed the rule '${said}'`
    return changed ? `'${said}' is ${does[how]} for plans that start from now on` : `'${said}' was ${does[how]} already`
  })
  return EXIT.done
}

export async function allow(context: Context, address: string, { project }: RuleOptions): Promise<number> {
  const from = project === true ? 'project' : 'user'
  const person = await personOf(context)
  const changed = done(await allowNetwork(placeOf(context), { address, for: from, person }))
  answer(context, { address, for: from, changed }, () => {
    const said = `${escapeForTerminal(address)}${meaningOf(address)} in ${FROM[from]}`
    return changed ? `allowed ${said}` : `${said} was allowed already`
  })
  return EXIT.done
}

function meaningOf(address: string): string {
  const parsed = parseNetworkRule(address)
  if (!parsed.ok || parsed.rule.scheme !== 'any') return ''
  const { host, ports } = parsed.rule
  if (host.is === 'all') return ' (every host and port)'
  const whose = host.is === 'below' ? 'every host below it, ' : ''
  return ` (${whose}${ports === 'all' ? 'every port' : `port${ports.length === 1 ? '' : 's'} ${ports.join(' and ')}`})`
}

export async function remove(context: Context, address: string, { project }: RuleOptions): Promise<number> {
  const from = project === true ? 'project' : 'user'
  const person = await personOf(context)
  const changed = done(await removeNetwork(placeOf(context), { address, for: from, person }))
  if (!changed)
    throw notFound(`you have no rule '${address}' for ${FROM[from]}`, 'see what there is: planfold policy show')
  answer(context, { address, for: from, changed }, () => `removed ${escapeForTerminal(address)} for ${FROM[from]}`)
  return EXIT.done
}

export async function personOf({ cwd, environment, settings: { as, dir }, now }: Context): Promise<Person> {
  const by = await callerName({ cwd, environment, word: partText, create: false, dir, as })
  return { by, at: now() }
}

export function placeOf({ cwd, environment, settings }: Context): UserRulesPlace {
  return { environment, ...locate({ cwd, environment, dir: settings.dir }) }
}

export function done<T>(said: Answer<T>): T {
  if (said.ok) return said.value
  const { class: kind, message, hint } = said.failure
  throw kind === 'policy'
    ? new CliError(EXIT.refused, 'policy', message, hint)
    : new CliError(EXIT.usage, 'invalid', message, hint)
}
