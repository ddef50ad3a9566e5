// The options and help of the commands that change a plan: revise, converge.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { count, duration, OPTIONAL_PLAN, PLAN } from '../option-values.ts'

const ROUNDS = 5

export function addConverging(program: Command, act: Act): void {
  program
    .command('converge')
    .description('fix until the checks pass: run the final checks, add tasks for failed ones, run them, repeat')
    .argument('<plan-or-file>', 'plan file, or name or UUID of a plan, also a finished one')
    .option('--with <command>', 'run this script for each failed check (default: add tasks to claim)')
    .addOption(
      new Option('--rounds <n>', 'add tasks at most this many times, earlier calls included')
        .argParser(count)
        .default(ROUNDS),
    )
    .option('--timeout <duration>', 'stop after this time, e.g. 30m', duration)
    .option('-w, --wait', 'keep running while the plan waits for people or agents')
    .option('--repeat', 'if completed unsafe tasks changed: run them again')
    .option('--keep-done', 'if completed unsafe tasks changed: keep their results, do not run them again')
    .addHelpText(
      'after',
      `
A failed plan continues first: completed tasks are kept; failed, undone and changed tasks, and the tasks after them, run again.
The script gets the failed check in PLANFOLD_CRITERION, its result in PLANFOLD_EVIDENCE, and the round in
PLANFOLD_ROUND. If interrupted, the script runs again.

Example:
  planfold converge plan.yaml --with './fix.sh' --rounds 3

Exit codes: 0 all checks pass and the plan is completed   1 checks still fail: no rounds, budget or time left, or no progress
            4 waiting for a person or agent; run the same command again to continue   130 interrupted`,
    )
    .action(act(async () => (await import('./converge.ts')).converge))
}

const together = (names: string, before?: string): string => (before === undefined ? names : `${before},${names}`)

export function addRevisions(program: Command, act: Act): void {
  const revise = program
    .command('revise')
    .description('update a plan from a changed file, or propose that; list, show or compare its revisions')
    .argument('<plan>', PLAN)
    .argument('[file]', 'changed plan file, in any known format; - reads standard input')
    .addOption(new Option('--merge', 'keep tasks and keys that the file does not mention').conflicts('replace'))
    .addOption(new Option('--replace', 'the file is the whole plan (default)').conflicts('merge'))
    .option('-m, --message <text>', 'why; stored with the revision')
    .option('--expect-revision <n>', 'only if this is still the current revision', count)
    .option('--remove <tasks>', 'remove these tasks; names separated by commas', together)
    .option('--order <tasks>', 'put these tasks first, in this order; names separated by commas', together)
    .addOption(
      new Option('--ids <ids>', 'rename all tasks to plan-<name>-<nn>; only for plans that have not started').choices([
        'generated',
      ]),
    )
    .option('-n, --dry-run', 'show what would change for each task; write nothing')
    .option('--propose', 'only propose the change; needs -m')
    .option('--cause <text>', 'with --propose: the unexpected observation that led to this change')
    .option('--task <task>', 'with --propose: the task this is about')
    .addHelpText(
      'after',
      `
Examples:
  planfold revise release plan.yaml --dry-run
  planfold revise release plan.yaml --propose -m 'the cache needs a lock'
  planfold revise diff release
  planfold revise release plan.yaml -m 'tests come first'
  planfold revise release --remove docs,notes -m 'not needed'

Tasks are matched by id, else by title. Recorded results win: a file cannot mark a task as completed, and completed tasks stay
completed. A failed task that you change runs again. A plan that has failed is changed by running the changed file:
planfold run FILE.

A proposal is for the current revision; if the plan changes first, it expires. \`policy.replan\` decides whether proposals wait for a
person (ask: \`planfold inbox\` lists them), apply automatically (auto) or are refused (never).`,
    )
    .action(act(async () => (await import('./revise.ts')).revise))

  const word = (name: string, description: string): Command =>
    revise
      .command(name)
      .description(description)
      .configureOutput({ writeErr: () => {} })

  word('list', 'list revisions: when, by whom, why, and what changed')
    .argument('[plan]', OPTIONAL_PLAN)
    .action(act(async () => (await import('./revisions.ts')).listRevisions))
  word('show', 'show a revision (default: the latest)')
    .argument('<plan>', PLAN)
    .argument('[number]', 'number of the revision', count)
    .addOption(new Option('--yaml', 'print only the plan, as YAML').conflicts('original'))
    .addOption(new Option('--original', 'print only the original file'))
    .action(act(async () => (await import('./revisions.ts')).showRevision))
  word('diff', 'compare two revisions (default: the latest two)')
    .argument('<plan>', PLAN)
    .argument('[from]', 'number of the earlier revision', count)
    .argument('[to]', 'number of the later revision (default: the latest)', count)
    .action(act(async () => (await import('./revisions.ts')).diffRevisions))
}
