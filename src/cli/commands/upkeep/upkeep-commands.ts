// The options and help of the commands for formats and maintenance: import, export, doctor, prune, completion.

import { Argument, type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { duration, OPTIONAL_PLAN } from '../option-values.ts'
import { NAME_KINDS, type Shell } from './completion.ts'

const MONTH_MS = 30 * 24 * 60 * 60_000

export function addKeeping(program: Command, act: Act): void {
  const doctor = program
    .command('doctor')
    .description('check this machine and the data folder, and say how to fix problems')
    .addHelpText(
      'after',
      `
It tests Node, SQLite, git, the sandbox, disk, clock, permissions and settings. Exit 1 if there is a problem;
exit 0 if there are only warnings.`,
    )
    .action(act(async () => (await import('./doctor.ts')).doctor))
  doctor
    .command('store')
    .description('check the stored data for corruption (like git fsck)')
    .option('--read-data', 'also read every stored file')
    .action(act(async () => (await import('./check.ts')).check))
  doctor
    .command('capabilities')
    .description('list the kinds of tasks, with effects, risks and whether each works on this machine')
    .action(act(async () => (await import('./capabilities.ts')).listCapabilities))

  program
    .command('export')
    .description('write a plan as a file in any format, or its event log as JSON lines')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--to <format>', 'yaml (default), json, journal (the event log), or one of `planfold import --formats`')
    .option('--out <file>', 'file to write, or folder for formats of several files (default: standard output)')
    .option('--original', 'print the original file, unchanged')
    .option(
      '--mirror [folder]',
      'rewrite the state file of this plan, or of all plans, in this folder (default: plans)',
    )
    .addOption(new Option('--format <format>', 'the same as --to').hideHelp())
    .option('--schema', 'only print the JSON Schema of plan files')
    .option('--http', 'with --schema: print the OpenAPI document of the server instead')
    .addHelpText(
      'after',
      `
Fields that the format cannot express are listed on standard error. Where the format has
statuses, they are the current ones; a plan file (YAML, JSON) has none.`,
    )
    .action(act(async () => (await import('../formats/export.ts')).exportPlan))

  program
    .command('prune')
    .description('delete archived plans and unused data')
    .addOption(
      new Option('--before <age>', 'only what is older than this').argParser(duration).default(MONTH_MS, '30d'),
    )
    .option('--archive', 'first archive plans that finished before that time')
    .option('-n, --dry-run', 'only show what would be removed')
    .option('-y, --yes', 'also remove files that appeared outside a write scope and were moved away; they may be yours')
    .action(act(async () => (await import('./prune.ts')).prune))

  program
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .action(
      act(async () => {
        const { completion } = await import('./completion.ts')
        return (context, shell: Shell) => completion(context, shell, program)
      }),
    )

  program
    .command('names', { hidden: true })
    .description('print names for shell completion, one per line')
    .addArgument(new Argument('<kind>', 'kind of name').choices(NAME_KINDS))
    .argument('[plan]', 'plan of the names')
    .action(act(async () => (await import('./completion.ts')).names))
}
