// The words for the service: `planfold serve`, and who may use it.

import { type Command, InvalidArgumentError, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, count, duration } from '../option-values.ts'
import type { ServeOptions } from './serve.ts'
import type { CreateOptions } from './token.ts'

const GROUP = 'Serve:'
const PORT = 8011

export function addServing(program: Command, act: Act): void {
  program
    .command('serve')
    .helpGroup(GROUP)
    .description('the service: HTTP and live events, with the engine inside')
    .addOption(new Option('--port <number>', 'where to listen; 0 for any that is free').argParser(port).default(PORT))
    .option('--host <address>', 'on which address', '127.0.0.1')
    .option('--database <folder>', 'where the state is kept, as --dir; or its planfold.db')
    .option('--root <folder>', 'the workspace, instead of the project we stand in')
    .option('--no-auth', 'ask nobody for a token; on this machine only')
    .option('--tls-cert <file>', 'the certificate, in PEM')
    .option('--tls-key <file>', 'its key')
    .option('--trusted-proxy <origin>', 'the https address of a proxy in front of it')
    .option('--allow-host <name>', 'another name it is called by; repeat for more', collectValues)
    .addOption(
      new Option('--log-level <level>', 'what is written to standard error')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--no-drive', 'drive no plans, only answer')
    .addOption(new Option('--max-plans <n>', 'how many plans are driven at once').argParser(count).default(16))
    .addHelpText(
      'after',
      `
The link it prints works once; programs use the token in .planfold/server/token. Ctrl-C lets what is under way end.`,
    )
    .action((options: ServeOptions) => act(async context => (await import('./serve.ts')).serveStore(context, options)))

  const token = program
    .command('token')
    .helpGroup(GROUP)
    .description('who may use the service: create, list, revoke, link')

  token
    .command('create')
    .description('a token for somebody; it is printed once')
    .argument('<name>', 'who acts with it; stands on every entry')
    .addOption(
      new Option('--role <role>', 'what it may do')
        .choices(['viewer', 'operator', 'approver', 'admin'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--expires <age>', 'how long it works, e.g. 30d').argParser(duration))
    .option('--plan <plan>', 'only this plan; repeat for more', collectValues)
    .option('--session <id>', 'only the plans of this session; repeat for more', collectValues)
    .action((name: string, options: CreateOptions) =>
      act(async context => (await import('./token.ts')).tokenCreate(context, name, options)),
    )

  token
    .command('list')
    .description('who has one')
    .action(() => act(async context => (await import('./token.ts')).tokenList(context)))

  token
    .command('revoke')
    .description('from now on it opens nothing')
    .argument('<name>', 'its name')
    .action((name: string) => act(async context => (await import('./token.ts')).tokenRevoke(context, name)))

  token
    .command('link')
    .description('a link that opens the running service in a browser, once')
    .argument('[name]', 'of whose token; yours when left out')
    .action((name: string | undefined) => act(async context => (await import('./token.ts')).tokenLink(context, name)))
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Write a port, 0 to 65535.')
  return Number(text)
}
