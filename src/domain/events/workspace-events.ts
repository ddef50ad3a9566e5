// The events of reverted files, compensations, spending, network access and notes.

import { amountsText, raisedText } from '../budget/budget-text.ts'
import type { EventOf } from '../event.ts'
import { defined } from '../json.ts'
import { decisionWords } from '../network-decision.ts'
import { auditedAction, resultFacts } from './event-facts.ts'
import type { PlanWording, RowsOf } from './event-row.ts'
import { names, placeText, restoring } from './event-words.ts'

export const WORKSPACE_EVENTS: RowsOf<'workspace' | 'files' | 'compensation' | 'budget' | 'network' | 'note'> = {
  'workspace.restored': {
    kind: 'files',
    sentence: restoredLine,
    facts: ({ to, saved, files }) => defined({ to, saved, files: files?.length }),
  },
  'files.restored': {
    kind: 'files',
    sentence: ({ files, by }) => `${names(files)} restored by ${by}`,
    shows: ['saved', 'changes', 'paths', 'by'],
  },
  'compensation.started': {
    kind: 'compensation',
    sentence: ({ task }) => `running the undo step of ${task}`,
    facts: ({ action }) => auditedAction(action),
  },
  'compensation.finished': {
    kind: 'compensation',
    sentence: ({ task, result }) =>
      `undo step of ${task} ${result.status === 'failed' ? `failed: ${result.failure.message}` : 'completed'}`,
    facts: ({ result }, { hashOf }) => resultFacts(result, hashOf),
    failure: ({ result }) => (result.status === 'failed' ? result.failure.message : null),
    setback: true,
    operations: ({ result }) => result.git ?? [],
  },
  'compensation.retried': {
    kind: 'compensation',
    sentence: ({ task, result }) => `undo step of ${task} failed and will be retried: ${result.failure.message}`,
    facts: ({ result }, { hashOf }) => resultFacts(result, hashOf),
    setback: true,
    operations: ({ result }) => result.git ?? [],
  },
  'budget.reserved': {
    kind: 'budget',
    sentence: ({ task, amount }) => `${task} reserved ${amountsText(amount)}`,
    facts: ({ id, visit, attempt, amount }) => ({ id, visit, attempt, amount: { ...amount } }),
  },
  'budget.settled': {
    kind: 'budget',
    sentence: ({ task, amount }) => `${task} spent ${amountsText(amount)}`,
    facts: ({ id, visit, attempt, amount }) => ({ id, visit, attempt, amount: { ...amount } }),
  },
  'budget.raised': {
    kind: 'budget',
    sentence: raisedText,
    shows: ['add', 'unpriced', 'large', 'by'],
  },
  'network.decided': {
    kind: 'network',
    sentence: ({ task, decisions, more = 0 }) => {
      const shown = decisions.slice(0, DECISIONS_SHOWN).map(decisionWords)
      const left = decisions.length - shown.length + more
      return `${task} ${[...shown, ...(left === 0 ? [] : [`and ${left} more`])].join('; ')}`
    },
    shows: ['visit', 'attempt', 'decisions', 'more'],
  },
  'note.added': {
    kind: 'note',
    sentence: noteLine,
    audited: event => `note: ${noteLine(event)}`,
  },
}

const DECISIONS_SHOWN = 5

function restoredLine(
  { task, files, kept = [] }: EventOf<'workspace.restored'>,
  words: PlanWording | undefined,
): string {
  const stay = kept.length === 0 ? '' : `edits kept: ${names(kept)}`
  if (files?.length === 0) return `before retrying ${task}${stay === '' ? '' : `, ${stay}`}`
  const how = words === undefined ? '' : `: ${words.word(restoring(files ?? [], words.plan))}`
  return `${files === undefined ? `files of ${task}` : names(files)} reverted to before ${task}; the previous version is backed up${how}${stay === '' ? '' : `; ${stay}`}`
}

function noteLine({ text, place, kind, by }: EventOf<'note.added'>): string {
  if (kind === 'lesson') return `lesson from ${by ?? 'somebody'}: ${text.replaceAll('\n', '; ')}`
  return place === undefined ? text : `${text} (${placeText(place)})`
}
