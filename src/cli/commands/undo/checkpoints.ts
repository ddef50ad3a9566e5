// `planfold checkpoint` takes a checkpoint; `planfold checkpoint list|show|diff|cat` shows the places a plan can go back to.

import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Composed } from '../../../compose.ts'
import { isSha256 } from '../../../domain/id.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Checkpoint } from '../../../domain/views/checkpoints.ts'
import type { CheckpointCard, CheckpointDiff } from '../../../engine/engine.ts'
import { type Patch, patchOf } from '../../../format/text/patch.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import type { Change, TreeEntry } from '../../../workspace/workspace.ts'
import { answer, type Context, EXIT, notFound, printNote, refused, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'
import { ago, dateAndTime } from '../../terminal/elapsed-time.ts'
import { planWord } from '../../terminal/paint.ts'
import { table } from '../../terminal/table.ts'
import { shownPath } from '../../text/path-text.ts'
import { changeKind, type Happened, standingShort, standingWords, whyWords } from '../../text/rollback-result.ts'

export async function checkpoint(
  context: Context,
  word: string | undefined,
  options: { readonly name?: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await findPlan(composed.engine, word)
    const { version, events } = await submit(composed, plan, { type: 'checkpoint', ...options })
    const taken = events.find(event => event.type === 'checkpoint.taken')
    if (taken === undefined) throw new Error('bug: a checkpoint was accepted and not taken')
    const { standing } = taken
    answer(context, { plan, name, version, checkpoint: taken.name, standing }, () => taken.name)
    for (const line of standingWords(standing)) printNote(context, `${line[0]}: ${line[1]}`)
    printNote(context, `Roll back to it: planfold rollback ${name} --to ${taken.name}`)
    return EXIT.done
  })
}

const PATCH_MAX_BYTES = 1024 * 1024

