// A plan document on disk (or on stdin, as `-`): read within bounds, parsed, and every fault shown at its place.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PlanSource } from '../domain/event.ts'
import { DOCUMENT_MAX_BYTES } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Order } from '../engine/engine.ts'
import type { DefinitionFault, ParseOptions, Told } from '../format/parse.ts'
import type { Context } from './context.ts'
import { Complaint, EXIT, type FileDiagnostic, usage } from './exit.ts'
import { unknownTemplates } from './template-rules.ts'

export interface PlanFile {
  readonly path: string
  /** The document as it was read, verbatim. */
  readonly text: string
  readonly definition: PlanDefinition
  readonly warnings: readonly FileDiagnostic[]
  readonly told: Told
  /** What is said about the definition, at its place in the file. */
  readonly locate: (fault: DefinitionFault) => FileDiagnostic
}

export interface ReadOptions extends Pick<ParseOptions, 'dialect' | 'fallbackName'> {
  /** What must hold for the plan. Everything that can be known when it is not said; with null, a plan that cannot work is read too. */
  readonly check?: ParseOptions['check'] | null
}

/** Throws a Complaint with diagnostics when the document is wrong; nothing is written either way. */
export async function readPlanFile(
  context: Context,
  path: string,
  options: Pick<ReadOptions, 'check'> = {},
): Promise<PlanFile> {
  const file = await parsePlanText(path, await readText(context, path), options)
  const unknown = await unknownTemplates(context, file.definition)
  if (unknown.length === 0) return file
  const more = unknown.map(fault => ({ ...file.locate(fault), severity: 'warning' as const }))
  return { ...file, warnings: [...file.warnings, ...more] }
}

/** The same for a text that is there already; `place` says where a line of it was written, when it is made of several files. */
export async function parsePlanText(
  path: string,
  text: string,
  { check, ...options }: ReadOptions = {},
  place: (line: number) => { readonly file: string; readonly line: number } = line => ({ file: path, line }),
): Promise<PlanFile> {
  // The parser comes late: it brings the schema library, and most commands never need it.
  const { parsePlan } = await import('../format/parse.ts')
  const { checkPlan } = await import('../operations/check-plan.ts')
  const checked = check === null ? {} : { check: check ?? checkPlan }
  const parsed = parsePlan(text, {
    ...checked,
    ...(path === '-' ? { fallbackName: 'plan' } : { fileName: path }),
    ...options,
  })
  const located = locator(text, place)
  if (parsed.ok) {
    const { definition, warnings, locate, dialect, sketch, ended, underWay } = parsed
    return {
      path,
      text,
      definition,
      warnings: warnings.map(located),
      told: { dialect, sketch, ended, underWay },
      locate: fault => located(locate(fault)),
    }
  }
  const diagnostics = parsed.diagnostics.map(located)
  const first = diagnostics[0]
  throw new Complaint(
    EXIT.usage,
    'invalid-plan',
    first === undefined ? `${path} is not a plan` : `${first.file}:${first.line}:${first.column}: ${first.message}`,
    first?.hint,
    diagnostics,
  )
}

/** The order that makes a plan of a document: with its text, and with what had ended when it was written. */
export function createOrder(file: Pick<PlanFile, 'definition' | 'text' | 'told'>): Extract<Order, { type: 'create' }> {
  const imported = [...file.told.ended].map(([task, status]) => ({ task, status }))
  return {
    type: 'create',
    definition: file.definition,
    source: sourceOf(file),
    ...(imported.length === 0 ? {} : { imported }),
  }
}

export function sourceOf({ text, told }: Pick<PlanFile, 'text' | 'told'>): PlanSource {
  return { dialect: told.dialect ?? 'planfold', text }
}

/** A sketch shows what a plan may look like; nobody can carry it out. */
export function refuseSketch({ path, told }: PlanFile): void {
  const [why] = told.sketch
  if (why === undefined) return
  const more = told.sketch.length === 1 ? '' : ` (and ${told.sketch.length - 1} more)`
  throw new Complaint(
    EXIT.usage,
    'sketch',
    `${path} is a sketch, not a plan: ${why}${more}`,
    `look at it with \`planfold validate ${path}\`; put values in the place of what is left open`,
  )
}

/** Does a word on the command line mean a file, and not a plan by its name? */
export async function isFile(context: Context, word: string): Promise<boolean> {
  if (word === '-' || /^\.+$/.test(word) || word.includes('/') || /\.(ya?ml|json|jsonl|md)$/i.test(word)) return true
  const found = await stat(resolve(context.cwd, word)).catch(() => null)
  return found?.isFile() === true
}

/** All of it: what was read is kept verbatim, so a byte order mark stays, too. */
export async function readText(context: Context, path: string): Promise<string> {
  const bytes = await readBounded(context, path)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw pointing(path, 'the file is not valid UTF-8 text', 'save it as UTF-8')
  }
}

async function readBounded(context: Context, path: string): Promise<Uint8Array> {
  const source =
    path === '-' ? context.stdin() : createReadStream(resolve(context.cwd, path), { end: DOCUMENT_MAX_BYTES })
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of source) {
      chunks.push(chunk as Uint8Array)
      size += chunk.length
      if (size > DOCUMENT_MAX_BYTES) break
    }
  } catch (error) {
    throw unreadable(path, error)
  }
  if (size > DOCUMENT_MAX_BYTES) {
    throw pointing(
      path,
      `the file is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`,
      'split the plan into several, and keep data in files of its own',
    )
  }
  return Buffer.concat(chunks)
}

function unreadable(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return usage(`there is no file '${path}'`, 'check the path; `planfold init` writes an example plan')
    case 'EISDIR':
      return usage(`'${path}' is a folder`, 'name a plan document in it')
    case 'EACCES':
      return usage(`'${path}' may not be read`, 'check who may read it')
    case 'ERR_INVALID_ARG_VALUE':
      return usage(`'${path}' is no path`)
    default:
      return error
  }
}

function pointing(path: string, message: string, hint: string): Complaint {
  const diagnostic: FileDiagnostic = { file: path, source: '', severity: 'error', message, hint, line: 1, column: 1 }
  return new Complaint(EXIT.usage, 'invalid-plan', `${path}:1:1: ${message}`, hint, [diagnostic])
}

function locator(text: string, place: (line: number) => { readonly file: string; readonly line: number }) {
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  return (diagnostic: Omit<FileDiagnostic, 'file' | 'source'>): FileDiagnostic => ({
    ...diagnostic,
    ...place(diagnostic.line),
    source: lines[diagnostic.line - 1]?.replace(/\r$/, '') ?? '',
  })
}
