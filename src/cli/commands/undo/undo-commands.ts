// The commands for going back and looking back: checkpoints, rollback, undo, restore, fork, adopt, compare.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues } from '../option-values.ts'
import type { AdoptOptions } from './adopt.ts'
import type { DiffOptions } from './checkpoints.ts'
import type { CompareOptions } from './compare.ts'
import type { ForkOptions } from './fork.ts'
import type { RestoreOptions } from './restore.ts'
import type { RollbackOptions, UndoOptions } from './rollback.ts'

// The words for looking back: was it so, how did two runs differ, and what if it had gone on otherwise.

const HISTORY_GROUP = 'Look back:'
const HISTORY_PLAN = 'its name or UUID'

export function addTime(program: Command, act: Act): void {
  program
    .command('replay')
    .helpGroup(HISTORY_GROUP)
    .description('prove a journal, decide every entry again and re-enact the plan; nothing is run or written')
    .argument('<plan>', HISTORY_PLAN)
    .action((plan: string) => act(async context => (await import('../records/replay.ts')).replay(context, plan)))

  program
    .command('compare')
    .helpGroup(HISTORY_GROUP)
    .description('two plans side by side: definitions, outcomes, times, outputs')
    .argument('<a>', HISTORY_PLAN)
    .argument('<b>', HISTORY_PLAN)
    .option('--all', 'also the tasks that went the same way, however many')
    .action((a: string, b: string, options: CompareOptions) =>
      act(async context => (await import('./compare.ts')).compare(context, a, b, options)),
    )

  program
    .command('fork')
    .helpGroup(HISTORY_GROUP)
    .description('go on from where a plan stood, as a new plan in a folder of its own; the old one stays as it is')
    .argument('<plan>', HISTORY_PLAN)
    .requiredOption('--from <where>', 'TASK (where it ended), before:TASK, a checkpoint, or the number of an entry')
    .option('--name <name>', 'of the new plan, instead of <plan>-fork')
    .option('--input <task.key=value>', 'another input for a task that is open there; may be repeated', collectValues)
    .option('--revision <file>', 'another definition, in any format that `run` reads')
    .option('--model <model>', 'another model for open tasks that ask one')
    .option('--here', 'work in this workspace as it is, not in a folder of its own')
    .option('--start', 'start it at once, and watch')
    .action((plan: string, options: ForkOptions) =>
      act(async context => (await import('./fork.ts')).fork(context, plan, options)),
    )

  program
    .command('adopt')
    .helpGroup(HISTORY_GROUP)
    .description('bring what a fork changed into the plan it was made from; shows the diff first, `undo` takes it back')
    .argument('<fork>', HISTORY_PLAN)
    .option('-n, --dry-run', 'only show what would happen')
    .option('-p, --patch', 'show the whole diff, however long')
    .option('--keep-mine <path>', 'leave what stands here; `all` for every such file; repeat for more', collectValues)
    .option('--take-theirs <path>', "take the fork's, after storing what stands here; or `all`", collectValues)
    .option('--merge <path>', 'join both where the text joins cleanly; or `all`', collectValues)
    .option('--into <plan>', 'record it in another plan than the one it was forked from')
    .option('--keep-folder', 'leave the folder of the fork where it is')
    .option('--remove-ignored', 'remove the folder although it holds ignored files, such as node_modules')
    .addHelpText(
      'after',
      `
Examples:
  planfold adopt release-fork --dry-run             what it changed, and what would happen
  planfold adopt release-fork --merge notes.md      join with what changed here since
  planfold undo release                             take the adoption back

Where something changed here since the fork was made, nothing happens until you choose. The folder of the fork is removed
only when everything in it was taken or kept, and is stored. It works without the folder as well: the files of a fork are
stored when it ends.`,
    )
    .action((fork: string, options: AdoptOptions) =>
      act(async context => (await import('./adopt.ts')).adopt(context, fork, options)),
    )
}

// The words for going back: checkpoints, rollback, undo.

const GROUP = 'Go back:'
const PLAN = 'its name or UUID; may be left out when only one plan is open'

export function addGoingBack(program: Command, act: Act): void {
  addCheckpoints(program, act)
  addRestore(program, act)

  const rollback = program
    .command('rollback')
    .helpGroup(GROUP)
    .description('set files, tasks and git back to a checkpoint; shows first what will happen')
    .argument('[plan]', PLAN)
    .option(
      '--to <where>',
      'a checkpoint, TASK (where it ended), before:TASK, or the number of an entry; all of it when left out',
    )
    .addOption(
      new Option('--files <pattern...>', 'only these files, folders or patterns; tasks stay as they are').conflicts(
        'tasks',
      ),
    )
    .option('--tasks <task...>', 'only what these tasks wrote; they and what needs them are open again')
    .option('--files-only', 'files go back, tasks and git stay as they are')
    .option('-y, --yes', 'do not ask before everything is taken back')
  withChoices(rollback)
    .addHelpText(
      'after',
      `
Examples:
  planfold rollback release --dry-run                        what would happen
  planfold rollback release --to cp-build-20261115T083000123Z    or the beginning of its name: --to cp-build
  planfold rollback release --to before:pack                 as it stood before pack began
  planfold rollback release --files src docs/guide.md        some files only
  planfold rollback release --keep-mine notes.md --take-theirs all

Only what the plan wrote is touched. Where somebody has worked since, nothing happens until you choose: your bytes are
either left in place or stored first. Without --to all work of the plan goes back; at a terminal you are asked first.
\`planfold undo\` takes a rollback back.`,
    )
    .action((plan: string | undefined, options: RollbackOptions) =>
      act(async context => (await import('./rollback.ts')).rollback(context, plan, options)),
    )

  const undo = program
    .command('undo')
    .helpGroup(GROUP)
    .description('take the last rollback back; once more is a redo')
    .argument('[plan]', PLAN)
  withChoices(undo)
    .addHelpText(
      'after',
      `
Example:
  planfold undo release --dry-run    what would happen`,
    )
    .action((plan: string | undefined, options: UndoOptions) =>
      act(async context => (await import('./rollback.ts')).undo(context, plan, options)),
    )
}

