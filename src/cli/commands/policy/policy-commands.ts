// The options and help of `planfold policy`.

import { Argument, type Command } from 'commander'
import type { Act } from '../../context.ts'
import type { Ruled, RuleOptions } from './policy.ts'

export function addPolicy(program: Command, act: Act): void {
  const policy = program
    .command('policy')
    .description('show and change what you allow all plans to do')
    .addHelpText(
      'after',
      `
Your rules are kept in planfold/policy.json in your folder for settings, never in the workspace. They are added to what a plan allows
itself; a task with \`network: []\` still reaches nothing.

Examples:
  planfold policy show
  planfold policy show fetch-and-test
  planfold policy allow network https://example.org
  planfold policy allow network tcp://127.0.0.1:5432 --project
  planfold policy forbid network https://example.org
  planfold policy allow no-sandbox`,
    )
  const what = (): Argument =>
    new Argument('<what>', 'an address, or commands where there is no sandbox').choices(['network', 'no-sandbox'])

  policy
    .command('show', { isDefault: true })
    .description('list your rules, with a plan also its own, and where each comes from')
    .argument('[plan]', 'a plan, by name or UUID')
    .action((plan: string | undefined) => act(async context => (await import('./policy.ts')).showPolicy(context, plan)))

  policy
    .command('allow')
    .description('add a rule')
    .addArgument(what())
    .argument('[address]', 'example.org, example.org:8443, https://host, http://host/path*, tcp://host:port, *.host')
    .option('--project', 'only for this workspace (default: for all)')
    .action((what: Ruled, address: string | undefined, options: RuleOptions) =>
      act(async context => (await import('./policy.ts')).change(context, 'allow', what, address, options)),
    )

  policy
    .command('forbid')
    .description('take one of your rules back')
    .addArgument(what())
    .argument('[address]', 'as `policy show` prints it')
    .option('--project', 'the rule of this workspace (default: the one for all)')
    .action((what: Ruled, address: string | undefined, options: RuleOptions) =>
      act(async context => (await import('./policy.ts')).change(context, 'forbid', what, address, options)),
    )
}
