// The layout of `.openagent`: planning.md, plans/NAME.json, and .openagent/{cache,logs,artifacts}. Written from a plan into an empty folder,
// and read as a plan whose tasks have the files as artifacts.

import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { answer, CliError, type Context, EXIT, printNote, refused, usage, withState } from '../../../cli/command.ts'
import { findPlan } from '../../../cli/find-target.ts'
import { type PlanFile, parsePlanText, readText, refuseSketch } from '../../../cli/plan-file.ts'
import type { ImportedTask } from '../../../domain/event.ts'
import { isPlanName, type PlanId, type PlanName, type Sha256, type TaskName } from '../../../domain/id.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { OUTPUT_MAX_BYTES } from '../../../domain/limits.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { OutputSource, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Engine } from '../../../engine/engine.ts'
import { exportPlan } from '../../../operations/export-plan.ts'
import { createOrder } from '../../../operations/run-plan.ts'
import { openGate } from '../../../safety/files/path-gate.ts'
import { allArtifacts, contentOf, writeNew } from './artifact.ts'

const FOLDERS = ['cache', 'logs', 'artifacts'] as const
const FILES_MAX = 1_000
const LOG_PAGE = 1_000

export async function exportFolder(context: Context, word: string, { out }: { readonly out: string }): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const target = await findPlan(engine, word, { looking: true })
    const { plan, name } = target
    const folder = resolve(context.cwd, out)
    await makeEmpty(folder)
    const handoff = await engine.ask({ type: 'handoff', plan })
    const sketch = await exportPlan(engine, target, 'plan-sketch')
    const printed = sketch.status === 'exported' ? sketch : await exportPlan(engine, target, 'json')
    if (handoff === null || printed.status !== 'exported')
      throw new Error(`bug: the plan ${name} was found and is gone`)
    const files = new Map<string, string | Uint8Array>([
      ['planning.md', handoff.readme],
      [`plans/${name}.json`, printed.document.text],
    ])
    const left: string[] = []
    const listed = await allArtifacts(engine, plan)
    const last = new Map(listed.map(one => [`${one.task}/${one.name}`, one.version]))
    for (const one of listed) {
      if (one.confidential || one.expired) {
        left.push(`${one.address}: ${one.confidential ? 'confidential' : 'expired'}`)
        continue
      }
      const version = last.get(`${one.task}/${one.name}`) === one.version ? '' : `@${one.version}`
      files.set(
        `.openagent/artifacts/${safe(one.task)}/${safe(one.name)}${version}`,
        await contentOf(engine, plan, one),
      )
    }
    for (const [task, text] of await logsOf(engine, plan)) files.set(`.openagent/logs/${safe(task)}.log`, text)
    const sources = listed.flatMap(({ cites, address, sha256, at }) =>
      cites.map(url => ({ url, cited_by: address, sha256, at: new Date(at).toISOString() })),
    )
    files.set('.openagent/cache/sources.json', `${JSON.stringify(sources, null, 2)}\n`)
    files.set('.openagent/artifacts/index.json', `${JSON.stringify(listed, null, 2)}\n`)
    for (const [path, content] of files) {
      await mkdir(join(folder, path, '..'), { recursive: true })
      await writeNew(join(folder, path), content)
    }
    const written = [...files.keys()]
    answer(context, { plan: name, folder, written, left, lost: printed.document.lost }, () => [
      `${numberOf(written.length, 'file')} written to ${out}`,
      ...left.map(line => `left out: ${line}`),
    ])
    return EXIT.done
  })
}

async function makeEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0)
    throw new CliError(EXIT.refused, 'exists', `'${folder}' is not empty; nothing is overwritten`, 'name a new folder')
}

/** Names of outputs that were reported may be anything. */
const safe = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^\.+/, '_')
    .slice(0, 100) || '_'

async function logsOf(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<ReadonlyMap<string, string>> {
  const kept = new Set(
    (await engine.ask({ type: 'board', plan }))?.flatMap(one => (one.confidential ? [one.name] : [])),
  )
  const logs = new Map<string, string>()
  for (let after = 0; ; ) {
    const page = (await engine.ask({ type: 'logs', plan, after, limit: LOG_PAGE })) ?? []
    for (const { task, text } of page)
      if (task !== null && !kept.has(task)) logs.set(task, (logs.get(task) ?? '') + text)
    if (page.length < LOG_PAGE) return logs
    after = page.at(-1)!.seq
  }
}

export async function importFolder(
  context: Context,
  word: string,
  { name }: { readonly name?: string },
): Promise<number> {
  if (name !== undefined && !isPlanName(name))
    throw usage(`'${name}' cannot be the name of a plan`, 'use letters and digits, with - _ . allowed inside')
  const root = resolve(context.cwd, word)
  const document = await documentIn(context, root)
  return await withState(context, { create: true }, async ({ engine, stateDir }) => {
    const { files, left } = await filesIn(root, stateDir)
    if (document === null && files.length === 0)
      throw usage(
        `'${word}' has no planning.md, no plans/*.json and no files in .openagent`,
        'name the folder that contains .openagent',
      )
    const create = document === null ? null : createOrder(document)
    const called = (name ?? create?.definition.name ?? (basename(root).replace(/[^\w.-]+/g, '-') || 'plan')) as PlanName
    const given = create?.definition ?? { name: called, tasks: [] }
    const ended = new Map<string, ImportedTask>((create?.imported ?? []).map(one => [one.task, one]))
    const { definition, imported } = withFiles({ ...given, name: called }, ended, files)
    const contents = files.map(({ bytes }) => bytes)
    const order = {
      type: 'create',
      ...create,
      definition,
      imported,
      contents,
      written: 'others',
      taken: 'number',
    } as const
    const made = await engine.submit(null, order)
    if (!made.ok) throw refused(made.refusal)
    for (const line of left) printNote(context, `left out: ${line}`)
    answer(context, { plan: made.name, files: files.length, left }, () => [
      `${made.name} is a draft with ${numberOf(definition.tasks.length, 'task')} and ${numberOf(files.length, 'file')} as artifacts`,
      `Next: planfold artifact list ${made.name}`,
    ])
    return EXIT.done
  })
}

async function documentIn(context: Context, root: string): Promise<PlanFile | null> {
  const inPlans = (await entriesOf(join(root, 'plans'))).filter(one => one.isFile() && one.name.endsWith('.json'))
  if (inPlans.length > 1)
    throw usage(
      `there are ${inPlans.length} plans in '${join(root, 'plans')}'`,
      'import them one by one: planfold import FILE',
    )
  const found = inPlans[0] === undefined ? 'planning.md' : join('plans', inPlans[0].name)
  const path = join(root, found)
  if (inPlans[0] === undefined && !(await entriesOf(root)).some(one => one.isFile() && one.name === 'planning.md'))
    return null
  const text = await readText(context, path)
  // What we exported describes the plan in words; the plan itself is in plans/.
  const file = await parsePlanText(path, text, { fallbackName: basename(root) })
  refuseSketch(file)
  return file
}

const entriesOf = async (folder: string) =>
  await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })

