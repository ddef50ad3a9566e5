// The options and help of `planfold serve`, `planfold serve token` and `planfold mcp`.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { isWorkerLabel } from '../../../domain/id.ts'

import type { Act } from '../../context.ts'
import { collectValues, count, duration } from '../option-values.ts'

const PORT = 8011

export function addServing(program: Command, act: Act): void {
  const serve = program
    .command('serve')
    .description('start the HTTP server and run plans; `serve token` manages its tokens')
    .addOption(new Option('--port <number>', 'port to listen on; 0 for any free port').argParser(port).default(PORT))
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--root <folder>', 'workspace (default: the current project)')
    .option('--no-auth', 'disable authentication; localhost only')
    .option('--tls-cert <file>', 'TLS certificate, in PEM')
    .option('--tls-key <file>', 'key of the certificate')
    .option('--trusted-proxy <origin>', 'https address of the reverse proxy in front of the server')
    .option('--allow-host <name>', 'accept this host name in requests; repeat for more', collectValues)
    .addOption(
      new Option('--log-level <level>', 'log level on standard error')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--no-drive', 'serve only the API and the web UI; do not run plans')
    .addOption(new Option('--max-plans <n>', 'run at most this many plans at once').argParser(count).default(16))
    .addHelpText(
      'after',
      `
The printed link works once; programs use the token in .planfold/server/token. Ctrl-C finishes running tasks, then stops.`,
    )
    .action(act(async () => (await import('./serve.ts')).serveStore))

  program
    .command('worker')
    .description('drive plans that are due, until stopped')
    .addOption(
      new Option('--label <label>', 'offer this label to plans with `place:`; repeat for more').argParser(label),
    )
    .addOption(new Option('--concurrency <n>', 'drive at most this many plans at once').argParser(count).default(4))
    .addHelpText(
      'after',
      `
A worker has the labels of its machine, such as linux and x64. Ctrl-C finishes running tasks, then stops.
With --database postgres://… several workers share the plans; a plan is driven in the folder that it was made in.`,
    )
    .action(act(async () => (await import('./worker.ts')).runWorker))

  program
    .command('top')
    .description('show the workers, and the plans that wait for one')
    .action(act(async () => (await import('./worker.ts')).top))

  program
    .command('mcp', { hidden: true })
    .description('serve plans to an agent over MCP (standard input and output)')
    .option('--run', 'also run tasks that are not external (commands, edits, …) while the agent is connected')
    .option('--compat', 'for agents that expect one tool: offer manage_plan instead of plan_read and plan_write')
    .action(act(async () => (await import('./mcp.ts')).serveMcp))

  const token = serve.command('token').description('create, list or revoke tokens of the server, or print a login link')

  token
    .command('create')
    .description('create a token; it is printed once')
    .argument('<name>', 'user name, recorded in the log')
    .addOption(
      new Option('--role <role>', 'what the token allows')
        .choices(['viewer', 'operator', 'approver', 'admin'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--expires <age>', 'lifetime, e.g. 30d (default: no limit)').argParser(duration))
    .option('--plan <plan>', 'limit the token to this plan; repeat for more', collectValues)
    .option('--session <id>', 'limit the token to the plans of this session; repeat for more', collectValues)
    .action(act(async () => (await import('./token.ts')).tokenCreate))

  token
    .command('list')
    .description('list tokens')
    .action(act(async () => (await import('./token.ts')).tokenList))

  token
    .command('revoke')
    .description('revoke a token')
    .argument('<name>', 'name of the token')
    .action(act(async () => (await import('./token.ts')).tokenRevoke))

  token
    .command('link')
    .description('print a link that opens the running server in a browser; works once')
    .argument('[name]', 'name of the token (default: yours)')
    .action(act(async () => (await import('./token.ts')).tokenLink))
}

function label(text: string, before: readonly string[] = []): readonly string[] {
  if (!isWorkerLabel(text))
    throw new InvalidArgumentError('Write one word of letters, digits and . _ - /, of at most 64 characters.')
  return [...before, text]
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Write a port, 0 to 65535.')
  return Number(text)
}
