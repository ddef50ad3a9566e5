// `planfold export PLAN`: the plan as a document of any dialect, with where its tasks stand now; the text it was made of,
// verbatim; or its whole journal as JSON lines. What a dialect cannot express is listed, never dropped silently.

import { join, resolve } from 'node:path'
import type { Composed } from '../../../compose.ts'
import type { PlanId } from '../../../domain/id.ts'
import type { Engine } from '../../../engine/engine.ts'
import {
  allPlans,
  documentFiles,
  type ExportedPlan,
  exportOriginal,
  type PlanExport,
  exportPlan as printPlan,
} from '../../../operations/export-plan.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { readJournal } from '../../../operations/read-journal.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, entryEnvelope, envelope, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { type CliError, EXIT, notFound, usage } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { clearStale, type MirrorOption, mirrorFolder, writeMirror } from '../../plan-mirror.ts'

export async function exportMirror(context: Context, word: string | undefined, option: MirrorOption): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const folder = mirrorFolder(context, composed, option) ?? composed.root
    const plans = word === undefined ? await allPlans(composed.engine) : [(await findPlan(composed.engine, word)).plan]
    const files: string[] = []
    for (const plan of plans) {
      const file = await writeMirror(composed.engine, plan, folder)
      if (file !== null) files.push(file)
    }
    await clearStale(folder, context.now())
    answer(context, { folder, files }, () =>
      files.length === 0 ? 'there are no plans' : files.map(file => escapeForTerminal(file)),
    )
    return EXIT.done
  })
}

export interface ExportOptions {
  /** The dialect; not `--as`, which says who acts. */
  readonly to?: string
  /** The older name of `to`. */
  readonly format?: string
  readonly out?: string
  readonly original?: boolean
  readonly mirror?: MirrorOption
  readonly schema?: boolean
  readonly http?: boolean
}

const LOST_MAX = 20
const NAMES_MAX = 5

export function lostLines(format: string, lost: readonly string[]): readonly string[] {
  const groups = new Map<string, string[]>()
  for (const line of lost) {
    const [, task, key] = /^task '(.*)': (.+)$/s.exec(line) ?? [null, null, line]
    const names = groups.get(key!) ?? []
    groups.set(key!, task === null || task === undefined ? names : [...names, task])
  }
  const lines = [...groups].map(([key, names]) => {
    const more = names.length > NAMES_MAX ? `, … (${names.length} tasks)` : ''
    const whose = names.length === 0 ? '' : ` of ${names.slice(0, NAMES_MAX).join(', ')}${more}`
    return `not exported (${format} cannot express it): ${key}${whose}`
  })
  const left = lines.length - LOST_MAX
  return left > 0 ? [...lines.slice(0, LOST_MAX), `… and ${left} more kinds`] : lines
}

export async function exportPlan(
  context: Context,
  word: string | undefined,
  options: ExportOptions = {},
): Promise<number> {
  if (options.schema === true) return await (await import('./schema.ts')).schema(context, options)
  if (options.http === true) throw usage('--http needs --schema', 'add --schema')
  if (options.mirror !== undefined) return await exportMirror(context, word, options.mirror)
  const format = options.to ?? options.format ?? 'yaml'
  if (options.original === true && (options.to ?? options.format) !== undefined)
    throw usage('--original and --to cannot be used together', 'use one of them')
  if (format === 'journal' && options.out !== undefined)
    throw usage('--to journal only writes to standard output', 'redirect it: planfold export --to journal > FILE')
  return await withState(context, { create: false }, async composed => {
    const target = await findPlan(composed.engine, word, { looking: true })
    if (options.original === true) return await original(context, composed.engine, target, options.out)
    if (format === 'journal') return await journal(context, composed, target.plan)
    const done = await printPlan(composed.engine, target, format)
    if (done.status === 'gone') throw new Error(`the plan ${target.plan} has gone`)
    if (done.status !== 'exported') throw unexported(format, done)
    for (const line of lostLines(format, done.document.lost)) printNote(context, line)
    return await give(context, done.document, options.out)
  })
}

function unexported(format: string, done: Exclude<PlanExport, { readonly status: 'exported' | 'gone' }>): CliError {
  switch (done.status) {
    case 'no-format':
      return usage(
        `unknown format '${format}'`,
        done.near === null ? 'see `planfold import --formats`' : `did you mean '${done.near}'?`,
      )
    case 'read-only':
      return usage(`${format} can only be imported`, '`planfold import --formats` shows which formats can be exported')
    case 'refused':
      return usage(done.message, done.hint)
    case 'unreadable':
      return usage(
        `as ${format}, this plan could not be read again: ${done.message ?? 'it is not understood'}`,
        'choose another format: see `planfold import --formats`',
      )
    default:
      return done satisfies never
  }
}

async function original(
  context: Context,
  engine: Engine,
  target: PlanTarget,
  out: string | undefined,
): Promise<number> {
  const done = await exportOriginal(engine, target)
  if (done.status === 'no-text')
    throw notFound(
      `revision ${done.revision} of '${target.name}' was not created from a file`,
      done.last === null
        ? `print it instead: planfold export ${target.name}`
        : `the last revision with a file is ${done.last}: planfold revise show ${target.name} ${done.last} --original`,
    )
  return await give(context, done.document, out)
}

async function give(context: Context, given: ExportedPlan, out: string | undefined): Promise<number> {
  const { text, ...data } = given
  if (out !== undefined) {
    const files = await writeOut(context, out, given)
    answer(context, { ...data, files }, () => files.map(file => `${given.name} is written to ${file}`))
  } else if (context.settings.json) context.stdout.write(envelope({ data: { ...data, text } }))
  else context.stdout.write(context.terminal === null ? text : escapeForTerminal(text, { keepLines: true }))
  return EXIT.done
}

async function writeOut(context: Context, out: string, given: ExportedPlan): Promise<readonly string[]> {
  const { isFolder } = await import('../../plan-file.ts')
  if (!/[\\/]$/.test(out) && !(await isFolder(context, out))) {
    await writeWhole(resolve(context.cwd, out), given.text)
    return [out]
  }
  const split = await documentFiles(given)
  if (split.status === 'one-file') throw usage(`'${out}' is a folder, and ${given.format} is one file`, 'name a file')
  if (split.status === 'unfit') throw usage(split.message, 'name a file instead of a folder: --out backlog.md')
  const { files } = split
  const { mkdir } = await import('node:fs/promises')
  await mkdir(resolve(context.cwd, out), { recursive: true })
  for (const file of files) await writeWhole(resolve(context.cwd, out, file.name), file.text)
  return files.map(file => join(out, file.name))
}

/** By rename, so that a reader never sees half of a file. */
async function writeWhole(path: string, text: string): Promise<void> {
  const { rename, rm, writeFile } = await import('node:fs/promises')
  const draft = `${path}.${process.pid}.part`
  try {
    await writeFile(draft, text, { flag: 'wx' })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') throw usage(`there is no folder for '${path}'`, 'make it first')
    if (code === 'EISDIR') throw usage(`'${path}' is a folder`, 'name a file')
    throw error
  }
}

async function journal(context: Context, { engine }: Composed, plan: PlanId): Promise<number> {
  for await (const entries of readJournal(engine, plan, 0)) {
    for (const entry of entries)
      context.stdout.write(context.settings.json ? entryEnvelope(entry) : `${JSON.stringify(entry)}\n`)
    if (context.hangup.aborted) break
  }
  return EXIT.done
}