interface Found {
  readonly path: string
  readonly kind: (typeof FOLDERS)[number]
  readonly bytes: Uint8Array
}

/** Links are not followed, and nothing outside the folder is read. */
async function filesIn(
  root: string,
  stateDir: string,
): Promise<{ readonly files: readonly Found[]; readonly left: readonly string[] }> {
  const gate = await openGate({ root, stateDir })
  if (!gate.ok) throw usage(gate.failure.message, gate.failure.hint)
  const files: Found[] = []
  const left: string[] = []
  const waiting = FOLDERS.map(kind => ({ kind, path: `.openagent/${kind}` }))
  try {
    for (const { kind, path } of waiting)
      for (const entry of await entriesOf(join(root, path))) {
        const below = `${path}/${entry.name}`
        if (entry.isDirectory()) waiting.push({ kind, path: below })
        else if (!entry.isFile()) left.push(`${below} is not a plain file`)
        else if (files.length === FILES_MAX)
          throw usage(`there are more than ${FILES_MAX} files in .openagent`, 'take some away')
        else {
          const content = await gate.value.read(below, { maxBytes: OUTPUT_MAX_BYTES })
          if (!content.ok) left.push(content.failure.message)
          else if (content.value !== null) files.push({ path: below, kind, bytes: content.value.bytes })
        }
      }
  } finally {
    await gate.value.close()
  }
  return { files, left }
}

/** A file is an output of the finished task that declares it, or in whose folder it is; the others belong to a task of their own. */
function withFiles(
  given: PlanDefinition,
  ended: ReadonlyMap<string, ImportedTask>,
  files: readonly Found[],
): { readonly definition: PlanDefinition; readonly imported: readonly ImportedTask[] } {
  const done = given.tasks.filter(({ id }) => ended.get(id)?.status === 'completed')
  const outputs = new Map<string, { [name: string]: JsonObject }>()
  const more: { [name: string]: OutputSource } = {}
  const own = freeName('openagent-files', new Set(given.tasks.map(({ id }) => id))) as TaskName
  for (const { path, kind, bytes } of files) {
    const [, task, name] = /^\.openagent\/artifacts\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    const declared = done.flatMap(({ id, outputs = {} }) =>
      Object.entries(outputs).flatMap(([output, one]) =>
        one.from === 'file' && one.file === path ? [[id, output] as const] : [],
      ),
    )[0]
    const placed =
      declared ?? (name !== undefined && NAME.test(name) && done.some(({ id }) => id === task) ? [task!, name] : null)
    const [to, output] = placed ?? [own, freeName(plainName(path), new Set(Object.keys(more)))]
    if (placed === null) more[output!] = { from: 'file', file: path, kind: KIND[kind] }
    const value = { artifact: sha256Of(bytes), bytes: bytes.length, file: path }
    outputs.set(to!, { ...outputs.get(to!), [output!]: value })
  }
  const extra: TaskDefinition = { id: own, title: 'Files of .openagent', action: { type: 'external' }, outputs: more }
  const all = [...ended.values()].map(one => withOutputs(one, outputs.get(one.task)))
  if (Object.keys(more).length === 0) return { definition: given, imported: all }
  return {
    definition: { ...given, tasks: [...given.tasks, extra] },
    imported: [...all, withOutputs({ task: own, status: 'completed' }, outputs.get(own))],
  }
}

const withOutputs = (one: ImportedTask, outputs: JsonObject | undefined): ImportedTask =>
  outputs === undefined ? one : { ...one, result: { status: 'succeeded', outputs } }

const sha256Of = (bytes: Uint8Array): Sha256 => createHash('sha256').update(bytes).digest('hex') as Sha256

const KIND = { cache: 'dataset', logs: 'log', artifacts: 'file' } as const
const NAME = /^[A-Za-z_][\w.-]{0,99}$/

const plainName = (path: string): string =>
  path
    .slice('.openagent/'.length)
    .replace(/[^\w.-]+/g, '-')
    .slice(0, 90)

/** The name, or with the first number behind it that makes it new. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let at = 2, free = name; ; free = `${name}-${at++}`) if (!taken.has(free)) return free
}
