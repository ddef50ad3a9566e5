// A plan document on disk (or on stdin, as `-`): read within bounds, parsed, and every fault shown at its place.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { checkGraph } from '../domain/graph.ts'
import { DOCUMENT_MAX_BYTES } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Context } from './context.ts'
import { Complaint, EXIT, type FileDiagnostic, usage } from './exit.ts'

export interface PlanFile {
  readonly path: string
  readonly definition: PlanDefinition
  readonly warnings: readonly FileDiagnostic[]
}

/** Throws a Complaint with diagnostics when the document is wrong; nothing is written either way. */
export async function readPlanFile(context: Context, path: string): Promise<PlanFile> {
  const text = await readText(context, path)
  // The parser comes late: it brings the schema library, and most commands never need it.
  const { parsePlan } = await import('../format/parse.ts')
  const parsed = parsePlan(text, {
    check: checkGraph,
    ...(path === '-' ? { fallbackName: 'plan' } : { fileName: path }),
  })
  const located = locator(path, text)
  if (parsed.ok) return { path, definition: parsed.definition, warnings: parsed.warnings.map(located) }
  const first = parsed.diagnostics[0]
  throw new Complaint(
    EXIT.usage,
    'invalid-plan',
    first === undefined ? `${path} is not a plan` : `${path}:${first.line}:${first.column}: ${first.message}`,
    first?.hint,
    parsed.diagnostics.map(located),
  )
}

/** Does a word on the command line mean a file, and not a plan by its name? */
export async function isFile(context: Context, word: string): Promise<boolean> {
  if (word === '-' || /^\.+$/.test(word) || word.includes('/') || /\.(ya?ml|json|jsonl)$/i.test(word)) return true
  const found = await stat(resolve(context.cwd, word)).catch(() => null)
  return found?.isFile() === true
}

export async function readText(context: Context, path: string): Promise<string> {
  const bytes = await readBounded(context, path)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
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

function locator(file: string, text: string) {
  const lines = text.split('\n')
  return (diagnostic: Omit<FileDiagnostic, 'file' | 'source'>): FileDiagnostic => ({
    ...diagnostic,
    file,
    source: lines[diagnostic.line - 1]?.replace(/\r$/, '') ?? '',
  })
}
