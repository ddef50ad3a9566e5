// `planfold summary PLAN --form handoff`: a short readme and a postmortem, made from the journal. Printed, or written into a folder; files that
// are not ours are never written over unasked.

import { mkdir, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { PlanId } from '../../../domain/id.ts'
import { type ArtifactFile, artifactFiles } from '../../../domain/views/handoff.ts'
import type { Engine } from '../../../engine/engine.ts'
import { plainText } from '../../../safety/text/markdown.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'

export interface HandoffOptions {
  readonly out?: string
  readonly force?: boolean
}

export async function handoff(context: Context, word: string | undefined, options: HandoffOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine, stateDir }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const { out } = options
    const report = await engine.ask({ type: 'handoff', plan, links: out !== undefined })
    if (report === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const documents = [
      ['README.md', report.readme],
      ['POSTMORTEM.md', report.postmortem],
    ] as const
    const written: string[] = []
    if (out !== undefined) {
      const folder = resolve(context.cwd, out)
      await demandOutside(folder, stateDir)
      for (const [file, text] of documents) if (options.force !== true) await demandOurs(join(folder, file), text)
      if (options.force !== true) await demandNoOther(folder)
      await mkdir(folder, { recursive: true })
      const kept = new Set(
        (await engine.ask({ type: 'board', plan }))?.flatMap(one => (one.confidential ? [one.name] : [])),
      )
      const facts = { ...report, tasks: report.tasks.filter(({ task }) => !kept.has(task)) }
      for (const [file, text] of [...documents, ...(await records(engine, plan))]) {
        await replace(join(folder, file), text)
        written.push(join(folder, file))
      }
      written.push(...(await writeArtifacts(engine, { plan, folder }, artifactFiles(facts))))
    }
    answer(context, { ...report, written }, () =>
      written.length > 0
        ? written.map(file => `written: ${escapeForTerminal(file)}`)
        : documents.flatMap(([, text]) => printed(text)),
    )
    return EXIT.done
  })
}

/** As it reads, without what only Markdown needs: the line that marks our files, and signs written out. */
const printed = (text: string): readonly string[] =>
  plainText(text)
    .split('\n')
    .slice(2)
    .map(line => escapeForTerminal(line))

/** The folders of git and Planfold are not for handoffs; links are followed to where the files would be written. */
async function demandOutside(folder: string, stateDir: string): Promise<void> {
  const [real, state] = await Promise.all([whereItIs(folder), whereItIs(stateDir)])
  const inGit = real.split(sep).some(part => part.toLowerCase() === '.git')
  if (!inGit && real !== state && !real.startsWith(state + sep)) return
  throw new CliError(
    EXIT.refused,
    'not-allowed',
    `'${folder}' belongs to ${inGit ? 'git' : 'the state of Planfold'}; nothing is written there`,
    'choose another folder: --out handoff',
  )
}

async function whereItIs(path: string): Promise<string> {
  const there = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && dirname(path) !== path) return null
    throw error
  })
  return there ?? join(await whereItIs(dirname(path)), basename(path))
}

/** The plan, and its journal as the audit trail shows it: each line with the hash of its entry, values of outputs as hashes. */
async function records(engine: Engine, plan: PlanId): Promise<readonly (readonly [string, string])[]> {
  const [current, trail] = [await engine.ask({ type: 'definition', plan }), await engine.ask({ type: 'audit', plan })]
  const { printYaml } = await import('../../../format/plan/print.ts')
  return [
    ...(current === null ? [] : [['plan.yaml', printYaml(current.definition)] as const]),
    ...(trail === null
      ? []
      : [['journal.jsonl', trail.lines.map(line => `${JSON.stringify(line)}\n`).join('')] as const]),
  ]
}

/** A plan file or journal without our README beside it is someone else's. */
async function demandNoOther(folder: string): Promise<void> {
  const names = new Set(await readdir(folder).catch(() => []))
  const other = ['plan.yaml', 'journal.jsonl'].find(name => names.has(name))
  if (other === undefined || names.has('README.md')) return
  throw new CliError(
    EXIT.refused,
    'exists',
    `'${join(folder, other)}' was not written by a handoff`,
    'choose another folder, or overwrite it with --force',
  )
}

/** Named by their hash, so an existing file with that name and those bytes is kept; anything else is replaced. */
async function writeArtifacts(
  engine: Engine,
  { plan, folder }: { readonly plan: PlanId; readonly folder: string },
  files: readonly ArtifactFile[],
): Promise<readonly string[]> {
  if (files.length > 0) await mkdir(join(folder, 'artifacts'), { recursive: true })
  const written: string[] = []
  for (const { sha256, path } of files) {
    const bytes = await engine.ask({ type: 'artifact', plan, sha256 })
    // Its time is over, or it was collected: the document still names it by its hash.
    if (bytes === null) continue
    await replace(join(folder, path), bytes)
    written.push(join(folder, path))
  }
  return written
}

async function demandOurs(path: string, text: string): Promise<void> {
  const mark = text.slice(0, text.indexOf('\n'))
  const there = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (there === null || there.startsWith(mark)) return
  throw new CliError(
    EXIT.refused,
    'exists',
    `'${path}' was not written by a handoff`,
    'choose another folder, or overwrite it with --force',
  )
}

/** Whole or not at all; a link is replaced, not followed. */
async function replace(path: string, text: string | Uint8Array): Promise<void> {
  const beside = `${path}.planfold-new`
  try {
    await writeFile(beside, text, { flag: 'wx' })
    const file = await open(beside, 'r+')
    await file.sync()
    await file.close()
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
