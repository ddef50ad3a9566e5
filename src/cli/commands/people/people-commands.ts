// The commands with which people and agents take part: claims, reports, decisions, questions.

import type { Command } from 'commander'
import type { Act } from '../../context.ts'
import type { GateOptions } from '../../order.ts'
import { collectValues, duration } from '../option-values.ts'
import type { AnswerOptions, ApproveOptions, ChooseOptions, PushBackOptions, ReviewOptions } from './approve.ts'
import type { AskOptions } from './ask.ts'
import type { ClaimOptions, DoneOptions, FailOptions, HeartbeatOptions, RetryOptions } from './claim.ts'

// The words with which people and agents take part: claims, reports, decisions.

const GROUP = 'Take part:'
const PLAN = 'the plan; or only the task, when one plan is open'
const TASK = 'the task'

export function addDeciding(program: Command, act: Act): void {
  const taskCommand = (name: string, description: string): Command =>
    program.command(name).helpGroup(GROUP).description(description).argument('<plan>', PLAN).argument('[task]', TASK)

  program
    .command('claim')
    .helpGroup(GROUP)
    .description('take an external task in hand; prints its token')
    .argument('[plan]', 'its name or UUID; the next task of all plans when left out, oldest plan first')
    .argument('[task]', 'the task; the best one when left out')
    .option('--lease <duration>', 'how long without a heartbeat, e.g. 10m', duration)
    .option('-w, --wait', 'stay until there is a task to claim')
    .option('--timeout <duration>', 'how long to wait, e.g. 10m; then exit 4', duration)
    .action((plan: string | undefined, task: string | undefined, options: ClaimOptions) =>
      act(async context => (await import('./claim.ts')).claim(context, plan, task, options)),
    )

  taskCommand('heartbeat', 'still at it: keep a claim')
    .requiredOption('--token <token>', 'the token of the claim')
    .option('--lease <duration>', 'for how long', duration)
    .action((plan: string, task: string | undefined, options: HeartbeatOptions) =>
      act(async context => (await import('./claim.ts')).heartbeat(context, plan, task, options)),
    )

  taskCommand('done', 'report an external task as done')
    .option('--token <token>', 'the token of the claim')
    .option('--output <name=value>', 'an output; repeat for more', collectValues)
    .option('--outputs <file>', 'outputs from a JSON file')
    .option('--outcome <name>', 'the outcome edge to take')
    .action((plan: string, task: string | undefined, options: DoneOptions) =>
      act(async context => (await import('./claim.ts')).done(context, plan, task, options)),
    )

  taskCommand('fail', 'report an external task as failed')
    .requiredOption('-m, --message <text>', 'what went wrong')
    .option('--token <token>', 'the token of the claim')
    .option('--retryable', 'trying again may help')
    .option('--mode <name>', 'the failure mode of the task that it was; leads where that mode recovers')
    .action((plan: string, task: string | undefined, options: FailOptions) =>
      act(async context => (await import('./claim.ts')).fail(context, plan, task, options)),
    )

  const seen = ['--hash <hash>', 'of what you looked at; refused when it asks about something else'] as const

  taskCommand('approve', 'yes to what a task asks; for an unknown outcome: it happened')
    .option('-m, --message <text>', 'why')
    .option('--edit <file>', 'yes to the plan as it is written there: it becomes the next revision')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: ApproveOptions) =>
      act(async context => (await import('./approve.ts')).approve(context, plan, task, options)),
    )

  taskCommand('reject', 'no to what a task asks; for an unknown outcome: it failed')
    .option('-m, --message <text>', 'why')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: GateOptions) =>
      act(async context => (await import('./approve.ts')).reject(context, plan, task, options)),
    )

  taskCommand('push-back', 'not like this: an earlier task is done again, with what you say, and all after it')
    .requiredOption('-m, --message <text>', 'what is to be changed; handed to the task that is done again')
    .option('--to <task>', 'the task that is done again; the last one the gate needs when left out')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: PushBackOptions) =>
      act(async context => (await import('./approve.ts')).pushBack(context, plan, task, options)),
    )

  program
    .command('choose')
    .helpGroup(GROUP)
    .description('take one of the options of a decision; for edits that would be set back: keep, take or merge')
    .argument('<plan>', PLAN)
    .argument('[task]', TASK)
    .argument('[option]', 'the option; the options are listed when left out')
    .option('-m, --message <text>', 'why')
    .option(...seen)
    .option('--keep <path>', 'of edits: this one stays; repeat for more', collectValues)
    .option('--take <path>', 'of edits: this one goes back to before the task', collectValues)
    .option('--merge <path>', 'of edits: this one is merged', collectValues)
    .action((plan: string, task: string | undefined, option: string | undefined, options: ChooseOptions) =>
      act(async context =>
        (await import('./approve.ts')).choose(
          context,
          [plan, task, option].filter(word => word !== undefined),
          options,
        ),
      ),
    )

  taskCommand('retry', 'try a task again; for an unknown outcome: it did not happen')
    .option('-m, --reason <text>', 'why')
    .option('--repeat', 'do completed work whose effect is unsafe a second time, without being asked')
    .action((plan: string, task: string | undefined, options: RetryOptions) =>
      act(async context => (await import('./claim.ts')).retry(context, plan, task, options)),
    )

  taskCommand('skip', 'pass over a task')
    .requiredOption('-m, --reason <text>', 'why')
    .action((plan: string, task: string | undefined, options: { reason: string }) =>
      act(async context => (await import('./claim.ts')).skip(context, plan, task, options)),
    )

  program
    .command('note')
    .helpGroup(GROUP)
    .description('write a remark into the journal')
    .argument('[plan]', PLAN)
    .argument('[task]', TASK)
    .requiredOption('-m, --message <text>', 'the remark')
    .action((plan: string | undefined, task: string | undefined, options: { message: string }) =>
      act(async context => (await import('../plans/note.ts')).note(context, plan, task, options)),
    )
}

