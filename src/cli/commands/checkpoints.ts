// `planfold checkpoints list|show`: the places a plan can go back to, and what it knew at one of them. Nothing here changes
// anything.

import { suggest } from '../../domain/suggest.ts'
import type { Checkpoint } from '../../domain/views/checkpoints.ts'
import type { CheckpointCard, Engine } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { standingShort, standingWords, whyWords } from '../checkpoint-words.ts'
import { type Context, withState } from '../context.ts'
import { ago, dateAndTime } from '../elapsed.ts'
import { EXIT, notFound } from '../exit.ts'
import { type MeantPlan, meantPlan } from '../meant.ts'
import { table } from '../table.ts'

const SHOWN_MAX = 30

export async function listCheckpoints(
  context: Context,
  word: string | undefined,
  options: { readonly all?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await meantPlan(engine, word, { looking: true })
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
    return ['no checkpoints yet; there is one after each task, and `planfold checkpoint` takes one']
  const rows = items.map(one => [
    { text: one.name, tint: one.why === 'after' ? (text: string) => text : paint.bold },
    String(one.version),
    ago(one.at, now()),
    whyWords(one),
    one.paths === null ? '' : String(one.paths),
    standingShort(one.standing),
  ])
  return [
    ...(earlier === 0 ? [] : [paint.dim(`… ${earlier} earlier ones: planfold checkpoints list ${name} --all`)]),
    ...table(paint, ['checkpoint', 'entry', 'when', 'taken', 'wrote', 'holds'], rows, terminal?.columns() ?? null),
    paint.dim(`go back to one: planfold rollback ${name} --to CHECKPOINT (--dry-run shows what would happen)`),
  ]
}

export async function showCheckpoint(context: Context, word: string, checkpoint: string): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const meant = await meantPlan(engine, word, { looking: true })
    const card = await engine.ask({ type: 'checkpoint', plan: meant.plan, checkpoint })
    if (card === null) throw await unknown(engine, meant, checkpoint)
    answer(context, { plan: meant.plan, name: meant.name, checkpoint: card }, () =>
      cardLines(context, meant.name, card),
    )
    return EXIT.done
  })
}

function cardLines({ paint }: Context, plan: string, card: CheckpointCard): readonly string[] {
  const line = (word: string, text: string): string => `  ${paint.dim(word.padEnd(9))} ${escapeForTerminal(text)}`
  const warn = (word: string, text: string): string => `  ${paint.yellow(word.padEnd(9))} ${escapeForTerminal(text)}`
  return [
    paint.bold(escapeForTerminal(card.name)),
    line('taken', `${dateAndTime(card.at)}, ${whyWords(card)}`),
    line('entry', `${card.version} of ${plan}, revision ${card.revision}`),
    line('plan', card.status),
    line('completed', card.completed.length === 0 ? 'nothing yet' : card.completed.join(', ')),
    ...(card.paths === null ? [] : [line('wrote', `${card.paths} ${card.paths === 1 ? 'path' : 'paths'}`)]),
    ...Object.entries(card.outputs).map(([task, outputs]) => line('outputs', `${task} ${JSON.stringify(outputs)}`)),
    ...card.decisions.map(({ task, verdict, rationale }) =>
      line('decided', `${task} ${verdict}${rationale === '' ? '' : `: ${rationale}`}`),
    ),
    ...card.evidence.map(({ task, criterion, holds }) =>
      line(
        'judged',
        `${task}: ${criterion} ${holds === null ? 'waits for a verdict' : holds ? 'holds' : 'does not hold'}`,
      ),
    ),
    ...standingWords(card.standing).map(([word, text]) => (word === 'not there' ? warn(word, text) : line(word, text))),
    ...(card.standing.snapshot === undefined && card.standing.lacks === undefined
      ? [line('files', 'what the plan wrote since is known, path by path; the rest is not stored here')]
      : []),
    paint.dim(`  files since then: planfold checkpoints diff ${plan} ${escapeForTerminal(card.name)}`),
  ]
}

async function unknown(engine: Engine, { plan, name }: MeantPlan, word: string): Promise<Error> {
  const all = (await engine.ask({ type: 'checkpoints', plan })) ?? []
  const near = suggest(
    word,
    all.map(one => one.name),
  )
  return notFound(
    `plan '${name}' has no checkpoint '${word}'`,
    near === null ? `planfold checkpoints list ${name} shows them` : `did you mean '${near}'?`,
  )
}
