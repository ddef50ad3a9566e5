// The words for what is kept: formats, checks, bringing plans in and out, and clearing up.

import { Argument, type Command, Option } from 'commander'
import type { ExportFormat } from '../commands/export.ts'
import type { PruneOptions } from '../commands/prune.ts'
import type { Shell } from '../completion.ts'
import type { Act } from '../program.ts'
import { duration } from './values.ts'

const GROUP = 'Keep:'
const MONTH_MS = 30 * 24 * 60 * 60_000

export function addKeeping(program: Command, act: Act): void {
  program
    .command('schema')
    .helpGroup(GROUP)
    .description('the JSON Schema of plan documents')
    .action(() => act(async context => (await import('../commands/schema.ts')).schema(context)))

  program
    .command('check')
    .helpGroup(GROUP)
    .description('prove that what is stored is sound')
    .option('--read-data', 'read every stored blob, too')
    .action((options: { readData?: boolean }) =>
      act(async context => (await import('../commands/check.ts')).check(context, options)),
    )

  program
    .command('export')
    .helpGroup(GROUP)
    .description('a plan as a document, or its journal as JSON lines')
    .argument('[plan]', 'its name or UUID')
    .addOption(new Option('--format <format>', 'what to write').choices(['yaml', 'json', 'journal']).default('yaml'))
    .action((word: string | undefined, options: { format: ExportFormat }) =>
      act(async context => (await import('../commands/export.ts')).exportPlan(context, word, options)),
    )

  program
    .command('import')
    .helpGroup(GROUP)
    .description('a plan document becomes a draft')
    .argument('<file>', 'a plan document; - reads standard input')
    .action((file: string) => act(async context => (await import('../commands/import.ts')).importPlan(context, file)))

  program
    .command('prune')
    .helpGroup(GROUP)
    .description('remove archived plans, their journals and what nothing refers to')
    .addOption(
      new Option('--before <age>', 'only what is older, e.g. 30d').argParser(duration).default(MONTH_MS, '30d'),
    )
    .option('--archive', 'first archive plans that ended before then')
    .option('-n, --dry-run', 'only say what would be removed')
    .action((options: PruneOptions) =>
      act(async context => (await import('../commands/prune.ts')).prune(context, options)),
    )

  program
    .command('completion')
    .helpGroup(GROUP)
    .description('a completion script for your shell')
    .addArgument(new Argument('<shell>', 'which one').choices(['bash', 'zsh', 'fish']))
    .action((shell: Shell) =>
      act(async context => (await import('../commands/completion.ts')).completion(context, shell, program)),
    )
}
