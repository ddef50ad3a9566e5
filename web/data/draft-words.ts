// What a draft says about itself: why it is so, when it is done, what it asks first, assumes and risks. From the plan, its tasks, and
// what the planner left in it.

import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../src/domain/plan.ts'
import { agentRequest } from '../../src/domain/plan-rules/agent-request.ts'
import { criterionText } from '../../src/domain/plan-rules/criterion-text.ts'
import { commandLines, spelled } from '../../src/domain/views/pages/spelled-text.ts'
import type { DraftWords } from './live-messages.ts'

export function draftWords({ done = [], tasks, extra = {} }: PlanDefinition): DraftWords {
  const { rationale, questions, assumptions, risks, comments } = (extra.planning ?? {}) as JsonObject
  return {
    why: typeof rationale === 'string' && rationale !== '' ? rationale : null,
    done: done.map(criterionText),
    runs: [...tasks.flatMap(agentLine), ...commandLines(tasks)],
    questions:
      texts(questions).length > 0
        ? texts(questions)
        : tasks.flatMap(({ action }) => (action.type === 'gate' && action.question ? [action.question] : [])),
    assumptions: once([...texts(assumptions), ...tasks.flatMap(task => task.assumptions ?? [])]),
    risks: once([...texts(risks), ...tasks.flatMap(task => task.risks ?? [])]),
    comments: said(comments),
    estimateMs: tasks.reduce((all, { estimateMs = 0 }) => all + estimateMs, 0),
  }
}

function agentLine({ id, action, instruction = '' }: TaskDefinition): readonly string[] {
  const use = agentRequest(action)?.use ?? null
  return use === null ? [] : [`${id}: ${use}: ${spelled(instruction.split('\n', 1)[0] ?? '')}`]
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
