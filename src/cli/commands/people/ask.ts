// `planfold ask [PLAN] [TASK] QUESTION`: a question in the middle of work, with a form. It waits in the inbox; the one who
// asked continues with something else, or waits for the answer here. `--id` waits for the answer to one that was asked before.

import type { Composed } from '../../../compose.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import type { Json } from '../../../domain/json.ts'
import { suggest } from '../../../domain/phrases.ts'
import type { Field } from '../../../domain/plan.ts'
import { isFieldName } from '../../../domain/plan-rules/form.ts'
import type { AskedQuestion } from '../../../engine/engine.ts'
import { keepClaim } from '../../../operations/report-task.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, notFound, printNote, usage, withState } from '../../command.ts'
import { findPlan, findPlanOrTask } from '../../find-target.ts'
import { Follower } from '../../live/follower.ts'
import { sendNotifications, submit } from '../../order.ts'
import { answerLines, endedUnanswered } from '../../text/inbox-text.ts'
import { valuesFor } from './form-values.ts'

// A field of a form as it is typed: `name:type[=default]`, with `name?` for one that may be left out and the choices behind a second
// colon: `env:choice:staging,prod=staging`. What needs a label or bounds comes from a file.

const TYPES: readonly Field['type'][] = ['text', 'number', 'boolean', 'choice', 'list']
const KEYS = ['name', 'label', 'type', 'choices', 'optional', 'default', 'min', 'max', 'pattern']
const HOW = "write name:type[=default], e.g. 'count:number=3' or 'env:choice:staging,prod'"
const FIELDS_MAX = 50

export function fieldOf(word: string): Field {
  const parts = /^([^:=?]*)(\?)?(?::([^:=]*))?(?::([^=]*))?(?:=(.*))?$/s.exec(word)
  const [, name = '', optional, type = 'text', choices, usual] = parts ?? []
  if (parts === null || !isFieldName(name)) throw usage(`'${word}' is not a field`, HOW)
  if (!isType(type)) {
    const near = suggest(type, TYPES)
    const known = near === null ? `one of ${TYPES.join(', ')}` : `did you mean '${near}'?`
    throw usage(`'${type}' is not a field type`, type.includes(',') ? `write ${name}:choice:${type}` : known)
  }
  const options = choices?.split(',').map(choice => choice.trim()) ?? []
  if (type === 'choice' && options.length === 0)
    throw usage(`'${name}' has nothing to choose from`, `write ${name}:choice:a,b,c`)
  if (type !== 'choice' && choices !== undefined)
    throw usage(`a field with choices has the type 'choice', not '${type}'`, `write ${name}:choice:${choices}`)
  const field: Field = {
    name,
    type,
    ...(type === 'choice' ? { choices: options } : {}),
    optional: optional === undefined ? undefined : true,
  }
  if (usual === undefined) return field
  const value = valuesFor([field], [`${name}=${usual}`])[name] as Json
  if (type === 'choice' && !options.includes(usual))
    throw usage(`the default '${usual}' of '${name}' is none of its choices`, `one of ${options.join(', ')}`)
  return { ...field, default: value }
}

async function formFrom(context: Context, path: string): Promise<readonly Field[]> {
  const { readText } = await import('../../plan-file.ts')
  const { readDocument } = await import('../../../format/text/document.ts')
  const read = readDocument(await readText(context, path))
  if (!read.ok) {
    const first = read.diagnostics[0]
    throw usage(`${path}:${first?.line ?? 1}:${first?.column ?? 1}: ${first?.message ?? 'not JSON'}`, first?.hint)
  }
  const { value } = read.document
  if (!Array.isArray(value) || value.length === 0 || value.length > FIELDS_MAX)
    throw usage(
      `${path} contains no form`,
      `write a list of 1 to ${FIELDS_MAX} fields: [{"name": "count", "type": "number"}]`,
    )
  return value.map((field, at) => checked(field, `${path}: field ${at + 1}`))
}

function checked(value: unknown, where: string): Field {
  const no = (what: string): Error => usage(`${where}: ${what}`, `keys of a field: ${KEYS.join(', ')}`)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw no('is not an object')
  const field = value as Readonly<Record<string, unknown>>
  const strange = Object.keys(field).find(key => !KEYS.includes(key))
  if (strange !== undefined) throw no(`'${strange}' is not a key of a field`)
  const { name, type, label, choices, optional, min, max, pattern } = field
  if (typeof name !== 'string' || !isFieldName(name)) throw no('has no name')
  if (choices !== undefined && type !== 'choice')
    throw usage(
      `${where}: a field with choices has the type 'choice'${type === undefined ? '' : `, not '${type}'`}`,
      `${type === undefined ? 'add' : 'write'} type: choice`,
    )
  if (typeof type !== 'string' || !isType(type)) throw no(`'type' must be one of ${TYPES.join(', ')}`)
  if (label !== undefined && typeof label !== 'string') throw no("'label' must be a text")
  if (pattern !== undefined && typeof pattern !== 'string') throw no("'pattern' must be a text")
  if (optional !== undefined && optional !== true) throw no("'optional' is true or left out")
  for (const bound of [min, max]) if (bound !== undefined && typeof bound !== 'number') throw no('bounds are numbers')
  const hasChoices = Array.isArray(choices) && choices.length > 0 && choices.every(one => typeof one === 'string')
  if (type === 'choice' && !hasChoices) throw no("a choice needs 'choices', a list of texts")
  return field as unknown as Field
}

