// A folder of Backlog.md as one plan document: its task files one after the other, in the order of their numbers. Files that
// are no tasks are left out, and named.

import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Context, usage } from '../../../cli/command.ts'
import { type PlanFile, parsePlanText, readText } from '../../../cli/plan-file.ts'
import { DOCUMENT_MAX_BYTES } from '../../../domain/limits.ts'
import { Source } from '../../../format/text/source.ts'
import { backlogMd } from '../backlogs/backlog-md.ts'
import { bundle, bundleFault, unbundle } from '../backlogs/backlog-md-files.ts'

const FILES_MAX = 20_000

export async function readPlanFolder(
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
