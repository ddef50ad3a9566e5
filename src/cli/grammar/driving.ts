// The words for making, checking and driving plans. Each command's file is loaded only when it is the one that was called.

import type { Command } from 'commander'
import type { CancelOptions } from '../commands/cancel.ts'
import type { HaltOptions } from '../commands/halt.ts'
import type { PauseOptions } from '../commands/pause.ts'
import type { ResumeOptions } from '../commands/resume.ts'
import type { RunOptions } from '../commands/run.ts'
import type { Act } from '../program.ts'
import { several } from './values.ts'

const GROUP = 'Make and drive plans:'

export function addDriving(program: Command, act: Act): void {
  program
    .command('init')
    .helpGroup(GROUP)
    .description('make a place for plans here, and an example plan')
    .action(() => act(async context => (await import('../commands/init.ts')).init(context)))

  program
    .command('validate')
    .helpGroup(GROUP)
    .description('check plan documents, without writing anything')
    .argument('<file...>', 'plan documents; - reads standard input')
    .action((files: string[]) =>
      act(async context => (await import('../commands/validate.ts')).validate(context, files)),
    )

  program
    .command('run')
    .helpGroup(GROUP)
    .description('run a plan document, or a plan that is there already, to its end')
    .argument('<plan-or-file>', 'a plan document, or the name or UUID of a plan')
    .option('-n, --dry-run', 'show what each task would do, and write nothing')
    .option('--again', 'run an ended plan afresh, even what may not happen twice')
    .option('--repeat', 'going on with a failed plan, do again what is unsafe to repeat and has changed')
    .option('--keep-done', 'going on with a failed plan, leave that done')
    .option('--set <key=value>', 'a parameter, when the file is a template; repeat for more', several)
    .option('--set-file <key=path>', 'a parameter from a file', several)
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
      act(async context => (await import('../commands/run.ts')).run(context, word, options)),
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
      act(async context => (await import('../commands/resume.ts')).resume(context, word, options)),
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
      act(async context => (await import('../commands/pause.ts')).pause(context, word, options)),
    )

  program
    .command('halt')
    .helpGroup(GROUP)
    .description('the kill switch: end all work of all plans now; nothing begins until it is lifted')
    .option('-m, --reason <text>', 'why')
    .option('--lift', 'let work begin again; plans stay paused until they are resumed')
    .option('--show', 'only say whether everything is halted')
    .action((options: HaltOptions) =>
      act(async context => (await import('../commands/halt.ts')).halt(context, options)),
    )

  program
    .command('cancel')
    .helpGroup(GROUP)
    .description('end a plan early; what declares a compensation is compensated')
    .argument('[plan]', 'its name or UUID')
    .option('-f, --force', 'at once, and without compensation')
    .option('-m, --reason <text>', 'why')
    .action((word: string | undefined, options: CancelOptions) =>
      act(async context => (await import('../commands/cancel.ts')).cancel(context, word, options)),
    )
}
