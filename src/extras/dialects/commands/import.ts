// `planfold import FILE|FOLDER|-`: a plan document of any dialect becomes a plan, with its text kept verbatim and with what had
// ended already. Tables of another planner become as many plans as they hold. A journal is history, not a plan: it is refused.

import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  answer,
  type Context,
  EXIT,
  type FileDiagnostic,
  printNote,
  refused,
  usage,
  withState,
} from '../../../cli/command.ts'
import { isFolder, type PlanFile, parsePlanText, readText, refuseSketch } from '../../../cli/plan-file.ts'
import type { Composed } from '../../../compose.ts'
import { isPlanName, type PlanId, type PlanName } from '../../../domain/id.ts'
import { DOCUMENT_MAX_BYTES } from '../../../domain/limits.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { TaskDefinition } from '../../../domain/plan.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import type { Dialect } from '../../../format/plan/dialect.ts'
import { Source } from '../../../format/text/source.ts'
import { createPlan } from '../../../operations/create-plan.ts'
import { findFormat } from '../../../operations/read-document.ts'
import { createOrder } from '../../../operations/run-plan.ts'
import { backlogMd } from '../backlogs/backlog-md.ts'
import { bundle, bundleFault, unbundle } from '../backlogs/backlog-md-files.ts'

export interface ImportOptions {
  readonly from?: string
  readonly name?: string
  readonly start?: boolean
  readonly formats?: boolean
}

export async function importPlan(
  context: Context,
  word: string | undefined,
  options: ImportOptions = {},
): Promise<number> {
  if (options.formats === true) return await (await import('./formats.ts')).formats(context)
  if (word === undefined) throw usage("missing required argument 'file-or-folder'", 'see `planfold import --help`')
  const { name } = options
  if (name !== undefined && !isPlanName(name))
    throw usage(`'${name}' cannot be the name of a plan`, 'use letters and digits, with - _ . allowed inside')
  const tables = await (await import('./import-tables.ts')).tablesIn(context, word, options.from)
  if (tables !== null) return await (await import('./import-tables.ts')).importTables(context, word, tables, options)
  const file = await readOne(context, word, options)
  refuseSketch(file)
  await warnAboutEnvironment(context, file.warnings)
  return await withState(context, { create: true }, async composed => {
    const made = await make(composed, file, options)
    const { dialect, ended } = file.told
    if (dialect !== null) printNote(context, `read as ${dialect}: ${tasks(file)}`)
    if (dialect === 'markdown-checklist' && isChain(file.definition.tasks)) printNote(context, IN_ORDER)
    await goOnWithWork(context, composed, file, made)
    answer(
      context,
      {
        ...made,
        dialect: dialect ?? 'planfold',
        tasks: allTasks(file.definition).length,
        ended: ended.size,
        warnings: file.warnings.map(({ source: _, ...warning }) => warning),
      },
      () =>
        made.status === 'draft'
          ? `${made.name} is a draft; start it with: planfold run ${made.name}`
          : `${made.name} is started. Next: planfold resume ${made.name}`,
    )
    return EXIT.done
  })
}

const IN_ORDER =
  'the tasks run one after the other, as they are listed; an indented line `Depends: none` below one of them makes all independent'

const isChain = (tasks: readonly TaskDefinition[]): boolean =>
  tasks.length > 1 &&
  tasks.every(({ needs = [] }, at) => needs.length === Math.min(at, 1) && (at === 0 || needs[0] === tasks[at - 1]!.id))

/** Work in progress stays so when the plan is started; a draft has none. */
async function goOnWithWork(context: Context, composed: Composed, file: PlanFile, made: Made): Promise<void> {
  const { underWay } = file.told
  if (underWay.size === 0) return
  if (made.status === 'draft') {
    const names = [...underWay].slice(0, 5).join(', ')
    const more = underWay.size > 5 ? ', …' : ''
    printNote(
      context,
      `in progress when it was written: ${names}${more}; once it is started, claim it again: planfold claim ${made.name} TASK`,
    )
    return
  }
  const { takeUpWork } = await import('../../../operations/claim-task.ts')
  const { claimed, left } = await takeUpWork(composed, made.plan as PlanId, underWay)
  if (claimed.length > 0) printNote(context, `still in progress, claimed for you: ${claimed.join(', ')}`)
  for (const { task, why } of left) printNote(context, `${task} was in progress when it was written: ${why}`)
}

async function readOne(context: Context, word: string, options: ImportOptions): Promise<PlanFile> {
  const dialect = await dialectNamed(options.from)
  const parse = dialect === null ? {} : { dialect }
  if (await isFolder(context, word)) {
    if (dialect !== null && dialect.name !== 'backlog-md')
      throw usage(`'${word}' is a folder, and ${dialect.name} is one file`, 'name the file')
    const { file, leftOut } = await readPlanFolder(context, word, parse)
    for (const name of leftOut) printNote(context, `${name} is not a task; it is left out`)
    return file
  }
  const text = await readText(context, word)
  refuseJournal(word, text)
  const fallbackName = word === '-' ? 'plan' : word.replace(/\.[A-Za-z]{1,5}$/, '')
  return await parsePlanText(word, text, { ...parse, fallbackName })
}

