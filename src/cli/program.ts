// The command line for commander: global options, help and all commands. An action passes its body to `run`, which calls it with
// a context.

import { Command, type ParseOptions } from 'commander'
import type { extraCommands } from '../extras.ts'
import { addRepository } from './commands/git/git-commands.ts'
import { addAsking, addDeciding } from './commands/people/people-commands.ts'
import { addDriving, addLooking } from './commands/plans/plans-commands.ts'
import { addBudget, addPolicy, addSecrets } from './commands/policy/policy-commands.ts'
import { addAuditing } from './commands/records/records-commands.ts'
import { addConverging, addRevisions } from './commands/revisions/revisions-commands.ts'
import { addServing } from './commands/service/service-commands.ts'
import { addGoingBack, addTime } from './commands/undo/undo-commands.ts'
import { addKeeping, addTemplates } from './commands/upkeep/upkeep-commands.ts'
import type { Act, Run } from './context.ts'
import { addHelp, otherPlace, pathOf, unknownCommand } from './help.ts'
import { type CurrentWords, currentWords } from './renamed-commands.ts'

class Program extends Command {
  renamed: CurrentWords['renamed'] = null

  override async parseAsync(typed: readonly string[] = [], options?: ParseOptions): Promise<this> {
    const { words, renamed } = currentWords(this, typed)
    this.renamed = renamed
    return await super.parseAsync(words, options)
  }
}

/** `extras`: what they add. It is loaded by the caller: a file that waits when it is loaded cannot be joined with others. */
export function buildProgram(version: string, extras: Awaited<ReturnType<typeof extraCommands>>, run: Run): Command {
  const program = new Program('planfold')
  program
    .description('Run plans for AI coding agents: durable, reversible, auditable.')
    .usage('<command>')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'print the result as JSON: { "planfold": 1, "data": … }')
    .option('--dir <folder>', 'folder where Planfold keeps its data (default: the nearest .planfold)')
    .option('--database <place>', 'where plans are kept: postgres://USER@HOST/NAME, or a folder like --dir')
    .option('--as <name>', 'act as this user (default: git user.email, else your login)')
    .option('--no-color', 'disable colors')
    .option('-q, --quiet', 'print only results and errors')
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError(true)
    .exitOverride()
  // Commander passes itself behind what was typed.
  const act: Act =
    load =>
    async (...typed) =>
      await run(async context => {
        const { renamed } = program
        if (renamed !== null && !context.settings.quiet)
          context.stderr.write(`note: \`planfold ${renamed.old}\` is now \`planfold ${renamed.name}\`\n`)
        return await (await load())(context, ...(typed.slice(0, -1) as unknown as typeof typed))
      })
  addHelp(program)
  addDriving(program, act)
  addTemplates(program, act)
  addLooking(program, act)
  addDeciding(program, act)
  addAsking(program, act)
  addRevisions(program, act)
  addConverging(program, act)
  addGoingBack(program, act)
  addTime(program, act)
  addRepository(program, act)
  addAuditing(program, act)
  addServing(program, act)
  addPolicy(program, act)
  addBudget(program, act)
  addSecrets(program, act)
  addKeeping(program, act)
  for (const { addCommands } of extras) addCommands(program, act)
  nameInErrors(program)
  return program
}

const PLACE_CODES: ReadonlySet<string> = new Set(['commander.excessArguments', 'commander.unknownOption'])

/** A usage error names its command, so that the hint can point to the help of that command. */
function nameInErrors(command: Command): void {
  command.exitOverride(error => {
    if (error.code === 'commander.unknownCommand') throw unknownCommand(command, command.args[0] ?? '')
    const place = PLACE_CODES.has(error.code) ? otherPlace(command, error) : null
    if (place !== null) throw place
    const { parent } = command
    const word = parent?.args[0]
    // `planfold doctor nosuch`: a command with others under it, and no argument of its own.
    if (
      error.code === 'commander.excessArguments' &&
      command.commands.length > 0 &&
      command.registeredArguments.length === 0
    )
      throw unknownCommand(command, command.args[0] ?? '')
    // `planfold inbox nosuch` reaches `inbox list`, the default, with an argument too many.
    if (error.code === 'commander.excessArguments' && parent?.parent != null && word !== command.name())
      throw unknownCommand(parent, word ?? '')
    throw Object.assign(error, { command: pathOf(command) })
  })
  if (command.parent !== null && command.commands.length > 0 && command.registeredArguments.length === 0)
    command.helpCommand('help [command]', 'show help for one of these commands')
  for (const part of command.commands) nameInErrors(part)
}
