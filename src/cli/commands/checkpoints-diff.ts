// `planfold checkpoints diff PLAN FROM [TO]`: which paths differ between two checkpoints, or between one and now, and what
// happened to each; with --patch the text, too. Nothing here changes anything.

import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Composed } from '../../compose.ts'
import { numberOf } from '../../domain/number-of.ts'
import type { CheckpointDiff } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { answer } from '../answer.ts'
import { type Happened, happenedTo } from '../change-words.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, refused } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { type Patch, patchOf } from '../patch.ts'
import { shownPath } from '../path-words.ts'

export interface DiffOptions {
  readonly patch?: boolean
}

/** Larger contents are not laid side by side. */
const PATCH_MAX_BYTES = 1024 * 1024

export async function diffCheckpoints(
  context: Context,
  word: string,
  from: string,
  to: string | undefined,
  options: DiffOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word, { looking: true })
    const diff = await composed.engine.ask({
      type: 'checkpointDiff',
      plan,
      from,
      ...(to === undefined ? {} : { to }),
    })
    if (diff === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    if (!diff.ok) throw refused(diff.refusal)
    const items: Item[] = []
    for (const change of diff.changes) {
      const patch = options.patch === true ? await patchFor(composed, change) : null
      items.push({
        ...happenedTo(change),
        path: change.path,
        before: change.before,
        after: change.after,
        ...(patch === null ? {} : { patch }),
      })
    }
    const { basis, left } = diff
    answer(context, { plan, name, from, to: to ?? null, basis, changes: items, left }, () =>
      lines(context, { from, to, diff, items }),
    )
    return EXIT.done
  })
}

type Item = Happened & Change & { readonly patch?: Patch }

function lines(
  { paint }: Context,
  told: {
    readonly from: string
    readonly to: string | undefined
    readonly diff: Extract<CheckpointDiff, { ok: true }>
    readonly items: readonly Item[]
  },
): readonly string[] {
  const { from, to, diff, items } = told
  const tints = { added: paint.green, removed: paint.red, changed: paint.yellow, mode: paint.cyan }
  const sides = `${escapeForTerminal(from)} → ${to === undefined ? 'now' : escapeForTerminal(to)}`
  const basis = diff.basis === 'whole' ? 'all files' : 'only what the plan wrote; not all files were stored'
  return [
    `${sides}: ${items.length === 0 ? 'no differences' : numberOf(items.length, 'path')} ${paint.dim(`(${basis})`)}`,
    ...items.flatMap(({ happened, how, path, patch }) => [
      `  ${tints[happened](happened.padEnd(7))}  ${shownPath(path)}${how === null ? '' : paint.dim(`  ${escapeForTerminal(how)}`)}`,
      ...(patch === undefined ? [] : patchLines(paint, patch)),
    ]),
    ...diff.left.map(
      ({ path, reason }) => `  ${paint.yellow('unknown')}  ${shownPath(path)}  ${escapeForTerminal(reason)}`,
    ),
  ]
}

export function patchLines(paint: Context['paint'], patch: Patch): readonly string[] {
  if (patch.type !== 'text') return [paint.dim(`    ${patch.why}`)]
  return patch.lines.map(line => {
    const shown = `    ${escapeForTerminal(line.replaceAll('\t', '        '))}`
    const sign = line[0]
    return sign === '+'
      ? paint.green(shown)
      : sign === '-'
        ? paint.red(shown)
        : sign === '@'
          ? paint.cyan(shown)
          : shown
  })
}

export async function patchFor(composed: Composed, { path, before, after }: Change): Promise<Patch | null> {
  if (before?.type !== 'file' && after?.type !== 'file') return null
  if (before?.type === 'file' && after?.type === 'file' && before.sha256 === after.sha256) return null
  const sides = [before, after].map(side => (side?.type === 'file' ? side : null))
  if (sides.some(side => (side?.size ?? 0) > PATCH_MAX_BYTES)) return { type: 'none', why: 'too big to be shown' }
  const [a, b] = [await bytesOf(composed, path, sides[0]!), await bytesOf(composed, path, sides[1]!)]
  if (a === null || b === null) return { type: 'none', why: 'its content is not stored' }
  return patchOf(a, b)
}

/** From the content store, or from the workspace where it stands there as it is told; empty where there is no file. */
async function bytesOf(
  { engine, root }: Composed,
  path: string,
  entry: Extract<TreeEntry, { type: 'file' }> | null,
): Promise<Uint8Array | null> {
  if (entry === null) return new Uint8Array()
  const stored = await engine.ask({ type: 'blob', sha256: entry.sha256 })
  if (stored !== null) return stored
  try {
    const file = await open(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile() || stat.size > PATCH_MAX_BYTES) return null
      const bytes = await file.readFile()
      return createHash('sha256').update(bytes).digest('hex') === entry.sha256 ? bytes : null
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
