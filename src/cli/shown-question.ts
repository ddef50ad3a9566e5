// `planfold show PLAN ID`: a question that was asked in the middle of work, and its answer when there is one.

import type { Engine } from '../engine/engine.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { answer } from './answer.ts'
import { endedUnanswered } from './asked-too-late.ts'
import type { Context } from './context.ts'
import { ago } from './elapsed.ts'
import { answerLines, fieldWords } from './inbox-words.ts'

/** As ids are spelt; a task of that name comes first. */
const ID = /^[0-9a-hj-km-np-tv-z]{8}$/

/** False when no question is meant. */
export async function showQuestion(context: Context, engine: Engine, plan: string, id: string): Promise<boolean> {
  if (!ID.test(id) || (await engine.ask({ type: 'task', plan, task: id })) !== null) return false
  const [question] = (await engine.ask({ type: 'questions', plan, id })) ?? []
  if (question === undefined) return false
  const { text, form, by, task, since, answer: given } = question
  const now = context.now()
  const found = await engine.ask({ type: 'find', reference: plan })
  const over = found === null ? null : await endedUnanswered(engine, { ...found, question })
  answer(context, { question }, () => [
    `${context.paint.bold(id)} ${escapeForTerminal(by)}${task === undefined ? '' : `, at ${task},`} asks: ${escapeForTerminal(text)} ${context.paint.dim(`(${ago(since, now)})`)}`,
    ...(given === null
      ? [
          over === null ? '  waits for an answer:' : '  was not answered before the plan ended:',
          ...form.map(field => `  ${fieldWords(field)}`),
        ]
      : [
          `  answered by ${escapeForTerminal(given.by)} ${ago(given.at, now)}:`,
          ...answerLines(given.answers).map(line => `  ${line}`),
        ]),
  ])
  return true
}
