// The command line as commander reads it: global options, help and all commands. Nothing runs here: an action hands its body
// to `run`, and main calls that with a context.

import { Command } from 'commander'
import { addGoals } from '../extras/planners/commands/goals-commands.ts'
import type { extraCommands } from '../extras.ts'
import { addTemplates } from './commands/formats/formats-commands.ts'
import { addRepository } from './commands/git/git-commands.ts'
import { addAsking, addDeciding } from './commands/people/people-commands.ts'
import { addDriving, addLooking } from './commands/plans/plans-commands.ts'
import { addBudget, addPolicy, addSecrets } from './commands/policy/policy-commands.ts'
import { addAuditing } from './commands/records/records-commands.ts'
import { addReplanning, addRevisions } from './commands/revisions/revisions-commands.ts'
import { addServing } from './commands/service/service-commands.ts'
import { addGoingBack, addTime } from './commands/undo/undo-commands.ts'
import { addKeeping } from './commands/upkeep/upkeep-commands.ts'
import type { Act, Run } from './context.ts'
import { addHelp, otherPlace, pathOf, unknownCommand } from './help.ts'

/** `extras`: what they add. It is loaded by the caller: a file that waits when it is loaded cannot be joined with others. */
export function buildProgram(version: string, extras: Awaited<ReturnType<typeof extraCommands>>, run: Run): Command {
  const program = new Command('planfold')
    .description('Run plans for AI coding agents: durable, reversible, auditable.')
    .usage('<command>')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'print the result as JSON: { "planfold": 1, "data": … }')
    .option('--dir <folder>', 'folder where Planfold keeps its data (default: the nearest .planfold)')
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
      await run(async context => (await load())(context, ...(typed.slice(0, -1) as unknown as typeof typed)))
  addHelp(program)
  addGoals(program, act)
  addDriving(program, act)
  addTemplates(program, act)
  addLooking(program, act)
  addDeciding(program, act)
  addAsking(program, act)
  addRevisions(program, act)
  addReplanning(program, act)
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
    const { parent } = command
    const word = parent?.args[0]
    // `planfold inbox nosuch` reaches `inbox list`, the default, with an argument too many.
    if (error.code === 'commander.excessArguments' && parent?.parent != null && word !== command.name())
      throw unknownCommand(parent, word ?? '')
    const place = PLACE_CODES.has(error.code) ? otherPlace(command, error) : null
    throw place ?? Object.assign(error, { command: pathOf(command) })
  })
  if (command.parent !== null && command.commands.length > 0)
    command.helpCommand('help [command]', 'show help for one of these commands')
  for (const part of command.commands) nameInErrors(part)
}
