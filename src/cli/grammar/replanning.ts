// The words for changing a plan while it lives: proposals and what becomes of them, what has moved, and going round until all holds.

import { type Command, Option } from 'commander'
import type { ConvergeOptions } from '../commands/converge.ts'
import type { JudgeOptions } from '../commands/decline.ts'
import type { DriftOptions } from '../commands/drift.ts'
import type { ProposeOptions } from '../commands/propose.ts'
import type { Act } from '../program.ts'
import { count, duration } from './values.ts'

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
      act(async context => (await import('../commands/propose.ts')).propose(context, plan, file, options)),
    )

  program
    .command('proposals')
    .helpGroup(GROUP)
    .description('the revisions that were proposed and what became of them; with an id, what one would change')
    .argument('[plan]', ONLY)
    .argument('[id]', 'as the list shows it')
    .action((plan: string | undefined, id: string | undefined) =>
      act(async context => (await import('../commands/proposals.ts')).proposals(context, plan, id)),
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
      act(async context => (await import('../commands/decline.ts')).accept(context, plan, id, options)),
    )
  judging('decline', 'the plan stays as it is')
    .requiredOption('-m, --message <text>', 'why')
    .action((plan: string, id: string | undefined, options: JudgeOptions) =>
      act(async context => (await import('../commands/decline.ts')).decline(context, plan, id, options)),
    )

  program
    .command('drift')
    .helpGroup(GROUP)
    .description('what has moved since the plan became what it is: commit and files, by whose hand; what did not hold')
    .argument('[plan]', ONLY)
    .option('--all', 'also what its own tasks wrote')
    .action((plan: string | undefined, options: DriftOptions) =>
      act(async context => (await import('../commands/drift.ts')).drift(context, plan, options)),
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
    .addOption(new Option('--rounds <n>', 'how often tasks may be added').argParser(count).default(ROUNDS))
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
      act(async context => (await import('../commands/converge.ts')).converge(context, word, options)),
    )
}
