// `planfold undo files PLAN [PATH…]`: lists what was set back and is kept, by time and task; with paths, brings these back.

import type { KeptFile } from '../../../engine/engine.ts'
import { listKeptFiles, restoreOrder } from '../../../operations/rollback-plan.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT, notFound, printNote, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { orderAndTell } from '../../order.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { brief } from '../../terminal/one-line.ts'

import { resolvePaths, shownPath } from '../../text/path-text.ts'

export interface RestoreOptions {
  readonly hash?: string
  readonly overwrite?: boolean
  readonly merge?: boolean
}

export async function restore(
  context: Context,
  plan: string,
  words: readonly string[],
  options: RestoreOptions,
): Promise<number> {
  if (options.overwrite === true && options.merge === true)
    throw usage('--overwrite and --merge cannot be used together', 'use one of them')
  return await withState(context, { create: false }, async composed => {
    const { engine, root } = composed
    const target = await findPlan(engine, plan)
    const kept = await listKeptFiles(engine, target.plan)
    if (words.length === 0) {
      const items = kept.flatMap(({ versions }) => versions).sort((a, b) => a.at - b.at)
      answer(context, { plan: target.plan, name: target.name, items }, () =>
        items.length === 0 ? `no backups in ${brief(target.name)}` : items.map(one => versionLine(one, context.now())),
      )
      if (items.length > 0)
        printNote(
          context,
          `Restore one: planfold undo files ${shellWord(target.name)} PATH  (an older version: --hash HASH)`,
        )
      return EXIT.done
    }
    const known = kept.map(({ path }) => path)
    const paths = new Set<string>()
    for (const word of words) {
      const found = resolvePaths({ root, cwd: context.cwd }, word, known)
      if (found.length === 0)
        throw notFound(
          `no backup of '${word}' in ${target.name}`,
          `planfold undo files ${shellWord(target.name)} lists them`,
        )
      for (const path of found) paths.add(path)
    }
    try {
      const { events } = await orderAndTell(context, composed, target.plan, restoreOrder([...paths], options))
      if (events.length === 0) printNote(context, 'the file already has this version; for an older one use --hash HASH')
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'conflict' || options.overwrite || options.merge) throw error
      const command = `planfold undo files ${shellWord(target.name)} ${words.map(shellWord).join(' ')}`
      throw new CliError(
        EXIT.refused,
        'conflict',
        error.message,
        `${command} --overwrite (the current version is backed up), or ${command} --merge`,
      )
    }
    return EXIT.done
  })
}

const HAPPENED: { readonly [by in KeptFile['by']]?: string } = { task: 'overwritten', adopt: 'replaced' }

function versionLine({ path, at, by, task, kept }: KeptFile, now: number): string {
  const why =
    by === 'retry'
      ? `before retrying ${brief(task ?? '')}`
      : by === 'rollback'
        ? 'by a rollback'
        : by === 'adopt'
          ? 'by adopting a fork'
          : by === 'task'
            ? `by ${brief(task ?? '')}`
            : 'by a restore'
  const what =
    kept === null
      ? 'removed   '
      : kept.type === 'file'
        ? `${kept.sha256.slice(0, 10)}`
        : kept.type === 'link'
          ? 'link      '
          : 'folder    '
  return `${what}  ${shownPath(path)}  ${HAPPENED[by] ?? 'reverted'} ${ago(at, now)} ${why}`
}
