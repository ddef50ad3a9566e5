// The options and help of the commands about what plans may do and use: policy, budget, secrets.

import { Argument, type Command, InvalidArgumentError } from 'commander'
import { PRICE_CURRENCY } from '../../../domain/budget/amounts.ts'
import { type Read, readAmount, readMoney, readSize } from '../../../format/text/units.ts'
import type { Act } from '../../context.ts'
import { count, duration, OPTIONAL_PLAN, PLAN } from '../option-values.ts'
import type { Ruled, RuleOptions } from './policy.ts'

export function addPolicy(program: Command, act: Act): void {
  const policy = program
    .command('policy')
    .description('show the policy in effect, or change your own rules for all plans')
    .addHelpText(
      'after',
      `
The policy has layers: organisation (/etc/planfold/policy.yaml), yours (~/.config/planfold/policy.json), project
(.planfold/config.yaml), plan, task. Each may only narrow what the layers before it leave. Addresses that you allow (policy allow network)
are no layer: they are added to the plan's own list, and the layers limit both; a task with \`network: []\` still reaches nothing.

In a rule about commands * stands for any characters of a word and ** for any further words; put them in quotes. Words that begin with
a dash come after --.

Examples:
  planfold policy show
  planfold policy show fetch-and-test
  planfold policy show --egress
  planfold policy allow network https://example.org
  planfold policy allow network tcp://127.0.0.1:5432 --project
  planfold policy remove network https://example.org
  planfold policy deny command sudo '**'
  planfold policy ask command -- git push --force '**'
  planfold policy log`,
    )
  const what = (...kinds: readonly Ruled[]): Argument =>
    new Argument('<kind>', 'what the rule is about: network (an address) or command').choices(kinds)

  policy
    .command('show', { isDefault: true })
    .description('show the policy in effect and where each line comes from; with a plan, including its own policy')
    .argument('[plan]', 'a plan, by name or UUID')
    .option('--egress', 'list what leaves this machine: models, webhooks, traces, addresses')
    .action(act(async () => (await import('./policy.ts')).showPolicy))

  const change = (how: 'allow' | 'ask' | 'deny' | 'remove') =>
    act(async () => {
      const { change } = await import('./policy.ts')
      return (context, what: Ruled, words: string[], options: RuleOptions) => change(context, how, what, words, options)
    })
  policy
    .command('allow')
    .description('add a rule of your own: allow an address or a command')
    .addArgument(what('network', 'command'))
    .argument(
      '[words...]',
      'example.org, https://host, http://host/path*, tcp://host:port, *.host; or the words of a command',
    )
    .option('--project', 'only for this workspace (default: for all)')
    .action(change('allow'))

  for (const [how, does] of [
    ['ask', 'a person is asked before it runs'],
    ['deny', 'it is never run'],
  ] as const)
    policy
      .command(how)
      .description(`add a rule of your own for a command: ${does}`)
      .addArgument(what('command'))
      .argument('[words...]', 'the words of the command')
      .action(change(how))

  policy
    .command('remove')
    .description('remove one of your rules')
    .addArgument(what('network', 'command'))
    .argument('[words...]', 'as `policy show` prints it')
    .option('--project', 'the rule of this workspace (default: the one for all)')
    .action(change('remove'))

  policy
    .command('log')
    .description('show who changed your rules, when and how')
    .action(act(async () => (await import('./policy.ts')).logPolicy))
}

export function addBudget(program: Command, act: Act): void {
  const budget = program
    .command('budget')
    .description('show the budget of a plan, spent and left, or raise it')
    .addHelpText(
      'after',
      `
\`policy.budget\` limits a plan; \`budget\` limits a group or a task. When a budget is used up, the plan pauses and
asks for more. Completed tasks stay completed; after \`budget add\`, \`planfold resume\` continues.

Examples:
  planfold budget
  planfold budget release --json
  planfold budget add release --cost '2 USD'
  planfold budget add release --task research --calls 20 --tokens 500k`,
    )

  budget
    .command('show', { isDefault: true })
    .description('show what is spent, reserved and left, and a forecast')
    .argument('[plan]', OPTIONAL_PLAN)
    .action(act(async () => (await import('./budget.ts')).showBudget))

  budget
    .command('add')
    .description('raise the budget of a plan, a group or a task')
    .argument('<plan>', PLAN)
    .option('--cost <money>', "money in US dollars, such as '2 USD'", unit(readDollars))
    .option('--tokens <number>', 'tokens of language models: 1500, 500k, 2M', unit(readAmount))
    .option('--calls <number>', 'calls to language models', count)
    .option('--attempts <number>', 'attempts', count)
    .option('--time <duration>', 'time while tasks run: 30m, 2h', duration)
    .option('--output <size>', 'stored output: 50MB', unit(readSize))
    .option('--task <name>', 'raise the budget of this group or task (default: of the plan)')
    .action(act(async () => (await import('./budget.ts')).addToBudget))
}

/** Prices are known in US dollars; another currency could not be added. */
function readDollars(text: string): ReturnType<typeof readMoney> {
  const read = readMoney(text)
  if (read.ok && read.value.currency === PRICE_CURRENCY) return read
  const message = `'${text}' is not an amount in ${PRICE_CURRENCY}`
  return { ok: false, message, hint: `write an amount in US dollars: '2 ${PRICE_CURRENCY}'` }
}

const unit =
  <T>(read: (text: string) => Read<T>) =>
  (text: string): T => {
    const value = read(text)
    if (value.ok) return value.value
    throw new InvalidArgumentError(`${value.hint[0]!.toUpperCase()}${value.hint.slice(1)}.`)
  }

export function addSecrets(program: Command, act: Act): void {
  const secrets = program
    .command('secrets')
    .description('configure where the secrets of tasks come from')
    .addHelpText(
      'after',
      `
A task with \`secrets: [NPM_TOKEN]\` gets the value in its environment; no other task does. Planfold stores only the source, in
~/.config/planfold/secrets.json (or XDG_CONFIG_HOME). The value is fetched when the task begins, and replaced by [redacted] in its output.

Examples:
  planfold secrets set NPM_TOKEN --env NPM_TOKEN
  planfold secrets set DEPLOY_KEY --file ~/.keys/deploy
  planfold secrets set API --command pass show work/api
  planfold secrets list`,
    )

  secrets
    .command('list', { isDefault: true })
    .description('list configured secrets and where each comes from')
    .action(act(async () => (await import('./secrets.ts')).listAll))

  secrets
    .command('set')
    .description('configure where a secret comes from')
    .argument('<name>', 'as plans name it')
    .option('--env <variable>', 'from an environment variable of the planfold process')
    .option('--file <path>', 'from a file that only you may read')
    .option('--command <words...>', 'from the output of a command')
    .action(act(async () => (await import('./secrets.ts')).set))

  secrets
    .command('remove')
    .description('remove a secret from this list; the secret itself stays where it is')
    .argument('<name>', 'as `secrets list` prints it')
    .action(act(async () => (await import('./secrets.ts')).remove))
}
