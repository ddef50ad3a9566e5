// What a gate does when it is reached, in a few words.

import type { GateAction } from '../domain/plan.ts'

/** `who` is empty for anybody. */
export function gateWords(action: GateAction, who: string): string {
  const whom = who === '' ? 'a person' : who
  const many = (action.approvers?.count ?? 1) > 1 ? `, ${action.approvers?.count} of them` : ''
  switch (action.gate) {
    case 'approval':
      return `asks ${whom} for approval${many}`
    case 'diff':
      return `asks ${whom} to look at what changed${many}`
    case 'decision':
      return `asks ${whom} to choose: ${(action.options ?? []).map(({ id }) => id).join(', ')}`
    case 'question':
      return `asks ${whom}: ${action.question ?? (action.form ?? []).map(({ label, name }) => label ?? name).join(', ')}`
    case 'schema':
      return `checks that ${action.schema?.file ?? ''} follows ${action.schema?.against ?? ''}`
    case 'invariant':
    case 'tests':
      return 'goes on when its checks hold'
    case 'budget':
      return 'goes on when the plan has not used up more than it may'
    default:
      return action.gate satisfies never
  }
}
