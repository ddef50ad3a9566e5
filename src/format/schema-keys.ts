// Which keys the schema knows at a place of the document: what "did you mean" chooses from.

import { z } from 'zod'
import type { Path } from './diagnostic.ts'

/** The keys the schema knows at a path, over all forms a value may take there. */
export function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  let here: readonly z.ZodType[] = [schema]
  for (const step of path) here = here.flatMap(flatten).flatMap(one => inside(one, step))
  const objects = here.flatMap(flatten).filter(one => one instanceof z.ZodObject)
  return [...new Set(objects.flatMap(one => Object.keys(one.shape)))]
}

function flatten(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional) return flatten(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodUnion) return (schema.options as readonly z.ZodType[]).flatMap(flatten)
  if (schema instanceof z.ZodPipe) return flatten(schema.in as z.ZodType)
  return [schema]
}

function inside(schema: z.ZodType, step: string | number): readonly z.ZodType[] {
  if (schema instanceof z.ZodObject) {
    const member = typeof step === 'string' && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined
    return member === undefined ? [] : [member as z.ZodType]
  }
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType]
  return schema instanceof z.ZodRecord ? [schema.valueType as z.ZodType] : []
}
