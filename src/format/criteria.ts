// Criteria that cannot lie (C21). A sentence somebody wrote becomes an expression only when every part of it is understood and
// everything it looks at is known; a command is one only when it was given as one; all else is prose and needs a verdict by a
// critic or a person. The sentence itself is always kept.

import type { Json, JsonObject } from '../domain/json.ts'
import type { CommandLine, Criterion } from '../domain/plan.ts'
import { type CriterionReading, type Known, readSentence } from './criteria-sentence.ts'
import { readPipeline } from './pipeline.ts'

export type { CriterionReading, Known }

/**
 * A sentence, or a map that says `check`, `command`, `run`, `expect`, or `prose` for a sentence that must not be read. What is
 * none of these is handed on for the schema to refuse.
 */
export function readCriterion(criterion: Json, known: Known = {}): CriterionReading {
  if (typeof criterion === 'string') return readSentence(criterion, known)
  if (criterion === null || typeof criterion !== 'object' || Array.isArray(criterion))
    return { type: 'prose', document: criterion }
  const map = criterion as JsonObject
  const keys = Object.keys(map)
  const command = COMMAND_KEYS.find(key => Object.hasOwn(map, key))
  const text = TEXT_KEYS.find(key => Object.hasOwn(map, key))
  const words = text === undefined ? {} : { text: map[text] as Json }
  // A key we do not know may change what is meant, so the schema gets to see it.
  if (keys.some(key => key !== command && key !== text && key !== 'expect' && key !== 'prose'))
    return { type: 'prose', document: map }
  if (command !== undefined && !Object.hasOwn(map, 'expect')) {
    const line = map[command] as Json
    const calls = command !== 'check' && typeof line === 'string' && readPipeline(line).ok
    return calls
      ? { type: 'prose', document: text === undefined ? line : `${String(map[text])}: ${line}` }
      : { type: 'check', document: { check: line, ...words } }
  }
  if (command === undefined && Object.hasOwn(map, 'expect'))
    return { type: 'expect', document: { expect: map.expect as Json, ...words } }
  if (keys.length === 1 && typeof map.prose === 'string') return { type: 'prose', document: map.prose }
  const alone = text === undefined ? undefined : map[text]
  return keys.length === 1 && typeof alone === 'string' ? readSentence(alone, known) : { type: 'prose', document: map }
}

export type CriterionKind = 'expression' | 'command' | 'verdict'

/** Which of the three ways a criterion is judged. */
export function criterionKind(criterion: Criterion): CriterionKind {
  return criterion.type === 'expect' ? 'expression' : criterion.type === 'check' ? 'command' : 'verdict'
}

/** A criterion as another format writes it: its sentence, where reading that gives the same criterion again. */
export function printCriterion(criterion: Criterion, known: Known): Json {
  if (criterion.type === 'check')
    return {
      check: raisedCommand(criterion.command),
      ...(criterion.text === undefined ? {} : { text: criterion.text }),
    }
  if (criterion.type === 'prose') {
    const { text } = criterion
    return same(readCriterion(text, known).document, text) ? text : { prose: text }
  }
  const { expression: expect, text } = criterion
  const wanted = text === undefined ? { expect } : { expect, text }
  return same(readCriterion(text ?? expect, known).document, wanted) ? (text ?? expect) : wanted
}

/** The same for people, in one line. */
export function explainCriterion(criterion: Criterion): string {
  switch (criterion.type) {
    case 'expect':
      return `judged by the expression ${clip(criterion.expression)}`
    case 'check': {
      const { command } = criterion
      return `judged by the exit code of ${clip('argv' in command ? command.argv.join(' ') : command.script)}`
    }
    case 'prose':
      return 'needs a verdict by a critic or a person'
    default:
      return criterion satisfies never
  }
}

const COMMAND_KEYS = ['check', 'command', 'run']
const TEXT_KEYS = ['text', 'description', 'criterion']
function raisedCommand(command: CommandLine): Json {
  return 'argv' in command ? command.argv : command.script
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function clip(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
