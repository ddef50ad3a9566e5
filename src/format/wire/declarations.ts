// Orders and queries as they are once read: the types of the engine, and of `planfold/client`. Taken from values, because the compiler
// writes out what it infers of a value: the declarations in the package then hold plain types, and whoever compiles against them
// needs no schema library.

import type { z } from 'zod'
import type { ImportedTask } from '../../domain/event.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { Field, PlanDefinition } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { ORDERS } from './orders.ts'
import type { QUERIES } from './queries.ts'

// Known here by name, they are written out by name.
export type { Field, ImportedTask, Json, JsonObject, PlanDefinition, PlanId, Result, Sha256, TaskName }

declare const read: <S extends { readonly [type: string]: z.ZodType }>() => {
  readonly [T in keyof S]: { readonly [K in keyof z.output<S[T]>]: z.output<S[T]>[K] }
}
const orders = () => read<typeof ORDERS>()
const queries = () => read<typeof QUERIES>()

/** By type. */
export type WireOrders = ReturnType<typeof orders>
export type WireQueries = ReturnType<typeof queries>

export type WireOrder = WireOrders[keyof WireOrders]
export type WireQuery = WireQueries[keyof WireQueries]
