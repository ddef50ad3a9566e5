// The options and help of `planfold secrets`.

import type { Command } from 'commander'
import type { Act } from '../../context.ts'
import type { SourceOptions } from './secrets.ts'

export function addSecrets(program: Command, act: Act): void {
  const secrets = program
    .command('secrets')
    .description('say where the secrets come from that tasks name')
    .addHelpText(
      'after',
      `
A task that says \`secrets: [NPM_TOKEN]\` gets the value in its environment, and no other task does. Only the source is kept, in
planfold/secrets.json in your folder for settings. The value is fetched when the task begins, and replaced by [redacted] in its output.

Examples:
  planfold secrets set NPM_TOKEN --env NPM_TOKEN
  planfold secrets set DEPLOY_KEY --file ~/.keys/deploy
  planfold secrets set API --command pass show work/api
  planfold secrets list`,
    )

  secrets
    .command('list', { isDefault: true })
    .description('list the secrets you have named, and where each comes from')
    .action(() => act(async context => (await import('./secrets.ts')).listAll(context)))

  secrets
    .command('set')
    .description('say where a secret comes from')
    .argument('<name>', 'as plans name it')
    .option('--env <variable>', 'from a variable of the environment planfold is started in')
    .option('--file <path>', 'from a file that only you may read')
    .option('--command <words...>', 'from what a command prints')
    .action((name: string, options: SourceOptions) =>
      act(async context => (await import('./secrets.ts')).set(context, name, options)),
    )

  secrets
    .command('remove')
    .description('forget where a secret comes from')
    .argument('<name>', 'as `secrets list` prints it')
    .action((name: string) => act(async context => (await import('./secrets.ts')).remove(context, name)))
}
