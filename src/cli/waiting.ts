// What waits for a person or an agent, each with the exact commands that answer it.

import type { Summary, Waiting } from '../domain/views/summary.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import type { Paint } from './paint.ts'

const SHOWN_MAX = 5

export function waitingLines(
  summary: Pick<Summary, 'name' | 'waiting' | 'claimable'>,
  paint: Paint,
): readonly string[] {
  const { name, waiting, claimable } = summary
  const lines = waiting
    .slice(0, SHOWN_MAX)
    .flatMap(each => [
      `  ${paint.yellow('waits')}    ${asked(each)}`,
      ...answers(name, each).map(line => `           ${line}`),
    ])
  if (waiting.length > SHOWN_MAX)
    lines.push(paint.dim(`           … and ${waiting.length - SHOWN_MAX} more: planfold status ${name}`))
  if (claimable > 0)
    lines.push(
      `  ${paint.yellow('claim')}    ${claimable} ${claimable === 1 ? 'task is' : 'tasks are'} ready for an agent or a person: planfold claim ${name}`,
    )
  return lines
}

/** What a gate asks, in one sentence. */
export function asked({ task, asks }: Waiting): string {
  switch (asks.type) {
    case 'approval':
      return `${task} asks for approval`
    case 'verdict':
      return `${task} asks whether this holds: ${asks.criteria.map(text => `'${escapeForTerminal(text)}'`).join(', ')}`
    case 'unknown-outcome':
      return `${task}: nobody knows whether it happened (${escapeForTerminal(asks.evidence.reason)})`
    case 'consent':
      return `${task} asks for approval before it begins: ${escapeForTerminal(asks.why)}`
    case 'decision':
      return `${task} asks for a decision between ${asks.options.map(({ id }) => id).join(', ')}`
    case 'question':
      return `${task} asks: ${escapeForTerminal(asks.question)}`
    case 'recovery':
    case 'replan':
      return `${task} failed and asks what then: ${escapeForTerminal(asks.failure.message)}`
    default:
      return asks satisfies never
  }
}

function answers(plan: string, { task, asks }: Waiting): readonly string[] {
  if (asks.type === 'unknown-outcome') {
    return [
      `planfold approve ${plan} ${task}   it happened`,
      `planfold retry ${plan} ${task}     it did not: try again`,
      `planfold reject ${plan} ${task}    give up: it failed`,
    ]
  }
  if (asks.type === 'decision')
    return [`planfold choose ${plan} ${task} OPTION`, `planfold reject ${plan} ${task} -m 'why'`]
  if (asks.type === 'question')
    return [`planfold answer ${plan} ${task} NAME=VALUE`, `planfold reject ${plan} ${task} -m 'why'`]
  if (asks.type === 'recovery' || asks.type === 'replan')
    return [
      `planfold retry ${plan} ${task}`,
      `planfold skip ${plan} ${task} -m 'why'`,
      `planfold reject ${plan} ${task} -m 'why'`,
    ]
  return [`planfold approve ${plan} ${task}`, `planfold reject ${plan} ${task} -m 'why'`]
}
