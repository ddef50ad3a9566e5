// What a draft says about itself: why it is so, when it is done, what it asks first, assumes and risks. From the plan, its tasks, and
// what the planner left in it.

import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { PlanDefinition } from '../../src/domain/plan.ts'
import { criterionText } from '../../src/domain/plan-rules/criterion-text.ts'
import { commandLines } from '../../src/domain/views/pages/spelled-text.ts'
import { irreversibleTasks, questionsIn, taskFacts } from '../../src/domain/views/pages/task-facts.ts'
import type { DraftWords } from './live-messages.ts'

export function draftWords(definition: PlanDefinition): DraftWords {
  const { done = [], tasks, extra = {} } = definition
  const { rationale, questions, assumptions, risks, comments } = (extra.planning ?? {}) as JsonObject
  return {
    why: typeof rationale === 'string' && rationale !== '' ? rationale : null,
    done: done.map(criterionText),
    runs: commandLines(tasks),
    tasks: tasks.flatMap(task => {
      const facts = taskFacts(definition, task, null)
      return facts.length === 0 ? [] : [`${task.id}: ${facts.join(' · ')}`]
    }),
    questions: questionsIn(definition, texts(questions)),
    irreversible: irreversibleTasks(definition),
    assumptions: once([...texts(assumptions), ...tasks.flatMap(task => task.assumptions ?? [])]),
    risks: once([...texts(risks), ...tasks.flatMap(task => task.risks ?? [])]),
    comments: said(comments),
  }
}

const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
function said(value: Json | undefined): DraftWords['comments'] {
  if (!Array.isArray(value)) return []
  return value.flatMap(one => {
    if (one === null || typeof one !== 'object' || Array.isArray(one)) return []
    const { task, text } = one as JsonObject
    return typeof text === 'string' ? [{ task: typeof task === 'string' ? task : null, text }] : []
  })
}
const once = (all: readonly string[]): readonly string[] => [...new Set(all)]
