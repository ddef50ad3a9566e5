// `planfold memory`: what earlier plans teach the next ones.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defined } from '../../../domain/json.ts'
import type { Lesson } from '../../../domain/memory/lesson.ts'
import { decisionsIn, type ListedDecision, latestDecisions } from '../../../operations/memory/decisions.ts'
import { FILE, proposeDecision } from '../../../operations/memory/propose-decision.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, refused, usage, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'
import { briefLines } from '../../terminal/one-line.ts'
import { pathInside } from '../../text/path-text.ts'

export interface DecisionOptions {
  readonly limit: number
}

export async function decisions(context: Context, word: string | undefined, options: DecisionOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const plan = word === undefined ? null : await findPlan(engine, word, { looking: true })
    const items =
      plan === null
        ? await latestDecisions(engine, options.limit)
        : (await decisionsIn(engine, { ...plan, id: plan.plan })).slice(0, options.limit)
    answer(context, { items }, () =>
      items.length === 0 ? ['no one has decided anything yet'] : items.flatMap(item => decisionLines(context, item)),
    )
    return EXIT.done
  })
}

export async function propose(context: Context, id: string): Promise<number> {
  return await withState(context, { create: false }, async ({ engine, root }) => {
    const now = await readFile(join(root, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    const proposed = await proposeDecision(engine, id, now)
    if (!proposed.ok) throw refused(proposed.refusal)
    const { name } = proposed
    answer(context, { id, plan: name }, () => [
      `plan ${name} writes it into ${FILE} after an approval`,
      `Next: planfold run ${name}`,
    ])
    return EXIT.done
  })
}

export interface LessonOptions {
  readonly file?: string
}

export async function lessons(context: Context, options: LessonOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine, root }) => {
    const file = options.file === undefined ? undefined : pathInside(root, context.cwd, options.file)
    if (file === null) throw usage(`'${options.file}' is outside the workspace`, `name a path inside ${root}`)
    const items = await engine.ask({ type: 'lessons', ...defined({ file }) })
    const none = file === undefined ? 'there are no lessons yet' : `no lesson is about '${escapeForTerminal(file)}'`
    answer(context, { items }, () => (items.length === 0 ? [none] : items.flatMap(item => lessonLines(context, item))))
    return EXIT.done
  })
}

function lessonLines(
  { paint }: Context,
  { standing, why, name, task, by, at, text, files }: Lesson,
): readonly string[] {
  const word = { valid: paint.green, doubtful: paint.yellow, dropped: paint.red }[standing](standing)
  const about = files.map(({ path, now }) => now ?? path).join(', ')
  return [
    `${word} ${paint.dim(escapeForTerminal(`${dateAndTime(at)}  ${name} ${task}  ${by}${about === '' ? '' : `  ${about}`}`))}`,
    ...(why === null ? [] : [`  ${escapeForTerminal(why)}`]),
    `  ${briefLines(text, 4)}`,
  ]
}

function decisionLines({ paint }: Context, { id, at, by, asked, answer, why }: ListedDecision): readonly string[] {
  const said = why === '' ? '' : paint.dim(` (${escapeForTerminal(why)})`)
  return [
    paint.dim(escapeForTerminal(`${dateAndTime(at)}  ${id}  ${by}`)),
    `  ${escapeForTerminal(asked)}: ${paint.bold(escapeForTerminal(answer))}${said}`,
  ]
}
