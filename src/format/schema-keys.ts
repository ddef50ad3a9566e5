// Which keys the schema knows at a place of the document: what "did you mean" chooses from; and which words.

import { z } from 'zod'
import type { Path } from './diagnostic.ts'

/** The keys the schema knows at a path, over all forms a value may take there. */
export function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  const objects = formsAt(schema, path)
    .flatMap(flatten)
    .filter(one => one instanceof z.ZodObject)
  return [...new Set(objects.flatMap(one => Object.keys(one.shape)))]
}

/** The words a text may be at a path, where it may be some only. */
export function wordsAt(schema: z.ZodType, path: Path): readonly string[] {
  return [...new Set(formsAt(schema, path).flatMap(wordsOf))]
}

/** The words that tell at a path which of several forms something takes. */
export function kindsAt(schema: z.ZodType, path: Path): readonly string[] {
  const literals = formsAt(schema, path).filter(one => one instanceof z.ZodLiteral)
  return [...new Set(literals.flatMap(({ values }) => [...values].map(String)))]
}

function formsAt(schema: z.ZodType, path: Path): readonly z.ZodType[] {
  let here: readonly z.ZodType[] = [schema]
  for (const step of path) here = here.flatMap(flatten).flatMap(one => inside(one, step))
  return here
}

function wordsOf(schema: z.ZodType): readonly string[] {
  const words = schema.meta()?.enum
  if (Array.isArray(words)) return words.map(String)
  if (schema instanceof z.ZodOptional) return wordsOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodUnion) return (schema.options as readonly z.ZodType[]).flatMap(wordsOf)
  return schema instanceof z.ZodPipe ? wordsOf(schema.in as z.ZodType) : []
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
