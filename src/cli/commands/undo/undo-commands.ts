// The options and help of the commands that undo, recover and fork: checkpoint, rollback, undo, fork.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, OPTIONAL_PLAN, PLAN } from '../option-values.ts'

export function addTime(program: Command, act: Act): void {
  const fork = program
    .command('fork')
    .description('copy a plan at a given point into its own worktree and continue there; merge it back with `adopt`')
    .argument('<plan>', PLAN)
    // Commander would ask `fork adopt` for it, too, if it were a required option.
    .option('--from <where>', 'TASK (after it), before:TASK, a checkpoint, or the number of a log entry (required)')
    .option('--name <name>', 'name of the new plan (default: <plan>-fork)')
    .option('--input <task.key=value>', 'change an input of an unfinished task; repeat for more', collectValues)
    .option('--revision <file>', 'use this plan file, in any known format')
    .option('--model <model>', 'use this model for unfinished tasks that call one')
    .option('--here', 'work in the current folder instead of a new worktree')
    .option('--start', 'start the fork at once and watch it')
    .addHelpText(
      'after',
      `
Examples:
  planfold fork release --from build --start
  planfold fork release --from before:pack --input pack.level=9

The original plan does not change. \`planfold show A --compare B\` shows both side by side.`,
    )
    .action(act(async () => (await import('./fork.ts')).fork))

  fork
    .command('adopt')
    .description('merge the changes of a fork back into its plan; shows the diff first')
    .argument('<fork>', 'name or UUID of the fork')
    .option('-n, --dry-run', 'only show what would happen')
    .option('-p, --patch', 'show the whole diff')
    .option('--keep <path>', 'keep the current file; `all` for every conflict; repeat for more', collectValues)
    .option('--take <path>', "take the fork's version (the current one is backed up); or `all`", collectValues)
    .option('--merge <path>', 'merge both versions; conflicting files stay as they are; or `all`', collectValues)
    .option('--into <plan>', 'merge into this plan (default: the one it was forked from)')
    .option('--keep-folder', 'keep the worktree of the fork')
    .option('--remove-ignored', 'remove the worktree even if it contains ignored files, such as node_modules')
    .addHelpText(
      'after',
      `
Examples:
  planfold fork adopt release-fork --dry-run             show what would happen
  planfold fork adopt release-fork --merge notes.md      merge with changes made here since
  planfold undo release                             undo the merge

If a file changed on both sides, nothing happens until you choose. The worktree is removed when everything in it is merged
or backed up. \`adopt\` also works without the worktree: the files of a fork are stored when it finishes.`,
    )
    .action(act(async () => (await import('./adopt.ts')).adopt))
}

export function addGoingBack(program: Command, act: Act): void {
  addCheckpoints(program, act)

  const rollback = program
    .command('rollback')
    .description('revert files, tasks and git to an earlier point')
    .argument('[plan]', OPTIONAL_PLAN)
    .option(
      '--to <where>',
      'a checkpoint, TASK (after it), before:TASK, or the number of a log entry (default: the start of the plan)',
    )
    .addOption(
      new Option('--files <pattern...>', 'revert only these files, folders or patterns; tasks do not change').conflicts(
        'tasks',
      ),
    )
    .option('--tasks <task...>', 'revert only what these tasks wrote; they and the tasks after them will re-run')
    .option('--files-only', 'revert only files, not tasks and git')
    .option('-y, --yes', 'do not ask for confirmation')
  withChoices(rollback, "the checkpoint's version")
    .addHelpText(
      'after',
      `
Examples:
  planfold rollback release --dry-run                     show what would happen
  planfold rollback release --to before:pack              the state before task pack
  planfold rollback release --to cp-build                 a checkpoint, or the beginning of its name
  planfold rollback release --files src docs/guide.md     only some files
  planfold rollback release --keep notes.md --take all

Only files that the plan wrote are reverted. If you edited one of them since, nothing happens until you choose; your version
is kept or backed up. Files that no task declares, and that changed while a task without \`write\` ran, may be yours: they stay unless
you say yes at the terminal, or use --include-unclaimed. A preview is shown first. Without --to all work of the plan is reverted: at a terminal you are
asked first, a script needs --yes.
\`planfold undo\` undoes a rollback.`,
    )
    .action(act(async () => (await import('./rollback.ts')).rollback))

  const undo = program
    .command('undo')
    .description('undo the last rollback or merge; run it again to redo; `undo files` recovers single files')
    .argument('[plan]', OPTIONAL_PLAN)
    // `--merge` of `undo files` takes no path.
    .enablePositionalOptions()
  withChoices(undo, 'the version from before the rollback')
    .addHelpText(
      'after',
      `
Example:
  planfold undo release --dry-run    show what would happen`,
    )
    .action(act(async () => (await import('./rollback.ts')).undo))
  addFiles(undo, act)
}

