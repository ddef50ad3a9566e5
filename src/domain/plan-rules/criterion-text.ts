// How a criterion is called wherever its verdict is recorded or looked up: by its command, its expression or its words.

import type { CommandLine, Criterion } from '../plan.ts'

export function criterionText(criterion: Criterion): string {
  switch (criterion.type) {
    case 'check':
      return commandText(criterion.command)
    case 'expect':
      return criterion.expression
    case 'prose':
      return criterion.text
    default:
      return criterion satisfies never
  }
}

export const commandText = (command: CommandLine): string =>
  'argv' in command ? command.argv.join(' ') : command.script.trim()

/** What `effects` demands. */
export const effectsText = (patterns: readonly string[]): string =>
  `changes only ${patterns.length === 0 ? 'nothing' : patterns.join(', ')}`
