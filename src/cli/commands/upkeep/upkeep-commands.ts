// The options and help of the commands for formats and maintenance: import, export, doctor, backup, copy, prune, completion.

import { Argument, type Command, Option } from 'commander'
import type { Act } from '../../context.ts'
import { collectValues, duration, OPTIONAL_PLAN } from '../option-values.ts'
import { NAME_KINDS, type Shell } from './completion.ts'

const CONFIDENTIAL = 'put the inputs and outputs of confidential tasks into a database, too'
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
    .action(act(async () => (await import('./doctor.ts')).check))
  doctor
    .command('capabilities')
    .description('list the kinds of tasks, with effects, risks and whether each works on this machine')
    .action(act(async () => (await import('./doctor.ts')).listCapabilities))

  program
    .command('migrate')
    .description('make the tables and roles of a PostgreSQL database, as its administrator')
    .addHelpText(
      'after',
      `
--database or PLANFOLD_DATABASE names the database; PGPASSWORD and ~/.pgpass are read. It can be run again at any time.`,
    )
    .action(act(async () => (await import('./migrate.ts')).migrate))

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

  const backup = program
    .command('backup')
    .description('write all plans to one file, verify such a file, or restore it into an empty store')
  backup
    .command('create')
    .description('write everything in the store to a new file; plans may run meanwhile')
    .argument('<file>', 'file to write')
    .action(act(async () => (await import('./backup.ts')).backupCreate))
  backup
    .command('verify')
    .description('read a backup from end to end: checksums, event logs, counts')
    .argument('<file>', 'file to read')
    .action(act(async () => (await import('./backup.ts')).backupVerify))
  backup
    .command('restore')
    .description('verify a backup, then fill an empty store with it')
    .argument('<file>', 'file to read')
    .option('--with-confidential', CONFIDENTIAL)
    .addHelpText('after', '\nThe files of a project are no part of it. `planfold undo files` brings back single files.')
    .action(act(async () => (await import('./backup.ts')).backupRestore))

  program
    .command('copy')
    .description('copy everything from one store to an empty one, and compare both')
    .requiredOption('--from <store>', 'a data folder or postgres://…')
    .requiredOption('--to <store>', 'a data folder or postgres://…')
    .option('--with-confidential', CONFIDENTIAL)
    .addHelpText(
      'after',
      `
Of a PostgreSQL store, the contents of files are in the data folder (--dir). Interrupted, the same command goes on.
A target that is not complete cannot be opened.`,
    )
    .action(act(async () => (await import('./backup.ts')).copy))

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

export function addTemplates(program: Command, act: Act): void {
  const template = program.command('template').description('list, show, fill in or save plan templates')

  template
    .command('list')
    .description('list built-in templates and your own')
    .action(act(async () => (await import('../formats/template-list.ts')).templateList))

  template
    .command('show')
    .description('show a template: purpose, parameters and plan file')
    .argument('<name>', 'name of the template')
    .option('--parameters', 'show only the parameters')
    .action(act(async () => (await import('../formats/template-list.ts')).templateShow))

  template
    .command('new')
    .description('create a plan file from a template')
    .argument('<name>', 'name of the template')
    .option('--set <key=value>', 'set a parameter; repeat for more, and for each item of a list', collectValues)
    .option('--set-file <key=path>', 'set a parameter to the content of a file', collectValues)
    .option('-o, --out <file>', 'write the plan file here (default: standard output)')
    .option('--name <name>', 'name of the plan (default: name of the file or the template)')
    .option('--run', 'run the plan at once')
    .option('-f, --force', 'overwrite an existing file')
    .action(act(async () => (await import('../formats/template-new.ts')).templateNew))

  template
    .command('save')
    .description('save a plan as a template of your own')
    .argument('<plan>', 'name or UUID of a plan, or a plan file')
    .option('--name <name>', 'name of the template')
    .option('--parameter <name=value>', 'turn this value into a parameter; repeat for more', collectValues)
    .option('--replace', 'overwrite a template of the same name')
    .action(act(async () => (await import('../formats/template-save.ts')).templateSave))
}
