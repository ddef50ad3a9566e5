// The options and help of `planfold policy`.

import { Argument, type Command } from 'commander'
import type { Act } from '../../context.ts'
import type { Ruled, RuleOptions, ShowOptions } from './policy.ts'

export function addPolicy(program: Command, act: Act): void {
  const policy = program
    .command('policy')
    .description('show the policy in effect, or change your own rules for all plans')
    .addHelpText(
      'after',
      `
The policy has layers: organisation (/etc/planfold/policy.yaml), yours (~/.config/planfold/policy.json), project
(.planfold/config.yaml), plan, task. Each may only narrow what the layers before it leave. Addresses that you allow are added to what a
plan allows itself, never beyond the other layers; a task with \`network: []\` still reaches nothing.

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
    .action((plan: string | undefined, options: ShowOptions) =>
      act(async context => (await import('./policy.ts')).showPolicy(context, plan, options)),
    )

  policy
    .command('allow')
    .description('add a rule of your own: allow an address or a command')
    .addArgument(what('network', 'command'))
    .argument(
      '[words...]',
      'example.org, https://host, http://host/path*, tcp://host:port, *.host; or the words of a command',
    )
    .option('--project', 'only for this workspace (default: for all)')
    .action((what: Ruled, words: readonly string[], options: RuleOptions) =>
      act(async context => (await import('./policy.ts')).change(context, 'allow', what, words, options)),
    )

  for (const [how, does] of [
    ['ask', 'a person is asked before it runs'],
    ['deny', 'it is never run'],
  ] as const)
    policy
      .command(how)
      .description(`add a rule of your own for a command: ${does}`)
      .addArgument(what('command'))
      .argument('[words...]', 'the words of the command')
      .action((what: Ruled, words: readonly string[]) =>
        act(async context => (await import('./policy.ts')).change(context, how, what, words, {})),
      )

  policy
    .command('remove')
    .description('remove one of your rules')
    .addArgument(what('network', 'command'))
    .argument('[words...]', 'as `policy show` prints it')
    .option('--project', 'the rule of this workspace (default: the one for all)')
    .action((what: Ruled, words: readonly string[], options: RuleOptions) =>
      act(async context => (await import('./policy.ts')).change(context, 'remove', what, words, options)),
    )

  policy
    .command('log')
    .description('show who changed your rules, when and how')
    .action(() => act(async context => (await import('./policy.ts')).logPolicy(context)))
}
