// The words for templates: `planfold template list | show | new | save`.

import type { Command } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues } from '../option-values.ts'
import type { ShowOptions } from './template-list.ts'
import type { NewOptions } from './template-new.ts'
import type { SaveOptions } from './template-save.ts'

const GROUP = 'Make and drive plans:'

export function addTemplates(program: Command, act: Act): void {
  const template = program
    .command('template')
    .helpGroup(GROUP)
    .description('plans with gaps to fill in: list, show, new, save')

  template
    .command('list')
    .description('the stock templates and your own')
    .action(() => act(async context => (await import('./template-list.ts')).templateList(context)))

  template
    .command('show')
    .description('what a template is for, its parameters, and the document')
    .argument('<name>', 'its name')
    .option('--parameters', 'only the parameters')
    .action((name: string, options: ShowOptions) =>
      act(async context => (await import('./template-list.ts')).templateShow(context, name, options)),
    )

  template
    .command('new')
    .description('make a plan document of a template')
    .argument('<name>', 'the name of the template')
    .option('--set <key=value>', 'a parameter; repeat for more, and for the items of a list', collectValues)
    .option('--set-file <key=path>', 'a parameter from a file', collectValues)
    .option('-o, --out <file>', 'where to write it; standard output when left out')
    .option('--name <name>', "the plan's name, instead of the file's or the template's")
    .option('--run', 'run it at once')
    .option('-f, --force', 'write over a file that is there')
    .action((name: string, options: NewOptions) =>
      act(async context => (await import('./template-new.ts')).templateNew(context, name, options)),
    )

  template
    .command('save')
    .description('keep a plan as a template of your own')
    .argument('<plan>', 'its name or UUID, or a plan document')
    .option('--name <name>', "the template's name")
    .option('--parameter <name=value>', 'this value becomes a parameter; repeat for more', collectValues)
    .option('--replace', 'write over a template of this name')
    .action((plan: string, options: SaveOptions) =>
      act(async context => (await import('./template-save.ts')).templateSave(context, plan, options)),
    )
}
