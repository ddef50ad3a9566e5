// Selections from the table of task fields.

import { TASK_FIELDS, type TaskDefinition, type TaskField } from '../plan.ts'

export type FieldName = keyof TaskDefinition

/** Fields that people write; the others are made by `expand.ts`. */
export type WrittenField = {
  [K in FieldName]: (typeof TASK_FIELDS)[K] extends { readonly key: null } ? never : K
}[FieldName]

export type DocumentKey<Name extends WrittenField> = {
  [K in Name]: (typeof TASK_FIELDS)[K] extends { readonly key: infer Key } ? Key : K
}[Name]

type Described = TaskField & { readonly name: FieldName }
const ALL: readonly Described[] = Object.entries(TASK_FIELDS).map(([name, field]) => ({
  ...field,
  name: name as FieldName,
}))

export const fieldsWhere = (is: (field: Described) => boolean): readonly FieldName[] =>
  ALL.filter(is).map(({ name }) => name)

/** In the order of a printed document. */
export const WRITTEN: readonly (Described & { readonly name: WrittenField; readonly key: string })[] = ALL.flatMap(
  ({ key, ...field }) => (key === null ? [] : [{ ...field, name: field.name as WrittenField, key: key ?? field.name }]),
)

export const fieldOf = (name: string): TaskField | null =>
  Object.hasOwn(TASK_FIELDS, name) ? TASK_FIELDS[name as FieldName] : null
