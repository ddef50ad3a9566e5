// The options and help of the commands for people and agents: claims, reports, decisions, questions.

import { type Command, Option } from 'commander'
import type { Act } from '../../context.ts'
import { usage } from '../../exit.ts'
import { collectValues, duration, OPTIONAL_PLAN } from '../option-values.ts'

const TASK = 'name of the task'

/** Both are optional for commander, which reads required arguments first: one word is a task, two are plan and task. */
const withTask = (command: Command, words: string): Command =>
  command
    .usage(`[options] ${words}`)
    .argument('[plan]', OPTIONAL_PLAN)
    .argument('[task]', TASK)
    .hook('preAction', () => {
      if (command.args.length > 0) return
      throw usage(
        `name a task: planfold ${command.name()} ${words}`,
        DECIDING.has(command.name())
          ? '`planfold inbox` lists what waits for you'
          : '`planfold status` shows how the plan stands, `planfold show` its tasks',
      )
    })

const DECIDING: ReadonlySet<string> = new Set(['approve', 'reject'])

export function addDeciding(program: Command, act: Act): void {
  const taskCommand = (name: string, description: string): Command =>
    withTask(program.command(name).description(description), '[plan] <task>')

  program
    .command('claim')
    .description('claim an external task and print its token')
    .argument('[plan]', 'name or UUID of the plan (default: all plans, oldest first)')
    .argument('[task]', 'name of the task (default: the next one)')
    .option('--lease <duration>', 'the claim expires after this time without a heartbeat, e.g. 10m', duration)
    .option('-w, --wait', 'wait until a task can be claimed')
    .option('--timeout <duration>', 'stop waiting after this time, e.g. 10m (exit 4)', duration)
    .option('--extend', 'extend your claim of this task instead (a heartbeat); needs --token')
    .option('--token <token>', 'with --extend: token of the claim')
    .addOption(
      new Option(
        '--release',
        'give up a claim instead (also one of somebody else), so that the task can be claimed again',
      ).conflicts(['extend', 'wait', 'lease', 'token']),
    )
    .option('-m, --message <text>', 'with --release: why')
    .addHelpText(
      'after',
      `
Examples:
  planfold claim                       the next task of any plan
  planfold claim release notes --lease 30m
  planfold claim release notes --extend --token TOKEN
  planfold claim release notes --release -m 'its agent is gone'
  planfold report release notes --token TOKEN --status done --output text=...`,
    )
    .action(act(async () => (await import('./claim.ts')).claim))

  program
    .command('report')
    .description('report an external task as done or failed, with evidence')
    .argument('[plan]', 'name or UUID of the plan (default: the plan of the task you claimed)')
    .argument('[task]', 'name of the task (default: the one you claimed)')
    .addOption(new Option('--status <status>', 'how it ended').choices(['done', 'failed']).makeOptionMandatory())
    .option('-m, --message <text>', 'how you know that it is done, or what went wrong')
    .option('--tick <check>', 'say that you met an acceptance check, by text or number; repeat for more', collectValues)
    .option('--output <name=value>', 'set an output; repeat for more', collectValues)
    .option('--outputs <file>', 'read outputs from a JSON file')
    .option('--outcome <name>', 'done: outcome to report; selects the next task, see `on:` in the plan')
    .option(
      '--not-mine <path>',
      'done: changed outside its write scope, but not by you; repeat for more',
      collectValues,
    )
    .option('--retryable', 'failed: a retry may help')
    .option('--mode <name>', 'failed: which of the `failure_modes` of the task occurred')
    .option('--token <token>', 'token of the claim')
    .addHelpText(
      'after',
      `
Examples:
  planfold next --claim --json
  planfold report --status done -m 'all 12 tests pass' --tick 1 --output tests=12
  planfold report release notes --status done --output file=NOTES.md --output words=250
  planfold report release notes --status failed -m 'no access to the tracker' --retryable

If the task is not claimed, it is claimed for you. Planfold runs its acceptance checks first. If one fails, the report is
refused: fix the work and report again.
--tick is only recorded; the checks still run.`,
    )
    .action(act(async () => (await import('./report.ts')).report))

  const seen = ['--hash <hash>', 'decide only if the request still has this hash'] as const

  withTask(
    program
      .command('approve')
      .description('approve a request or a proposal; for an interrupted task: confirm that it succeeded'),
    '[plan] <task-or-proposal>',
  )
    .option('-m, --message <text>', 'why')
    .option('--edit <file>', 'approve with changes: this plan file becomes the next revision')
    .option(...seen)
    .addHelpText(
      'after',
      `
Examples:
  planfold show release review                    what is asked
  planfold approve release review -m 'looks good'
  planfold approve release publish                confirm that the interrupted task succeeded; it does not run again
  planfold approve release 7k3m9x2v               accept a proposed change`,
    )
    .action(act(async () => (await import('./approve.ts')).approve))

  withTask(
    program
      .command('reject')
      .description('reject a request or a proposal; for an interrupted task: record that it failed'),
    '[plan] <task-or-proposal>',
  )
    .option('-m, --message <text>', 'why; needed for a proposal')
    .option(...seen)
    .action(act(async () => (await import('./approve.ts')).reject))

  taskCommand('retry', 'let a task run again; `resume` runs it')
    .option('-m, --message <text>', 'why')
    .option('--repeat', 'also re-run completed tasks that are unsafe to repeat')
    .action(act(async () => (await import('./claim.ts')).retry))

  taskCommand('skip', 'skip a task')
    .requiredOption('-m, --message <text>', 'why')
    .action(act(async () => (await import('./claim.ts')).skip))
}

