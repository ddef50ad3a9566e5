// The words for looking back: was it so, and how did two runs differ.

import type { Command } from 'commander'
import type { CompareOptions } from '../commands/compare.ts'
import type { Act } from '../program.ts'

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
}
