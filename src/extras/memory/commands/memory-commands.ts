// The options and help of `planfold memory set|get|search|forget`.

import { type Command, Option } from 'commander'
import { count, duration, PLAN } from '../../../cli/commands/option-values.ts'
import type { Act } from '../../../cli/context.ts'
import { commandAt } from '../../../cli/help.ts'
import { MEMORY_SCOPES } from '../../../domain/memory/memory-items.ts'

export function addCommands(program: Command, act: Act): void {
  const memory = commandAt(program, ['memory'])
  if (memory === null) throw new Error("bug: there is no command 'memory' to add to")
  const place = (command: Command, otherwise: string) =>
    command
      .addOption(new Option('--scope <scope>', `whose memory (default: ${otherwise})`).choices(MEMORY_SCOPES))
      .option('--plan <plan>', PLAN)

  const one = 'plan with --plan, else project'
  place(memory.command('set'), one)
    .description('remember a value under a key; in an agent, beyond its plan, ask a person to')
    .argument('<key>', 'for instance http3.key_claims')
    .argument('<value>', 'text; - reads it from standard input')
    .option('--parse', 'the value is JSON')
    .option('--task <task>', 'the task of the plan that it comes from')
    .option('--artifact <sha256>', 'the hash of the stored contents that it comes from')
    .addOption(new Option('--expires <time>', 'forget it after so long: 30d').argParser(duration))
    .action(act(async () => (await import('./memory.ts')).set))

  place(memory.command('get'), 'all, in this order')
    .description('show what is remembered under keys: of the plan, the project and you, in this order')
    .argument('<keys...>', 'the keys')
    .action(act(async () => (await import('./memory.ts')).get))

  place(memory.command('search'), 'all')
    .description('find what is remembered, by words; by meaning where your settings name a model for vectors')
    .argument('[text...]', 'what to look for (default: list everything, newest first)')
    .option('--words', 'only by words: ask no model')
    .addOption(new Option('--limit <number>', 'at most so many').argParser(count).default(20))
    .option('--page <page>', 'the page after another one, as it said')
    .action(act(async () => (await import('./memory.ts')).search))

  place(memory.command('forget'), one)
    .description('remove what is remembered under a key')
    .argument('<key>', 'the key')
    .action(act(async () => (await import('./memory.ts')).forget))
}
