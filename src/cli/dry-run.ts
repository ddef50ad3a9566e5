// `run --dry-run`: what each task would do, with the diffs of its edits, and nothing written in the project. A file is looked
// at through a state folder among the temporary files, thrown away afterwards; not even `.planfold` is made.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Composed } from '../compose.ts'
import type { Card } from '../domain/views/board.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { answer } from './answer.ts'
import { type Context, withState } from './context.ts'
import { EXIT } from './exit.ts'
import { meantPlan } from './meant.ts'
import { submit } from './order.ts'
import type { Paint } from './paint.ts'
import { isFile, readPlanFile } from './plan-file.ts'

export async function dryRun(context: Context, word: string): Promise<number> {
  if (!(await isFile(context, word))) {
    return await withState(
      context,
      { create: false },
      async composed => await show(context, composed, (await meantPlan(composed.engine, word)).plan),
    )
  }
  const { definition } = await readPlanFile(context, word)
  const dir = await mkdtemp(join(tmpdir(), 'planfold-dry-run-'))
  try {
    return await withState(context, { create: true, dir }, async composed => {
      const { plan } = await submit(composed, null, { type: 'create', definition })
      return await show(context, composed, plan)
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

interface Would {
  readonly card: Card
  readonly text: string | null
}

async function show(context: Context, composed: Composed, plan: string): Promise<number> {
  const board = (await composed.engine.ask({ type: 'board', plan })) ?? []
  const would: Would[] = []
  for (const card of board)
    would.push({ card, text: (await composed.engine.ask({ type: 'preview', plan, task: card.name }))?.text ?? null })
  const data = would.map(({ card, text }) => ({
    task: card.name,
    action: card.action,
    effect: card.effect,
    needs: card.needs,
    preview: text,
  }))
  answer(context, { dryRun: true, tasks: data }, () => [
    ...would.flatMap(each => lines(each, context.paint)),
    'dry run: nothing was written',
  ])
  return EXIT.done
}

function lines({ card, text }: Would, paint: Paint): readonly string[] {
  const after = card.needs.length === 0 ? '' : paint.dim(` after ${card.needs.join(', ')}`)
  const title = card.title === null ? '' : ` — ${escapeForTerminal(card.title)}`
  return [
    `${paint.bold(card.name)} ${paint.dim(`${card.action}, ${card.effect}`)}${after}${title}`,
    ...(text === null ? inWords(card) : text.trim() === '' ? 'changes nothing as things stand' : text)
      .trimEnd()
      .split('\n')
      .map(line => `    ${tintDiff(escapeForTerminal(line.replaceAll('\t', '    ')), paint)}`),
    '',
  ]
}

function inWords(card: Card): string {
  if (card.action === 'gate') return 'asks a person for approval'
  if (card.action === 'external') return 'waits for an agent or a person to claim it'
  return card.action === 'verify' ? 'judges the definition of done' : `carries out its ${card.action}`
}

function tintDiff(line: string, paint: Paint): string {
  if (line.startsWith('+')) return paint.green(line)
  if (line.startsWith('-')) return paint.red(line)
  return line.startsWith('@@') ? paint.cyan(line) : line
}
