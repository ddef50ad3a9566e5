// Reads a plan document from a file, from a folder of another tool, or from standard input, for all commands that take one.

import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { TaskName } from '../domain/id.ts'
import { DOCUMENT_MAX_BYTES } from '../domain/limits.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { writtenTasks } from '../domain/plan-rules/structure.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { DefinitionFault } from '../format/plan/parse.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import type { SurroundingFault } from '../operations/policy/plan-surroundings.ts'
import type { DocumentOptions, PlanDocument } from '../operations/read-document.ts'
import type { Context } from './context.ts'
import { CliError, EXIT, type FileDiagnostic, usage } from './exit.ts'

// Warns about `recover` rules whose template does not exist, when the plan is read and not after the task has failed. Only a warning,
// because the template may be added later.

type DocumentPath = readonly (string | number)[]
interface Named {
  readonly template: string
  readonly task: TaskName
  readonly at: DocumentPath
}

async function unknownTemplates(context: Context, definition: PlanDefinition): Promise<readonly DefinitionFault[]> {
  const named = [...writtenTasks(definition)].flatMap(({ task, name }) =>
    templatesIn(task).map(({ template, at }) => ({ template, at, task: name })),
  )
  if (named.length === 0) return []
  const { shelf } = await import('./commands/formats/template-shelf.ts')
  const known = (await shelf(context)).map(({ name }) => name)
  return named.filter(({ template }) => !known.includes(template)).map(one => faultOf(one, known))
}

function faultOf({ template, task, at }: Named, known: readonly string[]): DefinitionFault {
  const near = suggest(template, known)
  return {
    task,
    key: 'recover',
    at,
    message: `there is no template '${template.slice(0, 60)}': this rule would have nothing to propose`,
    hint:
      near === null
        ? '`planfold template list` shows all; `planfold template save` makes one'
        : `did you mean '${near}'?`,
  }
}

function templatesIn({ recover = [] }: TaskDefinition): readonly Pick<Named, 'template' | 'at'>[] {
  return recover.flatMap(({ do: way }, index) => {
    if (way.type !== 'replan') return []
    const own = way.template === undefined ? [] : [{ template: way.template, at: [index, 'replan', 'template'] }]
    const added = (way.add ?? []).flatMap((task, place) =>
      templatesIn(task).map(({ template, at }) => ({
        template,
        at: [index, 'replan', 'add', place, 'recover', ...at],
      })),
    )
    return [...own, ...added]
  })
}

// A plan document on disk (or on stdin, as `-`): read within bounds, parsed, and every fault shown at its place.

export interface PlanFile extends PlanDocument {
  readonly path: string
  readonly warnings: readonly FileDiagnostic[]
  readonly locate: (fault: DefinitionFault) => FileDiagnostic
}

export type ReadOptions = Pick<DocumentOptions, 'dialect' | 'fallbackName' | 'check'>

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

/** With the policies, secrets, runners and databases that will refuse it. Throws what keeps the plan from starting. */
export async function withSurroundings(context: Context, file: PlanFile): Promise<PlanFile> {
  const faults = await surroundingsOf(context, file.definition)
  refuseAround(file, faults)
  return { ...file, warnings: [...file.warnings, ...faults.map(fault => placedAround(file, fault))] }
}

/** Throws what keeps the plan from starting, at its place: in the plan, or in the file of a policy, which needs no plan. */
export function refuseAround(file: Pick<PlanFile, 'locate'> | null, faults: readonly SurroundingFault[]): void {
  const errors = faults.filter(({ severity }) => severity === 'error')
  const [fault] = errors
  if (fault === undefined) return
  if (fault.elsewhere === null) throw new CliError(EXIT.usage, 'invalid-policy', fault.message, fault.hint)
  const placed = errors.map(error => placedAround(file, error))
  const [first] = placed
  const message = `${first!.file}:${first!.line}:${first!.column}: ${first!.message}`
  const code = fault.elsewhere === undefined ? 'invalid-plan' : 'invalid-policy'
  throw new CliError(EXIT.usage, code, message, fault.hint, placed)
}

/** Throws each fault of a policy at its place, where the policy cannot be read and something was refused for that. */
export async function refuseUnreadablePolicy(context: Context, { message }: Refusal): Promise<void> {
  const { unreadablePolicy } = await import('../operations/policy/plan-surroundings.ts')
  const { placeOf } = await import('./commands/policy/policy.ts')
  const faults = await unreadablePolicy(placeOf(context))
  if (faults.some(fault => fault.elsewhere != null && message.includes(fault.message))) refuseAround(null, faults)
}

export function placedAround(file: Pick<PlanFile, 'locate'> | null, fault: SurroundingFault): FileDiagnostic {
  const { severity, elsewhere, atStart: _, ...inPlan } = fault
  if (elsewhere !== undefined && elsewhere !== null) return { severity, hint: fault.hint, ...elsewhere }
  if (file === null) throw new Error(`bug: a fault of no plan: ${fault.message}`)
  return { ...file.locate(inPlan), severity }
}

