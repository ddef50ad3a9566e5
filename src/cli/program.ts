// What can be typed: the global options, the help, and all commands with their words. Nothing is carried out here; an action
// hands a body to `act`, which main gives a context.

import { Command } from 'commander'
import { addTemplates } from './commands/formats/formats-commands.ts'
import { addRepository } from './commands/git/git-commands.ts'
import { addAsking, addDeciding } from './commands/people/people-commands.ts'
import { addDriving, addLooking } from './commands/plans/plans-commands.ts'
import { addAuditing } from './commands/records/records-commands.ts'
import { addReplanning, addRevisions } from './commands/revisions/revisions-commands.ts'
import { addServing } from './commands/service/service-commands.ts'
import { addGoingBack, addTime } from './commands/undo/undo-commands.ts'
import { addKeeping } from './commands/upkeep/upkeep-commands.ts'
import type { Act } from './context.ts'

const HELP = `
Examples:
  planfold init                     make a place for plans, and an example
  planfold run plan.yaml            run it, and watch
  planfold resume                   go on after Ctrl-C, a crash or a reboot
  planfold status                   where it stands, what waits for you
  planfold approve hello review     answer a gate
  planfold log hello --follow       what happens, from another terminal
  planfold rollback hello -n        what going back would do; without -n it is done
  planfold serve                    the service, for browsers, agents and programs

Exit codes:
  0 done   1 the plan failed   2 bad input or usage   3 refused (conflict, policy, not allowed)
  4 waits for a person or for space, or paused   5 a bug of ours   130 interrupted`

export function buildProgram(version: string, act: Act): Command {
  const program = new Command('planfold')
    .description('Durable, reversible, auditable plans for AI coding agents')
    .usage('[options] <command>')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'answer in JSON: { "planfold": 1, "data": … }')
    .option('--dir <folder>', 'where the state is kept, instead of the nearest .planfold')
    .option('--as <name>', 'who acts, instead of your git or login name')
    .option('--no-color', 'no colour')
    .option('-q, --quiet', 'only answers and errors')
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true)
    .exitOverride()
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
  addKeeping(program, act)
  program.commandsGroup('Keep:')
  program.helpCommand('help [command]', 'help for a command')
  nameInErrors(program, 'planfold')
  return program
}

/** What is wrong with the words of a command is told with its name, so that its own help can be named. */
function nameInErrors(command: Command, name: string): void {
  command.exitOverride(error => {
    throw Object.assign(error, { command: name })
  })
  for (const part of command.commands) nameInErrors(part, `${name} ${part.name()}`)
}
