// Every criterion of a plan, and which of the three ways it is judged: by an expression, by a command, or by a critic or a
// person who must give a verdict. Nothing is ever taken for true because nobody could judge it.

import { expandTasks } from '../domain/expand.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { type CriterionKind, criterionKind } from '../format/criteria.ts'
import { oneLine } from '../format/pictures/scene.ts'
import type { Paint } from './paint.ts'
import type { Cell } from './table.ts'

export interface ShownCriterion {
  /** Null for the plan's own definition of done. */
  readonly task: string | null
  readonly key: 'done' | 'accept' | 'preconditions' | 'postconditions' | 'gate' | 'failure_modes'
  readonly judgedBy: CriterionKind
  /** The expression, the command, or the sentence. */
  readonly text: string
  /** How somebody put it in words, when something else was made of it. */
  readonly words: string | null
}

const SHOWN_MAX = 60
const TEXT_MAX = 160

export function criteriaOf(definition: PlanDefinition): readonly ShownCriterion[] {
  return [...(definition.done ?? []).map(one => shown(null, 'done', one)), ...expandTasks(definition).flatMap(ofTask)]
}

function ofTask(task: TaskDefinition): readonly ShownCriterion[] {
  return [
    ...(task.preconditions ?? []).map(one => shown(task.id, 'preconditions', one)),
    ...(task.action.type === 'gate' ? (task.action.checks ?? []) : []).map(one => shown(task.id, 'gate', one)),
    ...(task.accept ?? []).map(one => shown(task.id, 'accept', one)),
    ...(task.postconditions ?? []).map(one => shown(task.id, 'postconditions', one)),
    ...(task.failureModes ?? []).map(({ detect }) => shown(task.id, 'failure_modes', detect)),
  ]
}

function shown(task: string | null, key: ShownCriterion['key'], criterion: Criterion): ShownCriterion {
  const about = { task, key, judgedBy: criterionKind(criterion) }
  switch (criterion.type) {
    case 'prose':
      return { ...about, text: criterion.text, words: null }
    case 'expect':
      return { ...about, text: criterion.expression, words: criterion.text ?? null }
    case 'check': {
      const { command } = criterion
      return {
        ...about,
        text: 'argv' in command ? command.argv.join(' ') : command.script,
        words: criterion.text ?? null,
      }
    }
    default:
      return criterion satisfies never
  }
}

const WORDS: Readonly<Record<CriterionKind, string>> = {
  expression: 'expression',
  command: 'command',
  verdict: 'needs a verdict',
}

export function criterionRows(criteria: readonly ShownCriterion[], paint: Paint): readonly (readonly Cell[])[] {
  const rows = criteria
    .slice(0, SHOWN_MAX)
    .map(({ task, key, judgedBy, text, words }) => [
      task ?? 'the plan',
      key,
      { text: WORDS[judgedBy], tint: judgedBy === 'verdict' ? paint.yellow : paint.green },
      oneLine(words === null ? text : `${text} (${words})`, TEXT_MAX),
    ])
  const left = criteria.length - rows.length
  return left > 0 ? [...rows, [`… ${left} more`, '', '', '']] : rows
}
