// Commit messages: a subject from a template, a body, and trailers that lead back to plan and task. All of it is foreign text, so control
// characters are removed and single lines are enforced.

import type { Actor, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import { wordList } from '../../domain/json.ts'
import type { WhyCommit } from '../../domain/views/pages/why-lines.ts'

export type CommitType = 'feat' | 'fix' | 'chore'

export interface MessageRequest {
  readonly kind?: string
  readonly title: string
  readonly body?: string
  /** Replaces `{type}` and `{title}`; default `{type}(plan): {title}`. */
  readonly template?: string
}

export const MESSAGE_TEMPLATE = '{type}(plan): {title}'
export const SUBJECT_MAX = 72
const BODY_MAX = 20_000

const TYPES: { readonly [word: string]: CommitType } = {
  ...words('fix', ['fix', 'bugfix', 'hotfix', 'debug', 'repair', 'recover', 'revert', 'patch']),
  ...words('feat', wordList('feat feature implement implementation build create add edit code write')),
}

/** Repairs are a fix, new work is a feat, anything else a chore. */
export function commitType(kind: string | undefined): CommitType {
  const word = (kind ?? '').toLowerCase()
  return Object.hasOwn(TYPES, word) ? TYPES[word]! : 'chore'
}

export function commitMessage(request: MessageRequest): string {
  const title = oneLine(request.title)
  const template = oneLine(request.template ?? '') || MESSAGE_TEMPLATE
  // A function, because a title may contain `$&`; one pass, because a title may contain `{type}`.
  const subject = template.replace(/\{(type|title)\}/g, (_, word: string) =>
    word === 'type' ? commitType(request.kind) : title === '' ? 'work' : title,
  )
  const body = lines(request.body ?? '').slice(0, BODY_MAX)
  return body === '' ? shortened(subject) : `${shortened(subject)}\n\n${body}`
}

export interface Trailers {
  readonly plan: PlanId
  readonly name: PlanName
  readonly task?: TaskName
  readonly actor: Actor
  readonly key?: string
  /** The attempt of the visit that the key names. */
  readonly attempt?: number
  readonly result?: string
}

/** The trailers are a paragraph of their own at the end, so that no line of the body can pass for one. */
export function withTrailers(message: string, trailers: Trailers): string {
  const text = lines(message)
  const written = [
    `Planfold-Plan: ${trailers.name} ${trailers.plan}`,
    ...(trailers.task === undefined ? [] : [`Planfold-Task: ${oneLine(trailers.task)}`]),
    `Planfold-Actor: ${oneLine(trailers.actor)}`,
    ...(trailers.key === undefined ? [] : [`Planfold-Key: ${oneLine(trailers.key)}`]),
    ...(trailers.attempt === undefined ? [] : [`Planfold-Attempt: ${trailers.attempt}`]),
    ...(trailers.result === undefined ? [] : [`Planfold-Result: ${oneLine(trailers.result)}`]),
  ]
  return `${text === '' ? 'chore(plan): work' : text}\n\n${written.join('\n')}\n`
}

/** What the trailers of a commit say. Anybody can write such a commit, so it is a claim until a store confirms it. */
/** Null for a commit that Planfold did not make. */
export function trailersIn(message: string): WhyCommit['planfold'] {
  const last = message
    .trimEnd()
    .split(/\n\s*\n/)
    .at(-1)!
  const value = (key: string): string | null =>
    new RegExp(`^Planfold-${key}: (.*)$`, 'm').exec(last)?.[1]?.trim().slice(0, VALUE_MAX) ?? null
  const [name, plan] = (value('Plan') ?? '').split(' ')
  if (!name || !plan) return null
  const number = (text: string | null | undefined): number | null =>
    /^\d{1,9}$/.test(text ?? '') ? Number(text) : null
  const visit = number(value('Key')?.split('/').at(-1))
  return { plan, name, task: value('Task'), visit, attempt: number(value('Attempt')) }
}

const VALUE_MAX = 500

export function oneLine(text: string): string {
  return text
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()
}

function lines(text: string): string {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(each =>
      each
        .replace(/\p{Cs}/gu, '\ufffd')
        .replace(/[^\P{Cc}\t]/gu, ' ')
        .trimEnd(),
    )
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function shortened(subject: string): string {
  const characters = [...subject]
  return characters.length <= SUBJECT_MAX
    ? subject
    : `${characters
        .slice(0, SUBJECT_MAX - 1)
        .join('')
        .trimEnd()}…`
}

function words(type: CommitType, names: readonly string[]): { readonly [word: string]: CommitType } {
  return Object.fromEntries(names.map(name => [name, type]))
}
