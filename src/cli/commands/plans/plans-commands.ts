// The commands for making, driving and looking at plans. Each is loaded only when it is the one that was called.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, count, duration, position } from '../option-values.ts'
import type { AnalyzeCommandOptions } from './analyze.ts'
import type { GraphOptions } from './graph.ts'
import type { ListOptions } from './list.ts'
import { type LogOptions, since } from './log.ts'
import type { CancelOptions, HaltOptions, PauseOptions } from './pause.ts'
import type { ResumeOptions } from './resume.ts'
import type { RunOptions } from './run.ts'
import type { ShowOptions } from './show.ts'
import type { StatusOptions } from './status.ts'

// The words for looking: nothing here changes anything.

const LOOK_GROUP = 'Look:'
const LOOK_PLAN = 'its name or UUID; may be left out when only one plan is open'

export function addLooking(program: Command, act: Act): void {
  program
    .command('status')
    .helpGroup(LOOK_GROUP)
    .description('where a plan stands and what waits for whom')
    .argument('[plan]', LOOK_PLAN)
    .option('--session <id>', 'the active plan of this session')
    .action((word: string | undefined, options: StatusOptions) =>
      act(async context => (await import('./status.ts')).status(context, word, options)),
    )

  program
    .command('show')
    .helpGroup(LOOK_GROUP)
    .description('a plan with its tasks, or everything about one task')
    .argument('[plan]', LOOK_PLAN)
    .argument('[task]', 'its name')
    .option('--all', 'leave nothing out of what it asks somebody to agree to')
    .action((plan: string | undefined, task: string | undefined, options: ShowOptions) =>
      act(async context => (await import('./show.ts')).show(context, plan, task, options)),
    )

  program
    .command('list')
    .helpGroup(LOOK_GROUP)
    .description('all plans that are not archived')
    .option('--status <status>', 'only those in this status')
    .option('--session <id>', 'only those of this session')
    .option('--text <text>', 'only those whose name, title or goal holds it')
    .option('--archived', 'only archived ones')
    .option('--all', 'archived ones as well')
    .option('--limit <n>', 'how many at most', count)
    .option('--cursor <cursor>', 'go on where the last page ended')
    .action((options: ListOptions) => act(async context => (await import('./list.ts')).list(context, options)))

  program
    .command('log')
    .helpGroup(LOOK_GROUP)
    .description('what happened, or what tasks printed')
    .argument('[plan]', LOOK_PLAN)
    .argument('[task]', 'only this task')
    .option('-o, --output', 'what was printed, instead of what happened')
    .option('-f, --follow', 'stay, and tell what happens')
    .option('--after <n>', 'only what came after this entry (or piece of output)', position)
    .addOption(new Option('--since <when>', 'only what came later: a while ago, or a time').argParser(since))
    .option('--grep <text>', 'only lines that hold this text, in any case')
    .option('--failed', 'only what failed, was lost, or stopped something')
    .addHelpText(
      'after',
      `
Examples:
  planfold log release --since 2h --failed
  planfold log release build --output --grep error`,
    )
    .action((plan: string | undefined, task: string | undefined, options: LogOptions) =>
      act(async context => (await import('./log.ts')).log(context, plan, task, options)),
    )

  program
    .command('next')
    .helpGroup(LOOK_GROUP)
    .description('what can be worked on now, and why the rest cannot')
    .argument('[plan]', 'its name or UUID; all open plans when left out')
    .argument('[task]', 'only this task')
    .option('-e, --explain', 'say of every task why it is ready or not')
    .action((plan: string | undefined, task: string | undefined, options: { explain?: boolean }) =>
      act(async context => (await import('./next.ts')).next(context, plan, task, options)),
    )

  program
    .command('analyze')
    .helpGroup(LOOK_GROUP)
    .description('waves, critical path and estimates, and what is wrong or risky')
    .argument('[plan-or-file]', 'a plan, or a plan document')
    .option('--strict', 'warnings count like errors (exit 2)')
    .option('--assume <duration>', 'how long a task takes that does not say (1m)', duration)
    .option('--max-tasks <n>', 'how many tasks may stand side by side (7)', count)
    .action((word: string | undefined, options: AnalyzeCommandOptions) =>
      act(async context => (await import('./analyze.ts')).analyze(context, word, options)),
    )

  program
    .command('graph')
    .helpGroup(LOOK_GROUP)
    .description('who needs whom')
    .argument('[plan-or-file]', 'a plan, or a plan document')
    .option('--text', 'as text, in the order of work (the default)')
    .option('--tree', 'as a tree: milestones, tasks, children of groups')
    .option('--markdown', 'as a document to read')
    .option('--mermaid', 'as a Mermaid flowchart')
    .option('--dot', 'for Graphviz')
    .action((word: string | undefined, options: GraphOptions) =>
      act(async context => (await import('./graph.ts')).graph(context, word, options)),
    )
}