export async function surroundingsOf(
  context: Context,
  definition: PlanDefinition,
): Promise<readonly SurroundingFault[]> {
  const { surroundingFaults } = await import('../operations/policy/plan-surroundings.ts')
  const { placeOf } = await import('./commands/policy/policy.ts')
  return await surroundingFaults(placeOf(context), definition)
}

/** The same for a text that is there already; `place` says where a line of it was written, when it is made of several files. */
export async function parsePlanText(
  path: string,
  text: string,
  options: ReadOptions = {},
  place: LinePlace = line => ({ file: path, line }),
): Promise<PlanFile> {
  // The parser comes late: it brings the schema library, and most commands never need it.
  const { readDocument } = await import('../operations/read-document.ts')
  const read = await readDocument(text, {
    ...(path === '-' ? { fallbackName: 'plan' } : { fileName: path }),
    ...options,
  })
  if (!read.ok) throw faultyDocument(path, text, read.diagnostics, place)
  const { document } = read
  const located = locator(text, place)
  return {
    ...document,
    path,
    warnings: document.warnings.map(located),
    locate: fault => located(document.locate(fault)),
  }
}

export function faultyDocument(
  path: string,
  text: string,
  diagnostics: readonly Diagnostic[],
  place: LinePlace = line => ({ file: path, line }),
): CliError {
  const located = diagnostics.map(locator(text, place))
  const [first] = located
  const message =
    first === undefined ? `${path} is not a plan` : `${first.file}:${first.line}:${first.column}: ${first.message}`
  return new CliError(EXIT.usage, 'invalid-plan', message, first?.hint, located)
}

/** A sketch shows what a plan may look like; it cannot be run. */
export function refuseSketch({ path, told }: PlanFile): void {
  const [why] = told.sketch
  if (why === undefined) return
  const more = told.sketch.length === 1 ? '' : ` (and ${told.sketch.length - 1} more)`
  throw new CliError(
    EXIT.usage,
    'sketch',
    `${path} is a sketch, not a plan: ${why}${more}`,
    `look at it with \`planfold validate ${path}\`; replace the placeholders by values`,
  )
}

const DOCUMENT = /\.(ya?ml|json|jsonl|md)$/i

async function documentsIn(context: Context, folder: string): Promise<readonly string[]> {
  return (await readdir(resolve(context.cwd, folder)).catch(() => [])).filter(name => DOCUMENT.test(name)).sort()
}

export async function planFilesHere(context: Context): Promise<readonly string[]> {
  const names = (await documentsIn(context, '.')).slice(0, DOCUMENTS_READ_MAX)
  const texts = await Promise.all(names.map(name => readText(context, name).catch(() => '')))
  return names.filter((_, at) =>
    /^\uFEFF?[ \t]*(?:\{[ \t]*)?"?planfold"?[ \t]*:[ \t]*\d+[ \t]*(?:#.*)?[,}\r\n]/m.test(texts[at]!),
  )
}

const DOCUMENTS_READ_MAX = 50

export async function isFile(context: Context, word: string): Promise<boolean> {
  if (word === '-' || /^\.+$/.test(word) || word.includes('/') || DOCUMENT.test(word)) return true
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
    throw await unreadable(context, path, error)
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

async function unreadable(context: Context, path: string, error: unknown): Promise<unknown> {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT': {
      const near = suggest(basename(path), await documentsIn(context, dirname(path)))
      return usage(
        `there is no file '${path}'`,
        near === null
          ? 'check the path; `planfold init` writes an example plan'
          : `did you mean '${join(dirname(path), near)}'?`,
      )
    }
    case 'EISDIR':
      return usage(`'${path}' is a folder`, 'name a plan file in it')
    case 'EACCES':
      return usage(`'${path}' cannot be read`, 'check its permissions')
    case 'ERR_INVALID_ARG_VALUE':
      return usage(`'${path}' is not a path`)
    default:
      return error
  }
}

function pointing(path: string, message: string, hint: string): CliError {
  const diagnostic: FileDiagnostic = { file: path, source: '', severity: 'error', message, hint, line: 1, column: 1 }
  return new CliError(EXIT.usage, 'invalid-plan', `${path}:1:1: ${message}`, hint, [diagnostic])
}

type LinePlace = (line: number) => { readonly file: string; readonly line: number }

export function locator(text: string, place: LinePlace) {
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  return (diagnostic: Diagnostic): FileDiagnostic => ({
    ...diagnostic,
    ...place(diagnostic.line),
    source: lines[diagnostic.line - 1]?.replace(/\r$/, '') ?? '',
  })
}

export async function isFolder(context: Context, word: string): Promise<boolean> {
  if (word === '-') return false
  return (await stat(resolve(context.cwd, word)).catch(() => null))?.isDirectory() === true
}