function addFiles(undo: Command, act: Act): void {
  undo
    .command('files')
    .description('recover file versions that a retry or rollback replaced')
    .argument('<plan>', PLAN)
    .argument('[paths...]', 'files, folders or patterns to recover (default: list what can be recovered)')
    .option('--hash <hash>', 'recover this version (default: the latest)')
    .option('--overwrite', 'overwrite the current file (it is backed up first)')
    .option('--merge', 'merge with the current file, if there is no conflict')
    .addHelpText(
      'after',
      `
Examples:
  planfold undo files release                  list backups: file, time and task
  planfold undo files release src/mine.txt     recover the latest version
  planfold undo files release src/mine.txt --hash 6b9a01c7

A retry after a crash first reverts the files of the task. Planfold keeps the replaced versions for 30 days, or as long as
\`policy.retention.restored\` says.`,
    )
    .action(act(async () => (await import('./rollback.ts')).restore))
}

function withChoices(command: Command, other: string): Command {
  return command
    .option('--keep-git', 'do not change branches and tags')
    .option(
      '--include-unclaimed',
      'also revert files that no task declares and that changed while a task without `write` ran; they may be yours',
    )
    .option('-n, --dry-run', 'only show what would happen')
    .option('-f, --force', 'continue if an undo step fails or an external effect remains; overwrite edited files')
    .option('--keep <path>', 'keep the current file; `all` for every conflict; repeat for more', collectValues)
    .option('--take <path>', `take ${other} (the current one is backed up); or \`all\``, collectValues)
    .option('--merge <path>', 'merge both versions; conflicting files stay as they are; or `all`', collectValues)
}

function addCheckpoints(program: Command, act: Act): void {
  const checkpoint = program
    .command('checkpoint')
    .description('save all files and the state of the plan under a name; list, show or compare checkpoints')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--name <name>', 'name of the checkpoint (default: plan and time)')
    .addHelpText(
      'after',
      `
Examples:
  planfold checkpoint release --name before-the-rewrite
  planfold checkpoint list release
  planfold checkpoint diff release cp-build-20261115T083000123Z --patch`,
    )
    .action(act(async () => (await import('./checkpoints.ts')).checkpoint))
  const word = (name: string, description: string): Command =>
    checkpoint
      .command(name)
      .description(description)
      .configureOutput({ writeErr: () => {} })

  word('list', 'list checkpoints, latest last')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('-a, --all', 'list all, without a limit')
    .action(act(async () => (await import('./checkpoints.ts')).listCheckpoints))
  word('show', 'show the state of the plan at a checkpoint, and what is not saved')
    .argument('<plan>', PLAN)
    .argument('<checkpoint>', 'a checkpoint, TASK (after it), before:TASK, or the number of a log entry')
    .action(act(async () => (await import('./checkpoints.ts')).showCheckpoint))
  word('diff', 'compare two checkpoints, or one with the current files')
    .argument('<plan>', PLAN)
    .argument('<from>', 'a checkpoint, TASK (after it), before:TASK, or the number of a log entry')
    .argument('[to]', 'another one (default: the current files)')
    .option('-p, --patch', 'show the changed lines too')
    .action(act(async () => (await import('./checkpoints.ts')).diffCheckpoints))
  word('cat', 'print a stored file by its hash')
    .argument('<plan>', PLAN)
    .argument('<sha256>', 'hash, as printed by rollback or checkpoint')
    .action(act(async () => (await import('./checkpoints.ts')).cat))
}
