// The options and help of the commands that create, run and show plans. The code of a command is loaded when it is called.

import { type Command, Option } from 'commander'

import { PLAN_STATUSES } from '../../../domain/status.ts'
import type { Act } from '../../context.ts'
import { planWord } from '../../terminal/paint.ts'
import { collectValues, count, duration, OPTIONAL_PLAN, position } from '../option-values.ts'
import { since } from './log.ts'

export function addLooking(program: Command, act: Act): void {
  program
    .command('status')
    .description('show progress and what a plan waits for')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--session <id>', 'show the running plan of this session')
    .option('--drift', 'show commits and files that changed outside the plan instead')
    .option('--all', 'with --drift: include what the tasks of the plan wrote')
    .action(act(async () => (await import('./status.ts')).status))

  program
    .command('show')
    .description('show a plan and its tasks, or one task in detail')
    .argument('[plan]', OPTIONAL_PLAN)
    .argument('[task]', 'name of the task')
    .option(
      '--all',
      'show texts in full: approval request, context of the plan; with --compare: include tasks with the same outcome',
    )
    .option('--steps', 'show what the agent of the task did and why: its words before each step')
    .option('--checks', 'list the acceptance checks with their latest results instead')
    .option('--open', 'with --checks: only failed and pending checks')
    .option('--compare <plan>', 'compare with this plan: tasks, outcomes, times, outputs; or the tries of this task')
    .option('--analysis', 'show stages, critical path, estimates and risks instead; also of a plan file')
    .option('--strict', 'with --analysis: treat warnings as errors (exit 2)')
    .option('--assume <duration>', 'with --analysis: duration of tasks without an estimate (default: 1m)', duration)
    .option('--max-tasks <n>', 'with --analysis: warn if there are more top-level tasks (default: 7)', count)
    .addHelpText(
      'after',
      `
Examples:
  planfold show release build                  one task in detail
  planfold show release fix --steps            why its agent did what it did
  planfold show release --checks
  planfold show plan.yaml --analysis
  planfold show release --compare release-fork
  planfold compare release fix`,
    )
    .action(act(async () => (await import('./show.ts')).show))

  program
    .command('list')
    .description('list plans')
    .option('--status <status>', `only plans with this status: ${PLAN_STATUSES.map(planWord).join(', ')}`)
    .option('--session <id>', 'only plans of this session')
    .option('--text <text>', 'only plans whose name, title or goal contains it')
    .option('--archived', 'only archived plans')
    .option('--all', 'include archived plans; with --goals: include achieved and dropped goals')
    .option('--goals [goal]', 'list goals instead, or show one with its sub-goals, plans and progress')
    .option('--limit <n>', 'print at most this many', count)
    .option('--cursor <cursor>', 'continue where the last page ended')
    .action(act(async () => (await import('./list.ts')).list))

  program
    .command('log')
    .description('show events; with --output, what tasks printed; with --add, add a comment')
    .argument('[plan]', OPTIONAL_PLAN)
    .argument('[task]', 'only this task')
    .option('-o, --output', 'show the output of tasks instead of events')
    .option('-f, --follow', 'keep running and print new lines as they come')
    .option('--after <n>', 'only after this entry number, as printed at the start of a line', position)
    .addOption(new Option('--since <when>', 'only after this time: 2h (ago) or a timestamp').argParser(since))
    .option('--grep <text>', 'only lines that contain this text (case-insensitive)')
    .option('--failed', 'only failures, interruptions and what they blocked')
    .option('--add', 'add a comment instead; needs -m')
    .option('-m, --message <text>', 'with --add: the comment')
    .option('--field <name>', 'with --add: field of the task, or of the plan, that it is about: write, instruction, …')
    .option('--line <n>', 'with --add: line of that text, or of the plan file', count)
    .addHelpText(
      'after',
      `
Examples:
  planfold log release --since 2h --failed
  planfold log release build --output --grep error
  planfold log release build --add -m 'the cache was cold'`,
    )
    .action(act(async () => (await import('./log.ts')).log))

  program
    .command('next')
    .description('list tasks that can start now')
    .argument('[plan]', 'name or UUID of the plan (default: all unfinished plans)')
    .argument('[task]', 'only this task')
    .option('-e, --explain', 'say for each task why it is ready or not')
    .option('--claim', 'claim the next external task, as `planfold claim` does')
    .option('--lease <duration>', 'with --claim: it expires after this time without a heartbeat, e.g. 10m', duration)
    .action(act(async () => (await import('./next.ts')).next))

  program
    .command('graph')
    .description('show the dependency graph')
    .argument('[plan-or-file]', 'name or UUID of a plan, or a plan file')
    .option('--text', 'print text, in the order of work (default)')
    .option('--tree', 'print a tree of milestones, tasks and subtasks')
    .option('--markdown', 'print Markdown')
    .option('--mermaid', 'print a Mermaid flowchart')
    .option('--dot', 'print DOT for Graphviz')
    .option('--svg', 'print an SVG picture')
    .action(act(async () => (await import('./graph.ts')).graph))
}