// The words for making, checking and driving plans. Each command's file is loaded only when it is the one that was called.

const GROUP = 'Make and drive plans:'

export function addDriving(program: Command, act: Act): void {
  program
    .command('init')
    .helpGroup(GROUP)
    .description('make a place for plans here, and an example plan')
    .action(() => act(async context => (await import('./init.ts')).init(context)))

  program
    .command('validate')
    .helpGroup(GROUP)
    .description('check plan documents, without writing anything')
    .argument('<file...>', 'plan documents; - reads standard input')
    .action((files: string[]) => act(async context => (await import('./validate.ts')).validate(context, files)))

  program
    .command('run')
    .helpGroup(GROUP)
    .description('run a plan document, or a plan that is there already, to its end')
    .argument('<plan-or-file>', 'a plan document, or the name or UUID of a plan')
    .option('-n, --dry-run', 'show what each task would do, and write nothing')
    .option('--again', 'run an ended plan afresh, even what may not happen twice')
    .option('--repeat', 'going on with a failed plan, do again what is unsafe to repeat and has changed')
    .option('--keep-done', 'going on with a failed plan, leave that done')
    .option('--set <key=value>', 'a parameter, when the file is a template; repeat for more', collectValues)
    .option('--set-file <key=path>', 'a parameter from a file', collectValues)
    .option('-w, --wait', 'stay while the plan waits for people or agents')
    .option('--no-start', 'make the draft only')
    .option('--mirror [folder]', 'keep a file in step with the plan, in this folder (plans)')
    .addHelpText(
      'after',
      `
Running a file again takes the plan up where it was; a changed file becomes a revision of it. A plan that failed goes on:
what is done stays done; what failed, was undone or changed runs again. A plan that is completed or was cancelled is run afresh
under the next free name (hello-2); --again does that with a failed one.`,
    )
    .action((word: string, options: RunOptions) =>
      act(async context => (await import('./run.ts')).run(context, word, options)),
    )

  program
    .command('resume')
    .helpGroup(GROUP)
    .description('go on with a plan that was paused, interrupted or killed')
    .argument('[plan]', 'its name or UUID; may be left out when only one plan is open')
    .option('-a, --all', 'every open plan, one after the other')
    .option('--session <id>', 'the open plans of this session, one after the other')
    .option('--watch', 'stay, and take over every plan whose process dies, until Ctrl-C')
    .option('--mirror [folder]', 'keep a file in step with the plan, in this folder (plans)')
    .option('-w, --wait', 'stay while the plan waits for people or agents')
    .action((word: string | undefined, options: ResumeOptions) =>
      act(async context => (await import('./resume.ts')).resume(context, word, options)),
    )

  program
    .command('pause')
    .helpGroup(GROUP)
    .description('start nothing new; resumable')
    .argument('[plan]', 'its name or UUID')
    .option('--session <id>', 'every plan of this session that is under way')
    .option('-f, --force', 'end also what may not be run again; it then waits for a decision')
    .option('-m, --reason <text>', 'why')
    .action((word: string | undefined, options: PauseOptions) =>
      act(async context => (await import('./pause.ts')).pause(context, word, options)),
    )

  program
    .command('halt')
    .helpGroup(GROUP)
    .description('the kill switch: end all work of all plans now; nothing begins until it is lifted')
    .option('-m, --reason <text>', 'why')
    .option('--lift', 'let work begin again; plans stay paused until they are resumed')
    .option('--show', 'only say whether everything is halted')
    .action((options: HaltOptions) => act(async context => (await import('./pause.ts')).halt(context, options)))

  program
    .command('cancel')
    .helpGroup(GROUP)
    .description('end a plan early; what declares a compensation is compensated')
    .argument('[plan]', 'its name or UUID')
    .option('-f, --force', 'at once, and without compensation')
    .option('-m, --reason <text>', 'why')
    .action((word: string | undefined, options: CancelOptions) =>
      act(async context => (await import('./pause.ts')).cancel(context, word, options)),
    )
}