export function addAsking(program: Command, act: Act): void {
  program
    .command('ask')
    .helpGroup(GROUP)
    .description('ask a person something in the middle of your work; prints the id of the question')
    .argument('[words...]', 'PLAN, TASK and the question; the plan may be left out when only one is open')
    .option('--field <name:type>', 'a field of the form, as name:type[=default]; repeat for more', collectValues)
    .option('--form <file>', 'the fields from a JSON or YAML file: [{name, type, label, choices, …}]')
    .option('--wait', 'stay until somebody has answered, and print the answer')
    .option('--timeout <duration>', 'how long to wait, e.g. 10m; then exit 4, and the question stays', duration)
    .option('--token <token>', 'of a claim on the task: kept alive while waiting')
    .option('--id <id>', 'a question asked before: print its answer, or wait for it')
    .addHelpText(
      'after',
      `
Types: text, number, boolean, list (a,b,c), choice (name:choice:a,b). A name with ? may be left out.

Examples:
  planfold ask release 'Which region?' --field region:choice:eu,us=eu --field copies:number=2
  planfold ask release deploy 'May I use the old key?' --field ok:boolean --wait --timeout 30m
  planfold ask release --id 5b8n1q3s --wait`,
    )
    .action((words: string[], options: AskOptions) =>
      act(async context => (await import('./ask.ts')).ask(context, words, options)),
    )

  program
    .command('answer')
    .helpGroup(GROUP)
    .description('fill in the form of a question: of a gate, or one that was asked in the middle of work')
    .argument('<plan>', 'its name or UUID')
    .argument('<question>', 'the task that asks, or the id of the question')
    .argument('[values...]', 'NAME=VALUE; the value alone when only one thing is asked')
    .option('-m, --message <text>', 'why')
    .option('--hash <hash>', 'of what you looked at; refused when it asks about something else')
    .action((plan: string, question: string, values: string[], options: AnswerOptions) =>
      act(async context => (await import('./approve.ts')).answerQuestion(context, plan, question, values, options)),
    )

  program
    .command('review')
    .helpGroup(GROUP)
    .description(
      'everything that asks for approval in the open window, as one: look at it, then decide about all of it',
    )
    .argument('[plan]', 'its name or UUID; may be left out when only one plan is open')
    .option('--approve', 'yes to all of it')
    .option('--reject', 'no to all of it')
    .option('-m, --message <text>', 'why')
    .option('--hash <hash>', 'of the review you looked at; refused when something joined or left it since')
    .action((plan: string | undefined, options: ReviewOptions) =>
      act(async context => (await import('./approve.ts')).review(context, plan, options)),
    )
}