export function addAsking(program: Command, act: Act): void {
  program
    .command('ask')
    .description('ask a person a question while you work; prints its id')
    .usage('[options] [plan] [task] <question>')
    .argument(
      '[question...]',
      'the question, after the plan and the task; the plan is optional if only one plan is unfinished',
    )
    .option('--field <name:type>', 'add a field to the form: name:type[=default]; repeat for more', collectValues)
    .option('--form <file>', 'read the fields from a JSON or YAML file: [{name, type, label, choices, …}]')
    .option('--wait', 'wait for the answer and print it')
    .option('--timeout <duration>', 'stop waiting after this time, e.g. 10m (exit 4); the question stays', duration)
    .option('--token <token>', 'token of your claim; Planfold extends the claim while you wait')
    .option('--id <id>', 'print the answer to an earlier question, or wait for it')
    .addHelpText(
      'after',
      `
Types: text, number, boolean, list (a,b,c), choice (name:choice:a,b). A field whose name ends with ? is optional.

Examples:
  planfold ask release 'Which region?' --field region:choice:eu,us=eu --field copies:number=2
  planfold ask release deploy 'May I use the old key?' --field ok:boolean --wait --timeout 30m
  planfold ask release --id 5b8n1q3s --wait`,
    )
    .action(act(async () => (await import('./ask.ts')).ask))

  program
    .command('answer')
    .description('answer a question, choose an option, or send work back; with --all: all approvals of a plan')
    .usage('[options] [plan] <task-or-question> [answer...]')
    .argument(
      '[words...]',
      'plan, task or id of the question, and the answer: an option, or NAME=VALUE for each field (only VALUE if there is one); without an answer, options are listed',
    )
    .option('-m, --message <text>', 'why')
    .option('--hash <hash>', 'answer only if the request still has this hash')
    .option('--push-back', 'request changes: run an earlier task again, with your comment (-m)')
    .option('--to <task>', 'with --push-back: task to run again, with all after it (default: the one before the gate)')
    .option('--keep <path>', 'keep your edit of this file; repeat for more', collectValues)
    .option('--take <path>', 'take the version of this file from before the task', collectValues)
    .option('--merge <path>', 'keep your edit of this file, remove what the task wrote', collectValues)
    .option('--all', 'show all pending approvals of a plan, to decide them together')
    .option('--approve', 'with --all: approve all of them')
    .option('--reject', 'with --all: reject all of them')
    .addHelpText(
      'after',
      `
Examples:
  planfold answer release database postgres -m 'we know it'     choose an option
  planfold answer release deploy region=eu copies=3             fill in a form
  planfold answer release review --push-back -m 'add a test'
  planfold answer release --all --approve -m 'looks good'

For files that you edited, the options are keep, take and merge.`,
    )
    .action(act(async () => (await import('./answer.ts')).answerAny))
}
