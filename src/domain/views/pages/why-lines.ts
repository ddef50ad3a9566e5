// Why the lines of a file are there: the answer to `why`, and its words for people and agents. It holds no content of files.

import type { Hint } from '../../hint.ts'
import type { Millis, PlanId, PlanName, TaskName } from '../../id.ts'
import { numberOf } from '../../phrases.ts'

export interface Why {
  /** In the workspace, with forward slashes. */
  readonly path: string
  /** `text`: by lines. `whole`: binary or too large, so only the last change is known. `gone`: there is no such file any more. */
  readonly basis: 'text' | 'whole' | 'gone'
  /** How many lines the file has now. */
  readonly lines: number
  /** The lines that were asked about, in order; each with the number of its origin in the list. */
  readonly parts: readonly WhyPart[]
  readonly origins: readonly WhyOrigin[]
  /** What could not be read, so that an origin may be older than it looks. */
  readonly lacks: readonly string[]
}

export interface WhyPart {
  readonly from: number
  readonly to: number
  readonly origin: number
}

export type WhyOrigin =
  | WhyTask
  /** A rollback or restore put it together, and its earlier versions are not stored. */
  | { readonly by: 'plan'; readonly plan: PlanId; readonly name: PlanName; readonly at: Millis; readonly actor: string }
  /** A person changed it outside any plan, between two records. `commit`: in which it was committed. */
  | {
      readonly by: 'hand'
      readonly since: RecordNamed
      readonly until: RecordNamed | null
      readonly commit: WhyCommit | null
    }
  /** No plan of this store wrote it. */
  | { readonly by: 'commit'; readonly commit: WhyCommit }
  /** No plan wrote it, and it is in no commit. */
  | { readonly by: 'nobody' }
  /** The content before or after this change is no longer stored. */
  | { readonly by: 'unknown'; readonly change: RecordNamed }
  /** A plan that the caller may not see. */
  | { readonly by: 'hidden' }

/** The recorded change of a plan. */
export interface RecordNamed {
  readonly plan: PlanId
  readonly name: PlanName
  /** Null for a rollback, an adoption or a restore. */
  readonly task: TaskName | null
  readonly at: Millis
  readonly entry: number
}

export interface WhyTask extends RecordNamed {
  readonly by: 'task'
  readonly task: TaskName
  readonly title: string | null
  /** What the file was called when the task wrote it. */
  readonly path: string
  readonly visit: number
  readonly attempt: number
  readonly status: 'succeeded' | 'failed' | 'lost' | 'undone' | 'unknown'
  /** The kind of its action. */
  readonly action: string
  readonly agent: string | null
  readonly model: string | null
  /** Who had claimed it. */
  readonly claimedBy: string | null
  /** Null for none, and for a confidential task. */
  readonly instruction: string | null
  readonly isConfidential: boolean
  /** The criteria that held when it ended. */
  readonly checks: readonly string[]
  readonly approvals: readonly { readonly by: string; readonly of: TaskName; readonly at: Millis }[]
  /** If it is known from a commit, because the task worked in another folder. */
  readonly commit: WhyCommit | null
  /** The next step that takes it back. */
  readonly undo: Hint
}

export interface WhyCommit {
  readonly id: string
  readonly author: string
  readonly at: Millis
  readonly subject: string
  /** What its trailers claim, for a commit that Planfold made. */
  readonly planfold: {
    readonly plan: string
    readonly name: string
    readonly task: string | null
    readonly visit: number | null
    readonly attempt: number | null
  } | null
  /** The clone has no older history. */
  readonly isCutOff: boolean
}

export interface WhyWords {
  /** Escapes foreign text. */
  readonly text: (text: string) => string
  readonly time: (at: Millis) => string
  readonly hint: (hint: Hint) => string
}

/** `FILE:LINE` or `FILE`; the last number after a colon is the line. */
export function fileAndLine(word: string): { readonly path: string; readonly line?: number } {
  const [, path, line] = /^(.+):(\d{1,9})$/s.exec(word) ?? []
  return path === undefined ? { path: word } : { path, line: Number(line) }
}

