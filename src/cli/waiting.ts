// What waits for a person or an agent, each with the exact commands that answer it.

import { askedSentence } from '../domain/views/asked-words.ts'
import type { Summary, Waiting } from '../domain/views/summary.ts'
import { brief, briefLine } from './brief.ts'
import type { Paint } from './paint.ts'
import { verdictLines } from './verdict-words.ts'

const SHOWN_MAX = 5

export function waitingLines(
  summary: Pick<Summary, 'name' | 'waiting' | 'claimable' | 'asked'>,
  paint: Paint,
): readonly string[] {
  const { name, waiting, claimable, asked: questions = [] } = summary
  const lines = waiting
    .slice(0, SHOWN_MAX)
    .flatMap(each => [
      `  ${paint.yellow('waits')}    ${asked(each)}`,
      ...particulars(each).map(line => `           ${paint.dim(line)}`),
      ...answers(name, each).map(line => `           ${line}`),
    ])
  if (waiting.length > SHOWN_MAX)
    lines.push(paint.dim(`           … and ${waiting.length - SHOWN_MAX} more: planfold inbox`))
  for (const { id, what, by, text } of questions.slice(0, SHOWN_MAX)) {
    const [does, commands] =
      what === 'question'
        ? ['asks', [`planfold answer ${name} ${id} NAME=VALUE`]]
        : ['proposes a revision', [`planfold accept ${name} ${id}`, `planfold decline ${name} ${id} -m 'why'`]]
    lines.push(`  ${paint.yellow('waits')}    ${brief(by)} ${does}: ${brief(text)}`)
    lines.push(...commands.map(line => `           ${line}`))
  }
  if (questions.length > SHOWN_MAX)
    lines.push(paint.dim(`           … and ${questions.length - SHOWN_MAX} more: planfold inbox`))
  if (claimable > 0)
    lines.push(
      `  ${paint.yellow('claim')}    ${claimable} ${claimable === 1 ? 'task is' : 'tasks are'} ready for an agent or a person: planfold claim ${name}`,
    )
  return lines
}

/** What there is to know before it is answered. */
export function particulars({ asks, evidence = [], votes, expiresAt, escalated = [] }: Waiting): readonly string[] {
  const approvers = 'approvers' in asks ? asks.approvers : undefined
  const show = 'show' in asks ? (asks.show ?? []) : []
  return [
    ...(show.length === 0 ? [] : [`look at: ${show.map(text => brief(text)).join(', ')}`]),
    ...verdictLines(evidence),
    ...(approvers?.role === undefined ? [] : [`decided by: ${brief(approvers.role)}`]),
    ...(approvers?.count === undefined || approvers.count < 2
      ? []
      : [`${votes?.length ?? 0} of ${approvers.count} have approved${by(votes)}`]),
    ...(expiresAt === undefined ? [] : [`asks until ${new Date(expiresAt).toISOString()}`]),
    ...(escalated.length === 0 ? [] : [`somebody was called: ${escalated.join(', ')}`]),
  ]
}

const by = (votes: Waiting['votes']): string =>
  votes === undefined || votes.length === 0 ? '' : `: ${votes.map(vote => brief(vote.by)).join(', ')}`

/** What a gate asks, in one sentence. */
export const asked = ({ task, asks }: Pick<Waiting, 'task' | 'asks'>): string =>
  briefLine(askedSentence({ task, asks: { ...asks, on: null } }, brief))

function answers(plan: string, { task, asks, back: sent }: Waiting): readonly string[] {
  if (asks.type === 'unknown-outcome') {
    return [
      `planfold approve ${plan} ${task}   it happened`,
      `planfold retry ${plan} ${task}     it did not: try again`,
      `planfold reject ${plan} ${task}    give up: it failed`,
    ]
  }
  if (asks.type === 'decision')
    return [`planfold choose ${plan} ${task} OPTION`, `planfold reject ${plan} ${task} -m 'why'`]
  if (asks.type === 'edits')
    return [
      `planfold choose ${plan} ${task} keep    the edits stay; the task goes on with them`,
      `planfold choose ${plan} ${task} take    back to before the task; the edits can be restored`,
      `planfold choose ${plan} ${task} merge   keep the edits, take out what the task wrote`,
      'for a single file: --keep PATH, --take PATH or --merge PATH',
    ]
  if (asks.type === 'question')
    return [`planfold answer ${plan} ${task} NAME=VALUE`, `planfold reject ${plan} ${task} -m 'why'`]
  if (asks.type === 'recovery' || asks.type === 'replan')
    return [
      `planfold retry ${plan} ${task}`,
      `planfold skip ${plan} ${task} -m 'why'`,
      `planfold reject ${plan} ${task} -m 'why'`,
    ]
  const back = sent === undefined ? [] : [`planfold push-back ${plan} ${task} -m 'what to change'`]
  return [`planfold approve ${plan} ${task}`, `planfold reject ${plan} ${task} -m 'why'`, ...back]
}
