// Title and body of a pull request, from the journal and the difference of the branches. Pure: the same plan yields the same text. All
// values are foreign text, so they are escaped: none can become a heading, a link, an image, HTML, a mention or an issue reference.

import { numberOf } from '../../domain/phrases.ts'
import type { FileStat } from './git.ts'
import { oneLine } from './message.ts'

export interface PrFacts {
  readonly plan: { readonly name: string; readonly title?: string; readonly goal?: string; readonly status: string }
  readonly tasks: readonly PrTask[]
  readonly decisions: readonly {
    readonly task: string
    readonly verdict: string
    readonly by: string
    readonly rationale?: string
  }[]
  readonly commits: readonly { readonly commit: string; readonly subject: string }[]
  readonly files: readonly FileStat[]
}

export interface PrTask {
  readonly name: string
  readonly title?: string
  readonly status: string
  readonly criteria?: readonly { readonly criterion: string; readonly holds: boolean | null }[]
}

export interface PrText {
  readonly title: string
  readonly body: string
}

const TITLE_MAX = 120
const BODY_MAX = 60_000
const ROWS_MAX = 100

export function prText(facts: PrFacts): PrText {
  const { plan, tasks, decisions, commits, files } = facts
  const title = cut(oneLine(plan.title ?? '') || oneLine(plan.name) || 'plan', TITLE_MAX)
  const done = tasks.filter(({ status }) => status === 'completed').length
  const sum = (count: 'added' | 'removed') => files.reduce((total, file) => total + (file[count] ?? 0), 0)
  const sections = [
    plan.goal === undefined || oneLine(plan.goal) === '' ? '' : `${escaped(plan.goal)}`,
    `Plan ${code(plan.name)}: ${escaped(plan.status)}, ${done} of ${numberOf(tasks.length, 'task')} completed.`,
    section('Tasks', tasks.map(taskLine)),
    section('Checks', tasks.flatMap(checkLines)),
    section(
      'Decisions',
      decisions.map(({ task, verdict, by, rationale }) => {
        const why = rationale === undefined || oneLine(rationale) === '' ? '' : `: ${escaped(rationale)}`
        return `- ${code(task)} ${escaped(verdict)} by ${escaped(by)}${why}`
      }),
    ),
    section(
      `Files: ${files.length} changed, +${sum('added')} −${sum('removed')}`,
      files.map(({ path, added, removed }) => {
        return `- ${code(path)} ${added === null || removed === null ? 'binary' : `+${added} −${removed}`}`
      }),
      files.length > 0,
    ),
    section(
      'Commits',
      commits.map(({ commit, subject }) => `- ${commit.slice(0, 12)} ${escaped(subject)}`),
    ),
  ]
  return { title, body: cut(`${sections.filter(text => text !== '').join('\n\n')}\n`, BODY_MAX) }
}

function taskLine({ name, title, status }: PrTask): string {
  const titleText = title === undefined || oneLine(title) === '' ? '' : ` ${escaped(title)}`
  return `- [${status === 'completed' ? 'x' : ' '}] ${code(name)}${titleText}${status === 'completed' ? '' : ` (${escaped(status)})`}`
}

function checkLines({ name, criteria = [] }: PrTask): readonly string[] {
  return criteria.map(({ criterion, holds }) => {
    const word = holds === true ? 'passed' : holds === false ? 'failed' : 'not checked'
    return `- ${code(name)} ${escaped(criterion)}: ${word}`
  })
}

function section(title: string, rows: readonly string[], wanted = rows.length > 0): string {
  if (!wanted) return ''
  const more = rows.length > ROWS_MAX ? [`- … and ${rows.length - ROWS_MAX} more`] : []
  return [`## ${title}`, '', ...rows.slice(0, ROWS_MAX), ...more].join('\n')
}

/** One line, with all Markdown characters escaped. */
export function escaped(text: string): string {
  return (
    oneLine(text)
      .slice(0, 2000)
      .replace(/[\\`*_{}[\]()#+!|~=-]/g, '\\$&')
      .replace(/&/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/>/g, '&gt;')
      // A word joiner prevents links from mentions, issue numbers and bare addresses.
      .replace(/@/g, '@\u2060')
      .replace(/\\#(?=\d)/g, '\\#\u2060')
      .replace(/:\/\//g, ':\u2060//')
      .replace(/\bwww\./gi, found => `${found.slice(0, 3)}\u2060.`)
      .replace(/^(\d+)\./, '$1\\.')
  )
}

/** A code span with a fence longer than every run of backticks in the text. */
export function code(text: string): string {
  const plain = oneLine(text).slice(0, 500)
  if (plain === '') return '(no name)'
  const runs = plain.match(/`+/g) ?? []
  const fence = '`'.repeat(1 + Math.max(0, ...runs.map(run => run.length)))
  const pad = plain.startsWith('`') || plain.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${plain}${pad}${fence}`
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text
  return `${text.slice(0, max - 2).replace(/[\ud800-\udbff]$/, '')}…`
}
