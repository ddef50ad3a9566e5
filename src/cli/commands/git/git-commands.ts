// The options and help of `planfold bisect`.

import type { Command } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, duration } from '../option-values.ts'

export function addRepository(program: Command, act: Act): void {
  program
    .command('bisect')
    .description('find the first bad commit, setting or input by binary search')
    .argument('<command...>', 'command that tests one candidate, after --')
    .option('--good <revision>', 'a good commit')
    .option('--bad <revision>', 'a later, bad commit (default: HEAD)')
    .option('--toggle <name=value>', 'environment variable to switch on, in this order; repeat for more', collectValues)
    .option('--inputs <file>', 'file with one input per line; the command gets it as {} or PLANFOLD_INPUT')
    .option('--timeout <duration>', 'time limit of one test', duration)
    .option('--again', 'start over, even if the answer is known')
    .option('--keep', 'keep the scratch folder in which commits were tested')
    .addHelpText(
      'after',
      `
Exit code of the command: 0 = good, 125 = cannot tell, anything else = bad. Each test is a task of a plan. Commits are
checked out in a separate folder; your files do not change. The search assumes that everything before the first bad one
is good and everything after it is bad. Run the same command again to continue after an interrupt.

Examples:
  planfold bisect --good v1.2 --bad HEAD -- npm test
  planfold bisect --toggle CACHE=on --toggle FAST=1 -- ./check.sh
  planfold bisect --inputs cases.txt -- ./parse {}`,
    )
    .action(act(async () => (await import('./bisect.ts')).bisect))
}
