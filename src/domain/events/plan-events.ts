// The events of a plan as a whole.

import { defined } from '../json.ts'
import { numberOf } from '../phrases.ts'
import type { PolicyLayer } from '../policy/policy-layer.ts'
import { allTasks } from '../state/task-index.ts'
import type { RowsOf } from './event-row.ts'
import { names, reasonUnless } from './event-words.ts'

export const PLAN_EVENTS: RowsOf<'plan'> = {
  'plan.created': {
    kind: 'revision',
    sentence: ({ definition }) =>
      `plan ${definition.name} created with ${numberOf(allTasks(definition).length, 'task')}`,
    facts: ({ hash, origin, forkedAt, place, source, context: { conversation, ...context } = {} }, { hashOf }) =>
      defined({
        ...{ revision: 1, hash, origin, forkedAt, place, dialect: source?.dialect, ...context },
        conversation: conversation === undefined ? undefined : hashOf(conversation),
      }),
    rows: () => 'all',
  },
  'plan.revised': {
    kind: 'revision',
    sentence: ({ revision, rationale }) => `revision ${revision}: ${rationale}`,
    facts: ({ revision, hash, rationale, source }) => defined({ revision, hash, rationale, dialect: source?.dialect }),
    rows: () => 'all',
  },
  'plan.started': {
    kind: 'plan',
    sentence: ({ sandboxOff, policy }) =>
      `plan started${
        sandboxOff === true ? '; policy.sandbox is off: its commands run with your permissions' : ''
      }${underPolicy(policy)}`,
    shows: ['rules', 'files'],
    rows: () => 'plan',
  },
  'plan.paused': {
    kind: 'plan',
    sentence: ({ reason, cause }) =>
      `plan paused${reasonUnless('paused', reason)}${cause === undefined ? '' : `. ${cause.hint} No task failed`}`,
    rows: () => 'plan',
  },
  'plan.resumed': {
    kind: 'plan',
    sentence: ({ policy, changed }) => `plan resumed${underPolicy(policy, changed)}`,
    rows: () => 'plan',
  },
  'plan.cancelled': {
    kind: 'plan',
    sentence: ({ force, reason }) =>
      `cancelling the plan${force ? ' without undo steps' : ''}${reasonUnless('cancelled', reason)}`,
    rows: () => 'all',
  },
  'plan.finished': {
    kind: 'plan',
    sentence: ({ status, reason }) => `plan ${status}${reasonUnless(status, reason)}`,
    failure: ({ status, reason }) => (status === 'failed' ? reason : null),
    setback: true,
    // The end of a failed or cancelled plan also cancels its lost tasks.
    rows: ({ status }) => (status === 'completed' ? 'plan' : 'all'),
    notice: ({ status }) => status,
  },
  'plan.reopened': {
    kind: 'plan',
    sentence: ({ reason, policy, changed }) => `plan reopened: ${reason}${underPolicy(policy, changed)}`,
    rows: () => 'plan',
  },
  'plan.compensating': {
    kind: 'compensation',
    sentence: ({ reason }) => `plan failing: ${reason}; running undo steps`,
    setback: true,
  },
  'plan.aborted': {
    kind: 'plan',
    sentence: ({ reason }) => `plan aborted: ${reason}`,
    rows: () => 'all',
  },
  'plan.annotated': {
    kind: 'note',
    sentence: ({ by, set }) => `plan annotated by ${by}: ${names(Object.keys(set))}`,
    facts: ({ by, set }, { hashOf }) => ({ by, keys: Object.keys(set), hash: hashOf(set) }),
  },
  'plan.archived': {
    kind: 'plan',
    sentence: () => 'plan archived',
    rows: () => 'plan',
  },
}

function underPolicy(layers: readonly PolicyLayer[] | undefined, changed: readonly string[] = []): string {
  if (layers === undefined) return ''
  const since = changed.length === 0 ? '' : `; the policy has changed in ${names(changed)}`
  if (layers.length === 0) return `${since}; under no policy but its own`
  return `${since}; under the policy of ${names([...new Set(layers.map(({ file, from }) => file ?? from))])}`
}