async function dialectNamed(name: string | undefined): Promise<Dialect | null> {
  if (name === undefined) return null
  const found = await findFormat(name)
  if (found.ok) return found.format
  const { near } = found
  throw usage(`unknown format '${name}'`, near === null ? 'see `planfold import --formats`' : `did you mean '${near}'?`)
}

export interface Made {
  readonly plan: string
  readonly name: string
  readonly version: number
  readonly status: 'draft' | 'active'
}

export async function make(composed: Composed, file: PlanFile, options: ImportOptions): Promise<Made> {
  const named =
    options.name === undefined ? file : { ...file, definition: { ...file.definition, name: options.name as PlanName } }
  const start = options.start === true ? { check: 'checked' as const } : undefined
  const done = await createPlan(composed.engine, { ...createOrder(named), written: 'others' }, { start })
  if (done.status === 'refused') throw refused(done.refusal)
  const { made, started } = done
  if (started === null) return { plan: made.plan, name: made.name, version: made.version, status: 'draft' }
  if ('refusal' in started) throw refused(started.refusal)
  if (started.status !== 'started') throw new Error(`bug: a plan that was just made is ${started.status}`)
  return { plan: made.plan, name: made.name, version: started.accepted.version, status: 'active' }
}

export async function warnAboutEnvironment(context: Context, warnings: readonly FileDiagnostic[]): Promise<void> {
  if (warnings.length === 0) return
  const { printDiagnostics } = await import('../../../cli/text/diagnostics.ts')
  for (const line of printDiagnostics(context.paint, warnings)) printNote(context, line)
}

export function tasks({ definition, told }: PlanFile): string {
  const ended = told.ended.size === 0 ? '' : `, ${told.ended.size} of them already finished`
  return `${numberOf(allTasks(definition).length, 'task')}${ended}`
}

function refuseJournal(word: string, text: string): void {
  if (!/^\uFEFF?\{"position":\d+,"plan":/.test(text.slice(0, 100))) return
  throw usage(
    `${word} is an exported event log, not a plan`,
    'import a plan document; a plan with this content: planfold export PLAN --to yaml',
  )
}

// A folder of Backlog.md as one plan document: its task files one after the other, in the order of their numbers. Files that
// are no tasks are left out, and named.

const FILES_MAX = 20_000

async function readPlanFolder(
  context: Context,
  folder: string,
  options: Parameters<typeof parsePlanText>[2],
): Promise<{ readonly file: PlanFile; readonly leftOut: readonly string[] }> {
  const isTask = (text: string): boolean => backlogMd.recognises(new Source(text))
  let found: TaskFiles | null = null
  for (const home of HOMES.map(below => join(folder, below))) {
    const here = await taskFiles(context, home, isTask)
    if (here === null || here.files.length === 0) continue
    found = here
    break
  }
  if (found === null)
    throw usage(
      `there is no task of Backlog.md in '${folder}'`,
      `a task is a file '*.md' with id, title and status in its front matter, there or in ${HOMES.slice(1).join(', ')}`,
    )
  const { home, files, leftOut } = found
  const fault = bundleFault(files)
  if (fault !== null) throw usage(`${fault} (in '${home}')`, 'correct the file and try again')
  const text = bundle(files)
  const parts = unbundle(text) ?? []
  const place = (line: number) => {
    const part = parts.findLast(one => one.line <= line)
    return part === undefined ? { file: home, line } : { file: join(home, part.name), line: line - part.line + 1 }
  }
  const file = await parsePlanText(
    folder,
    text,
    { ...options, dialect: backlogMd, fallbackName: nameOf(context, folder) },
    place,
  )
  return { file, leftOut }
}

/** Where the tasks of a folder lie: in it, when it is theirs; else where Backlog.md keeps them below its own folder, or the project's. */
const HOMES = ['.', 'tasks', 'backlog/tasks', '.backlog/tasks']

interface TaskFiles {
  readonly home: string
  readonly files: readonly { readonly name: string; readonly text: string }[]
  readonly leftOut: readonly string[]
}

async function taskFiles(context: Context, home: string, isTask: (text: string) => boolean): Promise<TaskFiles | null> {
  const all = await readdir(resolve(context.cwd, home)).catch(() => null)
  if (all === null) return null
  const names = all.filter(name => /\.md$/i.test(name))
  if (names.length > FILES_MAX) throw usage(`'${home}' contains more than ${FILES_MAX} files`, 'import a part of it')
  names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const files: { name: string; text: string }[] = []
  const leftOut: string[] = []
  let size = 0
  for (const name of names) {
    const text = await readText(context, join(home, name))
    size += text.length
    if (size > DOCUMENT_MAX_BYTES) throw usage(`the files of '${home}' are too large together`, 'import a part of them')
    if (isTask(text)) files.push({ name, text })
    else leftOut.push(name)
  }
  return { home, files, leftOut }
}

function nameOf(context: Context, folder: string): string {
  const parts = resolve(context.cwd, folder).split(/[\\/]/)
  return (parts.at(-1) === 'tasks' ? parts.at(-2) : parts.at(-1)) || 'backlog'
}
