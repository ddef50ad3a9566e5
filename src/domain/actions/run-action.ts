// `run`: a command or a script, in a sandbox where there is one.

import { commandImpact, commandImpacts } from '../plan-rules/command-impact.ts'
import { commandText } from '../plan-rules/criterion-text.ts'
import { wellKnown } from '../plan-rules/known-commands.ts'
import { isOffline, networkOf } from '../plan-rules/network.ts'
import type { CommandLine } from '../plan-values.ts'
import { type ActionFacts, PLAIN_OUTCOMES } from './action-facts.ts'

export interface RunAction {
  readonly type: 'run'
  readonly command: CommandLine
  readonly stdin?: string
  /** The last argument is a workspace path; a symbolic link on the way to it is an error. */
  readonly links?: 'refuse'
}

export const RUN: ActionFacts<RunAction> = {
  // Without a scope, or with network access, the effects are unknown.
  effect: (task, plan) =>
    (task.write ?? plan.policy?.write) !== undefined && isOffline(networkOf(plan, task)) ? 'workspace' : 'unsafe',
  acts: true,
  runsCommands: true,
  command: ({ command }) => command,
  changesFiles: true,
  writes: true,
  keepsToScope: true,
  watched: true,
  network: 'open',
  takesSecrets: true,
  dangers: ({ action: { command } }) => {
    const read = commandImpacts(command).filter(impact => impact !== 'unknown')
    return read.length > 0 ? read : wellKnown('argv' in command ? command.argv.join(' ') : command.script)
  },
  isUnreadable: ({ command }) => commandImpact(command) === 'unknown',
  fields: { command: 'command', stdin: 'text' },
  outputs: () => [],
  outcomes: () => PLAIN_OUTCOMES,
  agreed: ({ action: { command, stdin = null } }) =>
    'argv' in command ? { type: 'argv', argv: command.argv, stdin } : { type: 'script', script: command.script, stdin },
  named: () => 'words',
  line: ({ action }) => commandText(action.command),
  words: 'runs a command',
  proof: 'exit code 0',
  shown: ({ command }) =>
    'argv' in command ? { head: 'Runs', argv: command.argv } : { head: 'Runs', lines: [command.script] },
  audited: ({ command }) => ({
    ...('argv' in command ? { argv: command.argv } : { script: command.script }),
    resolved: !('argv' in command ? command.argv.join(' ') : command.script).includes('${{'),
  }),
}
