// The words for changing what a plan says, and for looking at how it came to say it.

import { type Command, Option } from 'commander'
import type { ReviseOptions } from '../commands/revise.ts'
import type { ShowRevisionOptions } from '../commands/revisions.ts'
import type { Act } from '../program.ts'
import { count } from './values.ts'

const GROUP = 'Revise:'
const PLAN = 'its name or UUID'

/** Said twice, it means both. */
const together = (names: string, before?: string): string => (before === undefined ? names : `${before},${names}`)

export function addRevisions(program: Command, act: Act): void {
  program
    .command('revise')
    .helpGroup(GROUP)
    .description('a rewritten plan becomes the next revision of a plan that is there')
    .argument('<plan>', PLAN)
    .argument('[file]', 'the rewritten plan, in any format that can be read; - reads standard input')
    .addOption(new Option('--merge', 'keep tasks and keys the text does not mention').conflicts('replace'))
    .addOption(new Option('--replace', 'the text is the whole plan (the default)').conflicts('merge'))
    .option('-m, --rationale <text>', 'why; kept with the revision')
    .option('--expect-revision <n>', 'only if the plan is still at this revision', count)
    .option('--remove <tasks>', 'take tasks out; names with commas', together)
    .option('--order <tasks>', 'put these tasks first, in this order; names with commas', together)
    .addOption(new Option('--ids <ids>', 'call tasks plan-<name>-<nn>; for drafts').choices(['generated']))
    .option('-n, --dry-run', 'show what would change and what becomes of each task, and write nothing')
    .addHelpText(
      'after',
      `
Tasks are known by their id, else by the same title. What the run knows wins over what the text says: completed work stays
completed, and a text that calls a task done does not make it so. A failed task that is changed is tried again.`,
    )
    .action((plan: string, file: string | undefined, options: ReviseOptions) =>
      act(async context => (await import('../commands/revise.ts')).revise(context, plan, file, options)),
    )

  const revisions = program
    .command('revisions')
    .helpGroup(GROUP)
    .description('how a plan came to say what it says: list, show or diff its revisions')
  const word = (name: string, description: string, options: { readonly isDefault?: true } = {}): Command =>
    // Errors are told once, by main.
    revisions
      .command(name, options)
      .description(description)
      .configureOutput({ writeErr: () => {} })

  word('list', 'every revision: when, by whom, why, and what changed', { isDefault: true })
    .argument('[plan]', 'its name or UUID; may be left out when only one plan is open')
    .action((plan: string | undefined) =>
      act(async context => (await import('../commands/revisions.ts')).listRevisions(context, plan)),
    )
  word('show', 'one revision, the last when no number is given')
    .argument('<plan>', PLAN)
    .argument('[number]', 'its number', count)
    .addOption(new Option('--yaml', 'only the plan, as YAML').conflicts('original'))
    .addOption(new Option('--original', 'only the text it was written in, as it was'))
    .action((plan: string, number: number | undefined, options: ShowRevisionOptions) =>
      act(async context => (await import('../commands/revisions.ts')).showRevision(context, plan, number, options)),
    )
  word('diff', 'what changed between two revisions, the last two when none are named')
    .argument('<plan>', PLAN)
    .argument('[from]', 'the number of the earlier one', count)
    .argument('[to]', 'the number of the later one; the last when left out', count)
    .action((plan: string, from: number | undefined, to: number | undefined) =>
      act(async context => (await import('../commands/revisions.ts')).diffRevisions(context, plan, from, to)),
    )
}
