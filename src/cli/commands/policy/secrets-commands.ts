// The options and help of `planfold secrets`.

import type { Command } from 'commander'
import type { Act } from '../../context.ts'
import type { SourceOptions } from './secrets.ts'

export function addSecrets(program: Command, act: Act): void {
  const secrets = program
    .command('secrets')
    .description('configure where the secrets of tasks come from')
    .addHelpText(
      'after',
      `
A task with \`secrets: [NPM_TOKEN]\` gets the value in its environment; no other task does. Planfold stores only the source, in
~/.config/planfold/secrets.json (or XDG_CONFIG_HOME). The value is fetched when the task begins, and replaced by [redacted] in its output.

Examples:
  planfold secrets set NPM_TOKEN --env NPM_TOKEN
  planfold secrets set DEPLOY_KEY --file ~/.keys/deploy
  planfold secrets set API --command pass show work/api
  planfold secrets list`,
    )

  secrets
    .command('list', { isDefault: true })
    .description('list configured secrets and where each comes from')
    .action(() => act(async context => (await import('./secrets.ts')).listAll(context)))

  secrets
    .command('set')
    .description('configure where a secret comes from')
    .argument('<name>', 'as plans name it')
    .option('--env <variable>', 'from an environment variable of the planfold process')
    .option('--file <path>', 'from a file that only you may read')
    .option('--command <words...>', 'from the output of a command')
    .action((name: string, options: SourceOptions) =>
      act(async context => (await import('./secrets.ts')).set(context, name, options)),
    )

  secrets
    .command('remove')
    .description('remove a secret from this list; the secret itself stays where it is')
    .argument('<name>', 'as `secrets list` prints it')
    .action((name: string) => act(async context => (await import('./secrets.ts')).remove(context, name)))
}
