// The words for looking back: was it so, how did two runs differ, and what if it had gone on otherwise.

import type { Command } from 'commander'
import type { AdoptOptions } from '../commands/adopt.ts'
import type { CompareOptions } from '../commands/compare.ts'
import type { ForkOptions } from '../commands/fork.ts'
import type { Act } from '../program.ts'
import { several } from './values.ts'

const GROUP = 'Look back:'
const PLAN = 'its name or UUID'

export function addTime(program: Command, act: Act): void {
  program
    .command('replay')
    .helpGroup(GROUP)
    .description('prove a journal, decide every entry again and re-enact the plan; nothing is run or written')
    .argument('<plan>', PLAN)
    .action((plan: string) => act(async context => (await import('../commands/replay.ts')).replay(context, plan)))

  program
    .command('compare')
    .helpGroup(GROUP)
    .description('two plans side by side: definitions, outcomes, times, outputs')
    .argument('<a>', PLAN)
    .argument('<b>', PLAN)
    .option('--all', 'also the tasks that went the same way, however many')
    .action((a: string, b: string, options: CompareOptions) =>
      act(async context => (await import('../commands/compare.ts')).compare(context, a, b, options)),
    )

  program
    .command('fork')
    .helpGroup(GROUP)
    .description('go on from where a plan stood, as a new plan in a folder of its own; the old one stays as it is')
    .argument('<plan>', PLAN)
    .requiredOption('--from <where>', 'TASK (where it ended), before:TASK, a checkpoint, or the number of an entry')
    .option('--name <name>', 'of the new plan, instead of <plan>-fork')
    .option('--input <task.key=value>', 'another input for a task that is open there; may be repeated', several)
    .option('--revision <file>', 'another definition, in any format that `run` reads')
    .option('--model <model>', 'another model for open tasks that ask one')
    .option('--here', 'work in this workspace as it is, not in a folder of its own')
    .option('--start', 'start it at once, and watch')
    .action((plan: string, options: ForkOptions) =>
      act(async context => (await import('../commands/fork.ts')).fork(context, plan, options)),
    )

  program
    .command('adopt')
    .helpGroup(GROUP)
    .description('bring what a fork changed into the plan it was made from; shows the diff first, `undo` takes it back')
    .argument('<fork>', PLAN)
    .option('-n, --dry-run', 'only show what would happen')
    .option('-p, --patch', 'show the whole diff, however long')
    .option('--keep-mine <path>', 'leave what stands here; `all` for every such file; repeat for more', several)
    .option('--take-theirs <path>', "take the fork's, after storing what stands here; or `all`", several)
    .option('--merge <path>', 'join both where the text joins cleanly; or `all`', several)
    .option('--into <plan>', 'record it in another plan than the one it was forked from')
    .option('--keep-folder', 'leave the folder of the fork where it is')
    .option('--remove-ignored', 'remove the folder although it holds ignored files, such as node_modules')
    .addHelpText(
      'after',
      `
Examples:
  planfold adopt release-fork --dry-run             what it changed, and what would happen
  planfold adopt release-fork --merge notes.md      join with what changed here since
  planfold undo release                             take the adoption back

Where something changed here since the fork was made, nothing happens until you choose. The folder of the fork is removed
only when everything in it was taken or kept, and is stored. It works without the folder as well: the files of a fork are
stored when it ends.`,
    )
    .action((fork: string, options: AdoptOptions) =>
      act(async context => (await import('../commands/adopt.ts')).adopt(context, fork, options)),
    )
}
