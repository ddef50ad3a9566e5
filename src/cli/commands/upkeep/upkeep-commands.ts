// The words for what is kept: formats, checks, bringing plans in and out, and clearing up.

import { Argument, type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import type { ExportOptions } from '../formats/export.ts'
import type { ImportOptions } from '../formats/import.ts'
import { duration } from '../option-values.ts'
import { NAME_KINDS, type NameKind, type Shell } from './completion.ts'
import type { PruneOptions } from './prune.ts'

const GROUP = 'Keep:'
const MONTH_MS = 30 * 24 * 60 * 60_000

export function addKeeping(program: Command, act: Act): void {
  program
    .command('schema')
    .helpGroup(GROUP)
    .description('the JSON Schema of plan documents')
    .option('--http', 'the OpenAPI document of the service instead')
    .action((options: { http?: boolean }) =>
      act(async context => (await import('../formats/formats.ts')).schema(context, options)),
    )

  program
    .command('check')
    .helpGroup(GROUP)
    .description('prove that what is stored is sound')
    .option('--read-data', 'read every stored blob, too')
    .action((options: { readData?: boolean }) =>
      act(async context => (await import('./check.ts')).check(context, options)),
    )

  program
    .command('formats')
    .helpGroup(GROUP)
    .description('the ways of writing a plan that are read and printed')
    .action(() => act(async context => (await import('../formats/formats.ts')).formats(context)))

  program
    .command('export')
    .helpGroup(GROUP)
    .description('a plan as a document of any dialect, or its journal as JSON lines')
    .argument('[plan]', 'its name or UUID')
    .option('--to <dialect>', 'yaml (the default), json, journal, or one of `planfold formats`')
    .option('--out <file>', 'where to write it, instead of here; a folder for dialects of several files')
    .option('--original', 'the text it was made of, verbatim')
    .option('--mirror [folder]', 'write the mirror of the plan, or of all plans, anew (plans)')
    .addOption(new Option('--format <dialect>', 'the same as --to').hideHelp())
    .addHelpText(
      'after',
      `
What a dialect has no words for is told on standard error; the statuses are those of now.`,
    )
    .action((word: string | undefined, options: ExportOptions) =>
      act(async context => (await import('../formats/export.ts')).exportPlan(context, word, options)),
    )

  program
    .command('import')
    .helpGroup(GROUP)
    .description('a plan of any dialect becomes a draft, its text kept as it is')
    .argument(
      '<file-or-folder>',
      'a plan document, a folder of Backlog.md, tables of a planner; - reads standard input',
    )
    .option('--from <dialect>', 'read it as this one of `planfold formats`')
    .option('--name <name>', 'the name of the plan, instead of its own')
    .option('--start', 'start it at once')
    .addHelpText(
      'after',
      `
Tasks that ended before stay ended. Tables (task_plans, task_executions, … as JSON or SQLite) become one plan for each row;
whatever is imported is only read.`,
    )
    .action((file: string, options: ImportOptions) =>
      act(async context => (await import('../formats/import.ts')).importPlan(context, file, options)),
    )

  program
    .command('prune')
    .helpGroup(GROUP)
    .description('remove archived plans, their journals and what nothing refers to')
    .addOption(
      new Option('--before <age>', 'only what is older, e.g. 30d').argParser(duration).default(MONTH_MS, '30d'),
    )
    .option('--archive', 'first archive plans that ended before then')
    .option('-n, --dry-run', 'only say what would be removed')
    .action((options: PruneOptions) => act(async context => (await import('./prune.ts')).prune(context, options)))

  program
    .command('completion')
    .helpGroup(GROUP)
    .description('a completion script for your shell')
    .addArgument(new Argument('<shell>', 'which one').choices(['bash', 'zsh', 'fish']))
    .action((shell: Shell) =>
      act(async context => (await import('./completion.ts')).completion(context, shell, program)),
    )

  // For completion scripts.
  program
    .command('names', { hidden: true })
    .description('names a shell may complete, one on each line')
    .addArgument(new Argument('<kind>', 'of what').choices(NAME_KINDS))
    .argument('[plan]', 'whose')
    .action((kind: NameKind, plan: string | undefined) =>
      act(async context => (await import('./completion.ts')).names(context, kind, plan)),
    )
}
