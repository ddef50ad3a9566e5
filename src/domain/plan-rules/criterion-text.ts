// The name under which the verdict of a criterion is recorded and found: its command, its expression or its text.

import type { CommandLine, Criterion, TestsCriterion } from '../plan-values.ts'

export function criterionText(criterion: Criterion): string {
  switch (criterion.type) {
    case 'check':
      return commandText(criterion.command)
    case 'tests':
      return `${commandText(criterion.command)}: ${wantedOf(criterion)}`
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

export const commandOf = (criterion: Criterion): CommandLine | null =>
  criterion.type === 'check' || criterion.type === 'tests' ? criterion.command : null

function wantedOf({ new: where, baseline, red, fewer }: TestsCriterion): string {
  const inside = where === undefined ? '' : ` (${where})`
  const wanted =
    red === true
      ? `a new test fails${inside}, the others are as before`
      : `no test fails that did not fail before${where === undefined ? '' : `, a new one passes${inside}`}`
  return [
    wanted,
    ...(fewer === undefined ? [] : ['tests may be removed']),
    ...(baseline === undefined ? [] : [`compared with '${baseline}'`]),
  ].join('; ')
}

export const effectsText = (patterns: readonly string[]): string =>
  `changes only ${patterns.length === 0 ? 'nothing' : patterns.join(', ')}`

export type CriterionKind = 'expression' | 'command' | 'verdict'

/** Which of the three ways a criterion is judged. */
export function criterionKind(criterion: Criterion): CriterionKind {
  return criterion.type === 'expect' ? 'expression' : commandOf(criterion) !== null ? 'command' : 'verdict'
}