const isType = (text: string): text is Field['type'] => (TYPES as readonly string[]).includes(text)

export interface AskOptions {
  readonly field?: readonly string[]
  readonly form?: string
  readonly wait?: boolean
  /** Milliseconds. */
  readonly timeout?: number
  /** Of the claim, which is extended while waiting. */
  readonly token?: string
  readonly id?: string
}

const PLAIN: readonly Field[] = [{ name: 'answer', type: 'text' }]

export async function ask(context: Context, words: readonly string[], options: AskOptions): Promise<number> {
  if (options.field !== undefined && options.form !== undefined)
    throw usage('--field and --form cannot be used together', 'use one of them')
  const form =
    options.form === undefined ? (options.field?.map(fieldOf) ?? PLAIN) : await formFrom(context, options.form)
  return await withState(context, { create: false }, async composed => {
    const asked =
      options.id === undefined
        ? await askNow(composed, words, form)
        : await askedBefore(composed, words[0], words.length, options.id)
    const { plan, name, question } = asked
    const ended = await endedUnanswered(composed.engine, asked)
    if (ended !== null) throw ended
    if (options.wait !== true || question.answer !== null) {
      tell(context, asked)
      if (question.answer === null)
        printNote(
          context,
          `it waits in the inbox; wait for the answer: planfold ask ${name} --id ${question.id} --wait`,
        )
      await sendNotifications(composed, plan)
      return EXIT.done
    }
    printNote(context, `${question.id} waits in the inbox: planfold answer ${name} ${question.id} NAME=VALUE`)
    const stop = new AbortController()
    const telling = composed.worker.tell(plan, { stop: stop.signal })
    try {
      return await waitFor(context, composed, asked, options)
    } finally {
      stop.abort()
      await telling
    }
  })
}

interface Asked {
  readonly plan: PlanId
  readonly name: string
  readonly question: AskedQuestion
  readonly version: number
}

async function askNow(composed: Composed, words: readonly string[], form: readonly Field[]): Promise<Asked> {
  const text = words.at(-1)
  if (text === undefined || words.length > 3)
    throw usage('what is the question?', "planfold ask PLAN [TASK] 'which one?' --field one:text")
  const { plan, name, task } = await findPlanOrTask(
    composed.engine,
    words[words.length - 3] ?? words[words.length - 2],
    words.length === 3 ? words[1] : undefined,
  )
  const order = { type: 'ask', text, form, ...(task === null ? {} : { task: task as TaskName }) } as const
  const { events, version } = await submit(composed, plan, order)
  const event = events.find(one => one.type === 'question.asked')
  if (event === undefined) throw new Error('bug: a question was accepted and not asked')
  const { type: _, ...question } = event
  return { plan, name, version, question: { ...question, since: composed.now(), answer: null } }
}

async function askedBefore(composed: Composed, word: string | undefined, words: number, id: string): Promise<Asked> {
  if (words > 1) throw usage('with --id only the plan is named', `planfold ask PLAN --id ${id} --wait`)
  const { plan, name } = await findPlan(composed.engine, word)
  const version = (await composed.engine.ask({ type: 'summary', plan }))?.version ?? 0
  const [question] = (await composed.engine.ask({ type: 'questions', plan, id })) ?? []
  if (question === undefined)
    throw notFound(`plan '${name}' has no question with the id '${id}'`, 'planfold inbox lists all requests')
  return { plan, name, question, version }
}

/** Until it is answered, the plan ends, the time is up, or the user interrupts. The question stays. */
async function waitFor(context: Context, composed: Composed, asked: Asked, options: AskOptions): Promise<number> {
  const { plan, name, version, question } = asked
  const { id, task } = question
  type End = 'answered' | 'ended' | 'late' | 'stopped'
  let resolve: (how: End) => void = () => {}
  const ended = new Promise<End>(resolved => {
    resolve = resolved
  })
  let found = question
  const follower = new Follower(composed.engine, plan, version, ({ events, now }) => {
    for (const event of events) {
      if (event.type === 'question.answered' && event.id === id) {
        found = { ...question, answer: { answers: event.answers, by: event.by, at: now } }
        resolve('answered')
      } else if (event.type === 'plan.finished') resolve('ended')
    }
  })
  const { token, timeout } = options
  const beat = async () => {
    if (token !== undefined && task !== undefined) await keepClaim(composed.engine, { plan, task }, { token })
  }
  const beating = setInterval(() => void beat().catch(() => {}), HEARTBEAT_MS)
  const timer = timeout === undefined ? undefined : setTimeout(() => resolve('late'), timeout)
  const unlisten = context.onSignal(() => resolve('stopped'))
  try {
    await beat()
    const how = await ended
    const over = how === 'ended' ? await endedUnanswered(composed.engine, { ...asked, question: found }) : null
    if (over !== null) throw over
    tell(context, { ...asked, question: found })
    if (how === 'answered') return EXIT.done
    const why = how === 'stopped' ? 'interrupted' : 'nobody has answered yet'
    printNote(context, `${why}; the question stays: planfold ask ${name} --id ${id} --wait`)
    return how === 'stopped' ? EXIT.interrupted : EXIT.waits
  } finally {
    clearInterval(beating)
    clearTimeout(timer)
    unlisten()
    await follower.close()
  }
}

const HEARTBEAT_MS = 15_000

function tell(context: Context, { plan, name, question }: Asked): void {
  answer(context, { plan, name, ...question }, () =>
    question.answer === null ? escapeForTerminal(question.id) : answerLines(question.answer.answers),
  )
}
