// What sort of change a changed key is, and a whole diff in one line.

import type { SemanticDiff } from './semantic-diff.ts'

/**
 * scope: what may be touched. budget: how long, how often, how dear. route: what comes before and after. action: what is done.
 * criteria: what must hold. data: what goes in and out. wording: what only people read.
 */
export type ChangeKind = (typeof CHANGE_KINDS)[number]

/** In the order in which changes are told: what matters most comes first. */
export const CHANGE_KINDS = ['action', 'scope', 'criteria', 'route', 'budget', 'data', 'wording', 'other'] as const

/** How people call a change of this kind, in front of the names of tasks. */
export const KIND_WORDS: Readonly<Record<ChangeKind, string>> = {
  action: 'other action',
  scope: 're-scoped',
  criteria: 'other criteria',
  route: 're-routed',
  budget: 're-budgeted',
  data: 'other data',
  wording: 're-worded',
  other: 'otherwise changed',
}

const TASK_KEYS = keys({
  action: 'action instruction probe compensate env cwd',
  scope: 'write read network effect effects capabilities',
  criteria: 'accept expect preconditions postconditions',
  route: 'needs on failureModes recover visits when optional forEach matrix',
  budget: 'budget timeoutMs timeboxMs retry priority estimateMs deadline',
  data: 'inputs outputs',
  wording: 'title description kind rationale assumptions risks rollback owner assignee labels milestone',
})

const PLAN_KEYS = keys({
  action: 'git git.commits git.worktree git.message git.base policy.checkpoints',
  scope: 'policy policy.write policy.network policy.gates policy.roles',
  criteria: 'done',
  route: 'policy.onFailure policy.replan policy.escalate policy.review policy.retention notify recovery recovery.edits',
  budget: 'policy.budget policy.breaker policy.limits concurrency defaults defaults.timeoutMs defaults.retry',
  data: 'session hypotheses memory artifacts',
  wording: 'name title goal owner stakeholders labels',
})

export const kindOfTaskKey = (key: string): ChangeKind => TASK_KEYS.get(key) ?? 'other'
export const kindOfPlanKey = (key: string): ChangeKind => PLAN_KEYS.get(key) ?? 'other'
export const rank = (kind: ChangeKind): number => CHANGE_KINDS.indexOf(kind)

/** One line for a list of revisions; `no change` when there is none. */
export function summarise(diff: SemanticDiff): string {
  const told = [
    phrase(
      'added',
      diff.added.map(({ task }) => task),
    ),
    phrase(
      'removed',
      diff.removed.map(({ task }) => task),
    ),
    phrase(
      'renamed',
      diff.renamed.map(({ from, to }) => `${from} → ${to}`),
    ),
    ...CHANGE_KINDS.map(kind =>
      phrase(
        KIND_WORDS[kind],
        diff.changed.filter(({ changes }) => changes.some(change => change.kind === kind)).map(({ task }) => task),
      ),
    ),
    diff.reordered.length === 0 ? '' : 'reordered',
    phrase(
      'plan',
      diff.plan.map(({ key }) => key),
    ),
  ].filter(text => text !== '')
  return told.length === 0 ? 'no change' : told.join('; ')
}

const NAMES_SHOWN_MAX = 3

function phrase(word: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const shown = names.slice(0, names.length > NAMES_SHOWN_MAX + 1 ? NAMES_SHOWN_MAX : names.length)
  const left = names.length - shown.length
  return `${word} ${shown.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

function keys(words: { readonly [K in ChangeKind]?: string }): ReadonlyMap<string, ChangeKind> {
  const found = new Map<string, ChangeKind>()
  for (const kind of CHANGE_KINDS) for (const key of words[kind]?.split(' ') ?? []) found.set(key, kind)
  return found
}