export function addDriving(program: Command, act: Act): void {
  program
    .command('init')
    .description('set up Planfold here and write an example plan')
    .action(act(async () => (await import('./init.ts')).init))

  program
    .command('validate')
    .description('check plan files')
    .argument('<file...>', 'plan files; - reads standard input')
    .action(act(async () => (await import('./validate.ts')).validate))

  program
    .command('run')
    .description('run a plan file, or continue an existing plan')
    .argument(
      '[plan-or-file]',
      'plan file, or name or UUID of a plan (default: asks to run the plan file of this folder)',
    )
    .option('-n, --dry-run', 'show what each task would do; run nothing')
    .option('--again', 'start over as a new plan, including tasks that are unsafe to repeat')
    .option('--repeat', 'if completed unsafe tasks changed: run them again')
    .option('--keep-done', 'if completed unsafe tasks changed: keep their results, do not run them again')
    .option('--set <key=value>', 'set a parameter, if the file is a template; repeat for more', collectValues)
    .option('--set-file <key=path>', 'set a parameter to the content of a file', collectValues)
    .option('--with <agent>', 'let this coding agent work the tasks that would wait for a claim')
    .option('--model <name>', 'with --with: the model that the agent asks, PROVIDER/NAME')
    .option('-w, --wait', 'keep running while the plan waits for people or agents')
    .option('--no-start', 'create the plan without starting it')
    .option(
      '--mirror [folder]',
      'write the state of the plan to a file in this folder (default: plans) and keep it updated',
    )
    .addHelpText(
      'after',
      `
Examples:
  planfold run plan.yaml              run it and watch
  planfold run plan.yaml --dry-run    show what it would do
  planfold run release                continue a failed plan
  planfold run plan.yaml --with claude  let Claude Code work its external tasks

Running a file again continues the plan. If the file changed, the plan is updated (a new revision). Completed tasks are not
run again; failed, undone and changed tasks are. A completed or cancelled plan starts over under the next free name
(hello-2); --again does the same with a failed plan.`,
    )
    .action(act(async () => (await import('./run.ts')).run))

  program
    .command('resume')
    .description('continue a plan after a pause, a crash, a failure or an approval')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('-a, --all', 'resume all unfinished plans, one after the other')
    .option('--session <id>', 'resume the unfinished plans of this session, one after the other')
    .option('--watch', 'keep watching and resume plans whose process dies')
    .option(
      '--mirror [folder]',
      'write the state of the plan to a file in this folder (default: plans) and keep it updated',
    )
    .option('-w, --wait', 'keep running while the plan waits for people or agents')
    .action(act(async () => (await import('./resume.ts')).resume))

  program
    .command('pause')
    .description('stop starting tasks; continue later with resume')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--session <id>', 'pause all running plans of this session')
    .option('-f, --force', 'also stop unsafe tasks; you decide later whether they succeeded')
    .option('-m, --message <text>', 'why')
    .action(act(async () => (await import('./pause.ts')).pause))

  program
    .command('halt')
    .description('stop all plans now and block new work until --lift')
    .option('-m, --message <text>', 'why')
    .option('--lift', 'allow work again; plans stay paused until you resume them')
    .option('--show', 'only show whether work is halted')
    .action(act(async () => (await import('./pause.ts')).halt))

  program
    .command('cancel')
    .description('stop a plan for good and run the undo steps of completed tasks')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('-f, --force', 'stop at once, without undo steps (`compensate:`)')
    .option('-m, --message <text>', 'why')
    .option('-y, --yes', 'do not ask for confirmation if no plan is named')
    .action(act(async () => (await import('./pause.ts')).cancel))
}
