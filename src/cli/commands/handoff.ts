// `planfold handoff PLAN`: a short readme and a postmortem, made from the journal. Printed, or written into a folder; files that
// are not ours are never written over unasked.

import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'

export interface HandoffOptions {
  readonly write?: string
  readonly force?: boolean
}

export async function handoff(context: Context, word: string | undefined, options: HandoffOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await meantPlan(engine, word)
    const told = await engine.ask({ type: 'handoff', plan })
    if (told === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const documents = [
      ['README.md', told.readme],
      ['POSTMORTEM.md', told.postmortem],
    ] as const
    const written: string[] = []
    if (options.write !== undefined) {
      const folder = resolve(context.cwd, options.write)
      for (const [file, text] of documents) if (options.force !== true) await demandOurs(join(folder, file), text)
      await mkdir(folder, { recursive: true })
      for (const [file, text] of documents) {
        await replace(join(folder, file), text)
        written.push(join(folder, file))
      }
    }
    answer(context, { ...told, written }, () =>
      written.length > 0
        ? written.map(file => `written: ${escapeForTerminal(file)}`)
        : documents.flatMap(([, text]) => text.split('\n').map(line => escapeForTerminal(line))),
    )
    return EXIT.done
  })
}

/** What an earlier handoff wrote begins with the same line. */
async function demandOurs(path: string, text: string): Promise<void> {
  const mark = text.slice(0, text.indexOf('\n'))
  const there = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (there === null || there.startsWith(mark)) return
  throw new Complaint(
    EXIT.refused,
    'exists',
    `'${path}' was not written by a handoff`,
    'choose a folder of its own, or write over it with --force',
  )
}

/** Whole or not at all; a link that stands there is replaced, not followed. */
async function replace(path: string, text: string): Promise<void> {
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
