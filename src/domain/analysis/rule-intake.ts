// What should be known when a plan is taken in: what it is for, when it is done, who answers for it, who must agree.

import type { Finding, FindingCode } from './finding.ts'
import type { Look } from './lint-input.ts'

export function* intake({ graph: { definition } }: Look): Iterable<Finding> {
  const { goal, title, done, owner, stakeholders } = definition
  if ((goal ?? title ?? '') === '')
    yield missing('no-goal', 'goal', 'the plan does not say what it is for', "add 'goal:' with one sentence")
  if ((done?.length ?? 0) === 0)
    yield missing(
      'no-done',
      'done',
      'nothing says when the plan is done; it is completed when every task is',
      "add 'done:' with commands, expressions or sentences to judge",
    )
  if ((owner ?? '') === '')
    yield missing('no-owner', 'owner', 'nobody answers for the plan', "add 'owner:' with a name")
  if ((stakeholders?.length ?? 0) === 0 && (owner ?? '') === '')
    yield missing('no-stakeholders', 'stakeholders', 'nobody is named who should agree', "add 'stakeholders:'")
  else if ((stakeholders?.length ?? 0) > 0 && !definition.tasks.some(hasGate))
    yield missing(
      'no-stakeholders',
      'stakeholders',
      'stakeholders are named, but no gate ever asks anyone',
      "add a task with 'gate: approval'",
    )
}

const hasGate = (task: Look['graph']['tasks'][number]): boolean =>
  task.action.type === 'gate' ||
  (task.action.type === 'subplan' && task.action.tasks.some(step => step.action.type === 'gate'))

function missing(code: FindingCode, key: string, message: string, hint: string): Finding {
  return { code, severity: 'info', key, message, hint }
}
