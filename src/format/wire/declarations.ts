// The types of parsed orders and queries, for the engine and `planfold/client`. They are inferred from values, because the
// compiler expands inferred types in declaration files: the package's .d.ts files then contain plain types and need no schema
// library.

import type { z } from 'zod'
import type { ImportedTask } from '../../domain/event.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Field, PlanDefinition } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { ORDERS } from './orders.ts'
import type { QUERIES } from './queries.ts'

// Exported by name, so that the declarations use the names.
export type { Field, ImportedTask, Json, JsonObject, PlanDefinition, PlanId, Result, Sha256, TaskName }

declare const read: <S extends { readonly [type: string]: z.ZodType }>() => {
  readonly [T in keyof S]: { readonly [K in keyof z.output<S[T]>]: z.output<S[T]>[K] }
}
const orders = () => read<typeof ORDERS>()
const queries = () => read<typeof QUERIES>()

export type WireOrders = ReturnType<typeof orders>
export type WireQueries = ReturnType<typeof queries>

export type WireOrder = WireOrders[keyof WireOrders]
export type WireQuery = WireQueries[keyof WireQueries]
