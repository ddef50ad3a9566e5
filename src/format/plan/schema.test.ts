import { expectTypeOf, test } from 'vitest'
import type { Budget, EffectClass, PlanDefinition, Retry, TaskDefinition } from '../../domain/plan.ts'
import type { PlanDocument, TaskDocument } from './schema.ts'

type Same<Key extends keyof TaskDocument & keyof TaskDefinition> = {
  readonly [K in Key]: Exclude<TaskDocument[K], undefined>
}
type Wanted<Key extends keyof TaskDefinition> = { readonly [K in Key]: Exclude<TaskDefinition[K], undefined> }
/** Keys that mean the same in the document and in the domain, and pass through lowering untouched. */
type Plain =
  | 'id'
  | 'title'
  | 'description'
  | 'kind'
  | 'rationale'
  | 'needs'
  | 'when'
  | 'priority'
  | 'inputs'
  | 'write'
  | 'read'
  | 'network'
  | 'env'
  | 'cwd'
  | 'effect'
  | 'expect'
  | 'on'
  | 'visits'
  | 'assumptions'
  | 'risks'
  | 'rollback'
  | 'owner'
  | 'assignee'
  | 'labels'
  | 'milestone'
  | 'deadline'
  | 'capabilities'
  | 'matrix'
  | 'instruction'
  | 'extra'
  | 'effects'
/** Keys the lowering renames or reshapes. */
type Lowered =
  | 'action'
  | 'optional'
  | 'timeoutMs'
  | 'retry'
  | 'outputs'
  | 'probe'
  | 'accept'
  | 'compensate'
  | 'estimateMs'
  | 'budget'
  | 'forEach'
  | 'preconditions'
  | 'failureModes'
  | 'postconditions'
  | 'recover'
  | 'timeboxMs'
type ActionKey =
  | 'run'
  | 'stdin'
  | 'edit'
  | 'decide'
  | 'gate'
  | 'show'
  | 'git'
  | 'http'
  | 'db'
  | 'model'
  | 'agent'
  | 'research'
  | 'checkpoint'
  | 'subplan'

test('the schema and the domain agree on every key of a task', () => {
  expectTypeOf<Same<Plain>>().toExtend<Wanted<Plain>>()
  // These are made by the domain when it expands a task, never written.
  expectTypeOf<Exclude<keyof TaskDefinition, 'bound' | 'sleeps' | 'leads'>>().toEqualTypeOf<Plain | Lowered>()
  expectTypeOf<Exclude<keyof TaskDocument, ActionKey>>().toEqualTypeOf<
    | Plain
    | 'optional'
    | 'timeout'
    | 'retry'
    | 'outputs'
    | 'probe'
    | 'accept'
    | 'compensate'
    | 'estimate'
    | 'budget'
    | 'for_each'
    | 'preconditions'
    | 'failure_modes'
    | 'postconditions'
    | 'recover'
    | 'timebox'
  >()
})

test('the schema and the domain agree on every key of a plan', () => {
  expectTypeOf<Exclude<keyof PlanDocument, 'planfold' | 'sequential'>>().toEqualTypeOf<keyof PlanDefinition>()
})

test('measured values arrive in the units of the domain', () => {
  expectTypeOf<TaskDocument['timeout']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<NonNullable<TaskDocument['budget']>['cost']>().toEqualTypeOf<Budget['cost']>()
  expectTypeOf<NonNullable<Exclude<TaskDocument['retry'], number | undefined>['backoff']>>().toEqualTypeOf<
    Retry['backoffMs']
  >()
  expectTypeOf<NonNullable<TaskDocument['effect']>>().toEqualTypeOf<EffectClass>()
})
