// The options and help of `planfold artifact`.

import type { Command } from 'commander'
import { OPTIONAL_PLAN, PLAN } from '../../../cli/commands/option-values.ts'
import type { Act } from '../../../cli/context.ts'

const ADDRESS = 'plan/task/name, with @version for an earlier one: @2, or @ and the beginning of its hash'

export function addCommands(program: Command, act: Act): void {
  const artifact = program
    .command('artifact')
    .description('list, read and upload what tasks left: named, typed, with every version')
    .addHelpText(
      'after',
      `
Examples:
  planfold artifact list release
  planfold artifact get release/measure/stats --out stats.json
  planfold artifact get release/measure/stats@1 --about
  planfold artifact put release/measure/notes notes.md --token TOKEN
  planfold artifact export release --out handed-over`,
    )
  artifact
    .command('list', { isDefault: true })
    .description('list the artifacts of a plan, oldest first')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--task <task>', 'only of this task')
    .action(act(async () => (await import('./artifact.ts')).listArtifacts))
  artifact
    .command('get')
    .description('write the content of an artifact, or show where it came from')
    .argument('<address>', ADDRESS)
    .option('--out <file>', 'write to this new file (default: standard output)')
    .option('--about', 'show its hash, versions, inputs, command, approvals and decisions instead')
    .action(act(async () => (await import('./artifact.ts')).getArtifact))
  artifact
    .command('put')
    .description('upload a file as an artifact of a task that you claimed; the same command continues a broken upload')
    .argument('<address>', 'plan/task/name')
    .argument('<file>', 'the file')
    .requiredOption('--token <token>', 'token of the claim')
    .action(act(async () => (await import('./artifact.ts')).putArtifact))
  artifact
    .command('export')
    .description('write planning.md, the plan, logs and artifacts in the layout of .openagent')
    .argument('<plan>', PLAN)
    .requiredOption('--out <folder>', 'new or empty folder')
    .action(act(async () => (await import('./openagent.ts')).exportFolder))
  artifact
    .command('import')
    .description('make a plan of a folder with planning.md or plans/*.json, and keep its .openagent files as artifacts')
    .argument('<folder>', 'folder that contains .openagent')
    .option('--name <name>', 'name of the plan')
    .action(act(async () => (await import('./openagent.ts')).importFolder))
}
