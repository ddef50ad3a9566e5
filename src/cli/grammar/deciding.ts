// The words with which people and agents take part: claims, reports, decisions.

import type { Command } from 'commander'
import type { ApproveOptions } from '../commands/approve.ts'
import type { ChooseOptions } from '../commands/choose.ts'
import type { ClaimOptions } from '../commands/claim.ts'
import type { DoneOptions } from '../commands/done.ts'
import type { FailOptions } from '../commands/fail.ts'
import type { HeartbeatOptions } from '../commands/heartbeat.ts'
import type { PushBackOptions } from '../commands/push-back.ts'
import type { RetryOptions } from '../commands/retry.ts'
import type { GateOptions } from '../gate-answer.ts'
import type { Act } from '../program.ts'
import { duration, several } from './values.ts'

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
      act(async context => (await import('../commands/claim.ts')).claim(context, plan, task, options)),
    )

  taskCommand('heartbeat', 'still at it: keep a claim')
    .requiredOption('--token <token>', 'the token of the claim')
    .option('--lease <duration>', 'for how long', duration)
    .action((plan: string, task: string | undefined, options: HeartbeatOptions) =>
      act(async context => (await import('../commands/heartbeat.ts')).heartbeat(context, plan, task, options)),
    )

  taskCommand('done', 'report an external task as done')
    .option('--token <token>', 'the token of the claim')
    .option('--output <name=value>', 'an output; repeat for more', several)
    .option('--outputs <file>', 'outputs from a JSON file')
    .option('--outcome <name>', 'the outcome edge to take')
    .action((plan: string, task: string | undefined, options: DoneOptions) =>
      act(async context => (await import('../commands/done.ts')).done(context, plan, task, options)),
    )

  taskCommand('fail', 'report an external task as failed')
    .requiredOption('-m, --message <text>', 'what went wrong')
    .option('--token <token>', 'the token of the claim')
    .option('--retryable', 'trying again may help')
    .option('--mode <name>', 'the failure mode of the task that it was; leads where that mode recovers')
    .action((plan: string, task: string | undefined, options: FailOptions) =>
      act(async context => (await import('../commands/fail.ts')).fail(context, plan, task, options)),
    )

  const seen = ['--hash <hash>', 'of what you looked at; refused when it asks about something else'] as const

  taskCommand('approve', 'yes to what a task asks; for an unknown outcome: it happened')
    .option('-m, --message <text>', 'why')
    .option('--edit <file>', 'yes to the plan as it is written there: it becomes the next revision')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: ApproveOptions) =>
      act(async context => (await import('../commands/approve.ts')).approve(context, plan, task, options)),
    )

  taskCommand('reject', 'no to what a task asks; for an unknown outcome: it failed')
    .option('-m, --message <text>', 'why')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: GateOptions) =>
      act(async context => (await import('../commands/reject.ts')).reject(context, plan, task, options)),
    )

  taskCommand('push-back', 'not like this: an earlier task is done again, with what you say, and all after it')
    .requiredOption('-m, --message <text>', 'what is to be changed; handed to the task that is done again')
    .option('--to <task>', 'the task that is done again; the last one the gate needs when left out')
    .option(...seen)
    .action((plan: string, task: string | undefined, options: PushBackOptions) =>
      act(async context => (await import('../commands/push-back.ts')).pushBack(context, plan, task, options)),
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
    .option('--keep <path>', 'of edits: this one stays; repeat for more', several)
    .option('--take <path>', 'of edits: this one goes back to before the task', several)
    .option('--merge <path>', 'of edits: this one is merged', several)
    .action((plan: string, task: string | undefined, option: string | undefined, options: ChooseOptions) =>
      act(async context =>
        (await import('../commands/choose.ts')).choose(
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
      act(async context => (await import('../commands/retry.ts')).retry(context, plan, task, options)),
    )

  taskCommand('skip', 'pass over a task')
    .requiredOption('-m, --reason <text>', 'why')
    .action((plan: string, task: string | undefined, options: { reason: string }) =>
      act(async context => (await import('../commands/skip.ts')).skip(context, plan, task, options)),
    )

  program
    .command('note')
    .helpGroup(GROUP)
    .description('write a remark into the journal')
    .argument('[plan]', PLAN)
    .argument('[task]', TASK)
    .requiredOption('-m, --message <text>', 'the remark')
    .action((plan: string | undefined, task: string | undefined, options: { message: string }) =>
      act(async context => (await import('../commands/note.ts')).note(context, plan, task, options)),
    )
}
