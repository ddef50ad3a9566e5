// The words for questions in the middle of work, and for looking at several approvals at once.

import type { Command } from 'commander'
import type { AnswerOptions } from '../commands/answer.ts'
import type { AskOptions } from '../commands/ask.ts'
import type { ReviewOptions } from '../commands/review.ts'
import type { Act } from '../program.ts'
import { duration, several } from './values.ts'

const GROUP = 'Take part:'

export function addAsking(program: Command, act: Act): void {
  program
    .command('ask')
    .helpGroup(GROUP)
    .description('ask a person something in the middle of your work; prints the id of the question')
    .argument('[words...]', 'PLAN, TASK and the question; the plan may be left out when only one is open')
    .option('--field <name:type>', 'a field of the form, as name:type[=default]; repeat for more', several)
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
      act(async context => (await import('../commands/ask.ts')).ask(context, words, options)),
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
      act(async context =>
        (await import('../commands/answer.ts')).answerQuestion(context, plan, question, values, options),
      ),
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
      act(async context => (await import('../commands/review.ts')).review(context, plan, options)),
    )
}
