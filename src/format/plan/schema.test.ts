import { expectTypeOf, test } from 'vitest'
import type { Budget, EffectClass, PlanDefinition, Retry, TASK_FIELDS, TaskDefinition } from '../../domain/plan.ts'
import type { DocumentKey, WrittenField } from '../../domain/plan-rules/task-fields.ts'
import type { LOWER } from './document-to-definition.ts'
import type { PlanDocument, TaskDocument } from './schema.ts'

/** What the document holds for a field, and what the definition keeps. */
type Said<K extends Written> = Exclude<TaskDocument[DocumentKey<K> & keyof TaskDocument], undefined>
type Kept<K extends Written> = Exclude<TaskDefinition[K], undefined>
/** An action is made of several keys of the document. */
type Written = Exclude<WrittenField, 'action'>
/** Fields whose value the lowering reshapes, and those that pass through it untouched. */
type Lowered = { [K in Written]: (typeof TASK_FIELDS)[K]['value'] extends keyof typeof LOWER ? K : never }[Written]
type Plain = Exclude<Written, Lowered>
type Lowering<K extends Lowered> = (typeof LOWER)[(typeof TASK_FIELDS)[K]['value'] & keyof typeof LOWER]
type ActionKey =
  | 'run'
  | 'stdin'
  | 'links'
  | 'edit'
  | 'decide'
  | 'gate'
  | 'show'
  | 'git'
  | 'http'
  | 'db'
  | 'runner'
  | 'model'
  | 'agent'
  | 'research'
  | 'checkpoint'
  | 'subplan'

test('the schema and the domain agree on every key of a task', () => {
  expectTypeOf<Exclude<keyof TaskDocument, ActionKey>>().toEqualTypeOf<DocumentKey<Written>>()
  expectTypeOf<{ [K in Plain]: Said<K> }>().toExtend<{ [K in Plain]: Kept<K> }>()
  expectTypeOf<{ [K in Lowered]: Said<K> }>().toExtend<{ [K in Lowered]: Parameters<Lowering<K>>[0] }>()
  expectTypeOf<{ [K in Lowered]: Exclude<ReturnType<Lowering<K>>, undefined> }>().toExtend<{
    [K in Lowered]: Kept<K>
  }>()
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
