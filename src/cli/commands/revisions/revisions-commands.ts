// The words for changing what a plan says, and for looking at how it came to say it.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { count, duration } from '../option-values.ts'
import type { ConvergeOptions } from './converge.ts'
import type { DriftOptions } from './drift.ts'
import type { JudgeOptions, ProposeOptions } from './proposals.ts'
import type { ReviseOptions } from './revise.ts'
import type { ShowRevisionOptions } from './revisions.ts'

// The words for changing a plan while it lives: proposals and what becomes of them, what has moved, and going round until all holds.

const GROUP = 'Revise:'
const PLAN = 'its name or UUID'
const ONLY = 'its name or UUID; may be left out when only one plan is open'
const ROUNDS = 5

export function addReplanning(program: Command, act: Act): void {
  program
    .command('propose')
    .helpGroup(GROUP)
    .description('a rewritten plan becomes the next revision when somebody accepts it')
    .argument('<plan>', PLAN)
    .argument('<file>', 'the rewritten plan, in any format that can be read; - reads standard input')
    .requiredOption('-m, --message <text>', 'why')
    .option('--merge', 'keep tasks and keys the text does not mention')
    .option('--cause <text>', 'what was observed that the plan had not expected')
    .option('--task <task>', 'the task it is about')
    .option('--expect-revision <n>', 'only if the plan is still at this revision', count)
    .option('-n, --dry-run', 'show what would change, and write nothing')
    .addHelpText(
      'after',
      `
Work that runs carries on meanwhile. A proposal counts for the revision it was made for; when the plan becomes another one it is
void. \`policy.replan\` says whether proposals wait (ask), take effect by themselves (auto) or are refused (never).`,
    )
    .action((plan: string, file: string, options: ProposeOptions) =>
      act(async context => (await import('./proposals.ts')).propose(context, plan, file, options)),
    )

  program
    .command('proposals')
    .helpGroup(GROUP)
    .description('the revisions that were proposed and what became of them; with an id, what one would change')
    .argument('[plan]', ONLY)
    .argument('[id]', 'as the list shows it')
    .action((plan: string | undefined, id: string | undefined) =>
      act(async context => (await import('./proposals.ts')).proposals(context, plan, id)),
    )

  const judging = (name: 'accept' | 'decline', description: string): Command =>
    program
      .command(name)
      .helpGroup(GROUP)
      .description(description)
      .argument('<plan>', `${PLAN}; or only the id, when one plan is open`)
      .argument('[id]', 'of the proposal; may be left out when only one waits')
      .option('--hash <hash>', 'of what you looked at; refused when it is another one')
  judging('accept', 'a proposed revision becomes the plan')
    .option('-m, --message <text>', 'why')
    .action((plan: string, id: string | undefined, options: JudgeOptions) =>
      act(async context => (await import('./proposals.ts')).accept(context, plan, id, options)),
    )
  judging('decline', 'the plan stays as it is')
    .requiredOption('-m, --message <text>', 'why')
    .action((plan: string, id: string | undefined, options: JudgeOptions) =>
      act(async context => (await import('./proposals.ts')).decline(context, plan, id, options)),
    )

  program
    .command('drift')
    .helpGroup(GROUP)
    .description('what has moved since the plan became what it is: commit and files, by whose hand; what did not hold')
    .argument('[plan]', ONLY)
    .option('--all', 'also what its own tasks wrote')
    .action((plan: string | undefined, options: DriftOptions) =>
      act(async context => (await import('./drift.ts')).drift(context, plan, options)),
    )

  program
    .command('converge')
    .helpGroup(GROUP)
    .description('judge the definition of done, add tasks for what does not hold, drive, judge again, until all holds')
    .argument('<plan-or-file>', 'a plan document, or the name or UUID of a plan; also one that has ended')
    .option(
      '--with <command>',
      'a script run for each criterion that does not hold; without it, tasks wait to be claimed',
    )
    .addOption(
      new Option('--rounds <n>', 'how often tasks may be added, earlier calls included')
        .argParser(count)
        .default(ROUNDS),
    )
    .option('--timeout <duration>', 'how long it may take, e.g. 30m', duration)
    .option('-w, --wait', 'stay while the plan waits for people or agents')
    .option('--repeat', 'going on with a failed plan, do again what is unsafe to repeat and has changed')
    .option('--keep-done', 'going on with a failed plan, leave that done')
    .addHelpText(
      'after',
      `
A plan that failed goes on first: what is done stays done, what failed or changed runs again.
The script finds PLANFOLD_CRITERION, PLANFOLD_EVIDENCE and PLANFOLD_ROUND in its environment. Cut off, it is run again.

Example:
  planfold converge plan.yaml --with './fix.sh' --rounds 3

Exit codes: 0 all criteria hold and the plan is completed   1 they do not: rounds, budget or time are used up, or nothing moves
            4 it waits for somebody; the same command goes on   130 interrupted`,
    )
    .action((word: string, options: ConvergeOptions) =>
      act(async context => (await import('./converge.ts')).converge(context, word, options)),
    )
}

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
      act(async context => (await import('./revise.ts')).revise(context, plan, file, options)),
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
      act(async context => (await import('./revisions.ts')).listRevisions(context, plan)),
    )
  word('show', 'one revision, the last when no number is given')
    .argument('<plan>', PLAN)
    .argument('[number]', 'its number', count)
    .addOption(new Option('--yaml', 'only the plan, as YAML').conflicts('original'))
    .addOption(new Option('--original', 'only the text it was written in, as it was'))
    .action((plan: string, number: number | undefined, options: ShowRevisionOptions) =>
      act(async context => (await import('./revisions.ts')).showRevision(context, plan, number, options)),
    )
  word('diff', 'what changed between two revisions, the last two when none are named')
    .argument('<plan>', PLAN)
    .argument('[from]', 'the number of the earlier one', count)
    .argument('[to]', 'the number of the later one; the last when left out', count)
    .action((plan: string, from: number | undefined, to: number | undefined) =>
      act(async context => (await import('./revisions.ts')).diffRevisions(context, plan, from, to)),
    )
}
