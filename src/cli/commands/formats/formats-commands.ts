// The options and help of `planfold template list | show | new | save`.

import type { Command } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues } from '../option-values.ts'

export function addTemplates(program: Command, act: Act): void {
  const template = program.command('template').description('list, show, fill in or save plan templates')

  template
    .command('list')
    .description('list built-in templates and your own')
    .action(act(async () => (await import('./template-list.ts')).templateList))

  template
    .command('show')
    .description('show a template: purpose, parameters and plan file')
    .argument('<name>', 'name of the template')
    .option('--parameters', 'show only the parameters')
    .action(act(async () => (await import('./template-list.ts')).templateShow))

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
    .action(act(async () => (await import('./template-new.ts')).templateNew))

  template
    .command('save')
    .description('save a plan as a template of your own')
    .argument('<plan>', 'name or UUID of a plan, or a plan file')
    .option('--name <name>', 'name of the template')
    .option('--parameter <name=value>', 'turn this value into a parameter; repeat for more', collectValues)
    .option('--replace', 'overwrite a template of the same name')
    .action(act(async () => (await import('./template-save.ts')).templateSave))
}
