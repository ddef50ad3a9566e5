// The words for looking back: was it so, how did two runs differ, and what if it had gone on otherwise.

import type { Command } from 'commander'
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
    .requiredOption('--from <where>', 'a task (where it had ended), a checkpoint, or the number of an entry')
    .option('--name <name>', 'of the new plan, instead of <plan>-fork')
    .option('--input <task.key=value>', 'another input for a task that is open there; may be repeated', several)
    .option('--revision <file>', 'another definition, in any format that `run` reads')
    .option('--model <model>', 'another model for open tasks that ask one')
    .option('--here', 'work in this workspace as it is, not in a folder of its own')
    .option('--start', 'start it at once, and watch')
    .action((plan: string, options: ForkOptions) =>
      act(async context => (await import('../commands/fork.ts')).fork(context, plan, options)),
    )
}