function addRestore(program: Command, act: Act): void {
  program
    .command('restore')
    .helpGroup(GROUP)
    .description('bring back versions of files that were set back; without paths, list what is kept')
    .argument('<plan>', 'its name or UUID')
    .argument('[paths...]', 'files, folders or patterns among those that are kept')
    .option('--hash <hash>', 'this version; the one that was replaced last when left out')
    .option('--overwrite', 'also where something else stands by now; that is kept in turn')
    .option('--merge', 'join both where the text joins cleanly')
    .addHelpText(
      'after',
      `
Examples:
  planfold restore release                  what was set back, when, and before which task
  planfold restore release src/mine.txt     bring the last version back
  planfold restore release src/mine.txt --hash 6b9a01c7

A retry after a crash sets files back to before the task. Whatever stood there is kept for 30 days, or as long as
\`policy.retention.restored\` says, also when the plan is pruned meanwhile.`,
    )
    .action((plan: string, paths: string[], options: RestoreOptions) =>
      act(async context => (await import('./restore.ts')).restore(context, plan, paths, options)),
    )
}

/** What rollback and undo share: how careful, and what to do where somebody has worked since. */
function withChoices(command: Command): Command {
  return command
    .option('--keep-git', 'leave branches and tags as they are')
    .option('-n, --dry-run', 'only show what would happen')
    .option('-f, --force', "go on where a compensation fails or something outside stays; take the checkpoint's side")
    .option('--keep-mine <path>', 'leave what stands there; `all` for every such file; repeat for more', collectValues)
    .option('--take-theirs <path>', "take the checkpoint's, after storing what stands there; or `all`", collectValues)
    .option('--merge <path>', 'join both where the text joins cleanly; or `all`', collectValues)
}

function addCheckpoints(program: Command, act: Act): void {
  program
    .command('checkpoint')
    .helpGroup(GROUP)
    .description('store all files and where the plan stands, under a name; prints it')
    .argument('[plan]', PLAN)
    .option('--name <name>', 'its name; made from plan and time when left out')
    .addHelpText(
      'after',
      `
Example:
  planfold checkpoint release --name before-the-rewrite`,
    )
    .action((plan: string | undefined, options: { name?: string }) =>
      act(async context => (await import('./checkpoints.ts')).checkpoint(context, plan, options)),
    )

  const checkpoints = program
    .command('checkpoints')
    .helpGroup(GROUP)
    .description('where a plan can go back to: list, show or diff its checkpoints, or cat stored bytes')
    .addHelpText(
      'after',
      `
Examples:
  planfold checkpoints release
  planfold checkpoints diff release cp-build-20261115T083000123Z --patch`,
    )
  const word = (name: string, description: string, options: { readonly isDefault?: true } = {}): Command =>
    // Errors are told once, by main.
    checkpoints
      .command(name, options)
      .description(description)
      .configureOutput({ writeErr: () => {} })

  word('list', 'all checkpoints, the latest last', { isDefault: true })
    .argument('[plan]', PLAN)
    .option('-a, --all', 'however many there are')
    .action((plan: string | undefined, options: { all?: boolean }) =>
      act(async context => (await import('./checkpoints.ts')).listCheckpoints(context, plan, options)),
    )
  word('show', 'one checkpoint: what the plan knew there, and what is not captured')
    .argument('<plan>', 'its name or UUID')
    .argument('<checkpoint>', 'its name')
    .action((plan: string, checkpoint: string) =>
      act(async context => (await import('./checkpoints.ts')).showCheckpoint(context, plan, checkpoint)),
    )
  word('diff', 'which files differ between two checkpoints, or between one and now')
    .argument('<plan>', 'its name or UUID')
    .argument('<from>', 'a checkpoint')
    .argument('[to]', 'another one; now when left out')
    .option('-p, --patch', 'show the text that differs, too')
    .action((plan: string, from: string, to: string | undefined, options: DiffOptions) =>
      act(async context => (await import('./checkpoints.ts')).diffCheckpoints(context, plan, from, to, options)),
    )
  word('cat', 'stored bytes, by the hash a rollback or a checkpoint named, to standard output')
    .argument('<plan>', 'its name or UUID')
    .argument('<sha256>', 'the hash')
    .action((plan: string, sha256: string) =>
      act(async context => (await import('./checkpoints.ts')).cat(context, plan, sha256)),
    )
}