export async function diffCheckpoints(
  context: Context,
  word: string,
  from: string,
  to: string | undefined,
  options: { readonly patch?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await findPlan(composed.engine, word, { looking: true })
    const diff = await composed.engine.ask({
      type: 'checkpointDiff',
      plan,
      from,
      to,
    })
    if (diff === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    if (!diff.ok) throw refused(diff.refusal)
    const items: Item[] = []
    for (const change of diff.changes) {
      const patch = options.patch === true ? await patchFor(composed, change) : null
      items.push({
        ...changeKind(change),
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
  shown: {
    readonly from: string
    readonly to: string | undefined
    readonly diff: Extract<CheckpointDiff, { ok: true }>
    readonly items: readonly Item[]
  },
): readonly string[] {
  const { from, to, diff, items } = shown
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
  if (sides.some(side => (side?.size ?? 0) > PATCH_MAX_BYTES)) return { type: 'none', why: 'too large to show' }
  const [a, b] = [await bytesOf(composed, path, sides[0]!), await bytesOf(composed, path, sides[1]!)]
  if (a === null || b === null) return { type: 'none', why: 'its content is not stored' }
  return patchOf(a, b)
}

/** From the content store, or from the workspace if its file has the hash; empty where there is no file. */
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

export async function cat(context: Context, word: string, sha256: string): Promise<number> {
  if (!isSha256(sha256))
    throw usage(`'${sha256}' is not a SHA-256 hash`, 'write its 64 hexadecimal digits, as they were printed')
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const bytes = await engine.ask({ type: 'blob', sha256 })
    if (bytes === null)
      throw notFound(
        `nothing is stored under ${sha256}`,
        `planfold log ${name} names what was backed up; prune removes it`,
      )
    const text = isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : null
    if (context.settings.json) {
      const content = text === null ? { base64: Buffer.from(bytes).toString('base64') } : { text }
      answer(context, { plan, name, sha256, bytes: bytes.length, ...content }, () => [])
    } else if (context.terminal === null) context.stdout.write(bytes)
    else if (text === null || text.includes('\0'))
      throw usage(
        `it is not text (${numberOf(bytes.length, 'byte')})`,
        `write them to a file: planfold checkpoint cat ${name} ${sha256} > FILE`,
      )
    else context.stdout.write(escapeForTerminal(text, { keepLines: true }))
    return EXIT.done
  })
}

const SHOWN_MAX = 30

export async function listCheckpoints(
  context: Context,
  word: string | undefined,
  options: { readonly all?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const all = (await engine.ask({ type: 'checkpoints', plan })) ?? []
    const items = options.all === true ? all : all.slice(-SHOWN_MAX)
    const earlier = all.length - items.length
    answer(context, { plan, name, items, earlier }, () => listLines(context, name, items, earlier))
    return EXIT.done
  })
}

function listLines(
  { paint, terminal, now }: Context,
  name: string,
  items: readonly Checkpoint[],
  earlier: number,
): readonly string[] {
  if (items.length === 0)
    return ['no checkpoints yet; Planfold creates one after each task, `planfold checkpoint` creates one now']
  const rows = items.map(one => [
    { text: one.name, tint: one.why === 'after' ? (text: string) => text : paint.bold },
    String(one.version),
    ago(one.at, now()),
    whyWords(one),
    one.paths === null ? '' : String(one.paths),
    standingShort(one.standing),
  ])
  return [
    ...(earlier === 0 ? [] : [paint.dim(`… ${earlier} earlier ones: planfold checkpoint list ${name} --all`)]),
    ...table(paint, ['checkpoint', 'entry', 'when', 'created', 'wrote', 'saved'], rows, terminal?.columns() ?? null),
    paint.dim(`Roll back to one: planfold rollback ${name} --to CHECKPOINT (--dry-run shows what would happen)`),
  ]
}

export async function showCheckpoint(context: Context, word: string, checkpoint: string): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const target = await findPlan(engine, word, { looking: true })
    const found = await engine.ask({ type: 'checkpoint', plan: target.plan, checkpoint })
    if (found === null) throw new Error(`bug: the plan ${target.plan} was found and is gone`)
    if (!found.ok) throw refused(found.refusal)
    const { card } = found
    answer(context, { plan: target.plan, name: target.name, checkpoint: card }, () =>
      cardLines(context, target.name, card),
    )
    return EXIT.done
  })
}

function cardLines({ paint }: Context, plan: string, card: CheckpointCard): readonly string[] {
  const line = (word: string, text: string): string => `  ${paint.dim(word.padEnd(9))} ${escapeForTerminal(text)}`
  const warn = (word: string, text: string): string => `  ${paint.yellow(word.padEnd(9))} ${escapeForTerminal(text)}`
  return [
    paint.bold(escapeForTerminal(card.name)),
    line('created', `${dateAndTime(card.at)}, ${whyWords(card)}`),
    line('entry', `${card.version} of ${plan}, revision ${card.revision}`),
    line('plan', planWord(card.status)),
    line('completed', card.completed.length === 0 ? 'nothing yet' : card.completed.join(', ')),
    ...(card.paths === null ? [] : [line('wrote', `${card.paths} ${card.paths === 1 ? 'path' : 'paths'}`)]),
    ...Object.entries(card.outputs).map(([task, outputs]) => line('outputs', `${task} ${JSON.stringify(outputs)}`)),
    ...card.decisions.map(({ task, verdict, rationale }) =>
      line('decided', `${task} ${verdict}${rationale === '' ? '' : `: ${rationale}`}`),
    ),
    ...card.evidence.map(({ task, criterion, holds }) =>
      line('checked', `${task}: ${criterion} ${holds === null ? 'not checked' : holds ? 'passed' : 'failed'}`),
    ),
    ...standingWords(card.standing).map(([word, text]) => (word === 'not there' ? warn(word, text) : line(word, text))),
    ...(card.standing.snapshot === undefined && card.standing.lacks === undefined
      ? [line('files', 'stores only files written by the plan, not the others')]
      : []),
    paint.dim(`  files since then: planfold checkpoint diff ${plan} ${escapeForTerminal(card.name)}`),
  ]
}