/** The whole answer; with the facts of each origin if few were asked about, else a line each. */
export function whyLines(why: Why, words: WhyWords): readonly string[] {
  const isBrief = why.origins.length > 1
  const used = new Map<number, string[]>()
  for (const { from, to, origin } of why.parts)
    used.set(origin, [...(used.get(origin) ?? []), from === to ? `${from}` : `${from}-${to}`])
  const head =
    why.basis === 'gone'
      ? ['There is no such file any more; its last change:']
      : why.basis === 'whole'
        ? ['Binary or too large to follow by lines; its last change:']
        : []
  const listed = why.origins.flatMap((origin, at) => {
    const where = why.basis !== 'text' ? [] : [`${numbers(used.get(at) ?? [])}: `]
    const [first = '', ...rest] = originLines(origin, words)
    return [`${where.join('')}${first}`, ...rest.slice(0, isBrief ? 0 : rest.length).map(line => `  ${line}`)]
  })
  const empty = why.lines === 0 && why.basis === 'text' ? ['The file is empty.'] : []
  return [...head, ...empty, ...listed, ...why.lacks.map(text => `note: ${words.text(text)}`)]
}

const NUMBERS_MAX = 8

const numbers = (all: readonly string[]): string => {
  const isOne = all.length === 1 && !all[0]!.includes('-')
  const more = all.length > NUMBERS_MAX ? ` and ${numberOf(all.length - NUMBERS_MAX, 'more range')}` : ''
  return `${isOne ? 'line' : 'lines'} ${all.slice(0, NUMBERS_MAX).join(', ')}${more}`
}

/** The first line says by whom; the others why, and how to take it back. */
export function originLines(origin: WhyOrigin, words: WhyWords): readonly string[] {
  const { text, time } = words
  const named = ({ name, task }: RecordNamed): string =>
    task === null ? `a rollback or restore of plan ${text(name)}` : `task ${text(task)} of plan ${text(name)}`
  switch (origin.by) {
    case 'task':
      return taskLines(origin, words)
    case 'plan':
      return [`put back by plan ${text(origin.name)}, ${time(origin.at)}, for ${text(origin.actor)}`]
    case 'hand': {
      const { since, until, commit } = origin
      const before = until === null ? '' : ` and before ${named(until)}`
      return [
        `changed by hand after ${named(since)} (${time(since.at)})${before}`,
        ...(commit === null ? ['in no commit yet'] : commitLines(commit, words)),
      ]
    }
    case 'commit':
      return commitLines(origin.commit, words)
    case 'nobody':
      return ['no plan wrote it, and it is in no commit']
    case 'unknown':
      return [`written before or by ${named(origin.change)}; the content is no longer stored`]
    case 'hidden':
      return ['another plan, which you may not see']
    default:
      origin satisfies never
      return []
  }
}

function taskLines(origin: WhyTask, { text, time, hint }: WhyWords): readonly string[] {
  const { name, task, title, visit, attempt, status, agent, model, claimedBy, commit } = origin
  const who = agent ?? claimedBy ?? `Planfold (${origin.action})`
  const visits = visit > 1 ? ` of visit ${visit}` : ''
  const ended = status === 'succeeded' || status === 'unknown' ? '' : `, ${status}`
  const by = [
    ...(agent !== null && claimedBy !== null ? [`claimed by ${text(claimedBy)}`] : []),
    ...origin.approvals.map(
      ({ by, of, at }) =>
        `${at < origin.at ? 'allowed to run' : 'approved'} by ${text(by)} at ${text(of)}, ${time(at)}`,
    ),
  ]
  return [
    `task ${text(task)} of plan ${text(name)}, attempt ${attempt}${visits}${ended}, by ${text(who)}${model === null ? '' : ` with ${text(model)}`}, ${time(origin.at)}`,
    ...(title === null ? [] : [`title: ${text(title)}`]),
    ...(origin.instruction === null ? [] : [`instruction: ${text(origin.instruction)}`]),
    ...(origin.isConfidential ? ['instruction: [confidential]'] : []),
    ...origin.checks.map(check => `passed: ${text(check)}`),
    ...by,
    ...(commit === null ? [] : [`commit ${commit.id.slice(0, 12)} by ${text(commit.author)}, ${time(commit.at)}`]),
    `undo: ${hint(origin.undo)}`,
  ]
}

function commitLines(
  { id, author, at, subject, planfold, isCutOff }: WhyCommit,
  { text, time }: WhyWords,
): readonly string[] {
  const cut = isCutOff ? ' (this clone has no older history)' : ''
  const first = `commit ${id.slice(0, 12)} by ${text(author)}, ${time(at)}: ${text(subject)}${cut}`
  if (planfold === null) return [first]
  const { name, plan, task, visit, attempt } = planfold
  const tried =
    attempt === null ? '' : `, attempt ${attempt}${visit === null || visit === 1 ? '' : ` of visit ${visit}`}`
  const work = task === null ? 'Planfold' : `task ${text(task)}`
  return [
    `${work} of plan ${text(name)}${tried}, as ${first}`,
    `plan: ${text(plan)}, not in this store`,
    `undo: git revert ${id.slice(0, 12)}`,
  ]
}
