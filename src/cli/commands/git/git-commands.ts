// The words for the repository: asking for a merge, and finding the culprit.

import type { Command } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, duration } from '../option-values.ts'
import type { BisectOptions } from './bisect.ts'
import type { PrOptions } from './pr.ts'

const GROUP = 'Git:'

export function addRepository(program: Command, act: Act): void {
  program
    .command('pr')
    .helpGroup(GROUP)
    .description('title and body of a pull request, from the journal and the branch of a plan')
    .argument('[plan]', 'its name or UUID; may be left out when only one plan is open')
    .option('--write <file>', 'write the text there instead of here')
    .option('--create', 'make it with gh, when gh is present; the branch must be pushed already')
    .option('--base <branch>', 'with --create: the branch it shall be merged into')
    .action((plan: string | undefined, options: PrOptions) =>
      act(async context => (await import('./pr.ts')).pr(context, plan, options)),
    )

  program
    .command('bisect')
    .helpGroup(GROUP)
    .description('find the first bad one among commits, settings or inputs; every try is a task of a plan')
    .argument('<command...>', 'what tells good from bad, after --')
    .option('--good <revision>', 'a commit that is good')
    .option('--bad <revision>', 'a later commit that is bad (HEAD)')
    .option('--toggle <name=value>', 'a variable to switch on, after those before it; repeat for more', collectValues)
    .option(
      '--inputs <file>',
      'one input on each line, in order: bad from the first bad one on; {} in the command, or PLANFOLD_INPUT, is the one to try',
    )
    .option('--timeout <duration>', 'how long one try may take', duration)
    .option('--again', 'try everything afresh, although the answer is known')
    .option('--keep', 'keep the scratch folder in which commits were tried')
    .addHelpText(
      'after',
      `
The command ends with 0 for good, 125 for cannot tell, anything else for bad. Commits are tried in a folder of their own; your
files stay as they are. It is a binary search: not every commit, variable or input is tried. It finds the first bad one when
all before it are good and all after it are bad; of inputs in no order it may miss bad ones. Killed or interrupted, the same words go on where they were.

  planfold bisect --good v1.2 --bad HEAD -- npm test
  planfold bisect --toggle CACHE=on --toggle FAST=1 -- ./check.sh
  planfold bisect --inputs cases.txt -- ./parse {}`,
    )
    .action((command: string[], options: BisectOptions) =>
      act(async context => (await import('./bisect.ts')).bisect(context, command, options)),
    )
}
