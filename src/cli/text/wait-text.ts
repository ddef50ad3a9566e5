// Sentences about what keeps a plan from going on: files that were set back, files that another plan holds, and what the machine lacks.

import type { Shortage } from '../../domain/shortage.ts'
import { type ScopeWaitFacts, scopeHolders, stalledPlans } from '../../domain/views/scope-wait.ts'
import type { Summary } from '../../domain/views/summary.ts'
import { shellWord as quoted } from '../../safety/text/terminal.ts'
import { CliError, EXIT } from '../exit.ts'
import { brief } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'

// Words about files that were set back: the same in every view.

const TIMES_MAX = 3

export function setBackLines(
  { name, restored = [] }: Pick<Summary, 'name' | 'restored'>,
  paint: Paint,
): readonly string[] {
  const shown = restored.slice(-TIMES_MAX)
  const lines = shown.flatMap(({ task, paths, more, how }) => {
    const first = paths.slice(0, 3).map(path => brief(path))
    const rest = paths.length - first.length + more
    const all = `${first.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`
    return [
      how === 'overwritten'
        ? `  ${paint.yellow('replaced')} ${brief(task)} overwrote edits: ${all}. Backup:`
        : `  ${paint.yellow('reverted')} before retrying ${brief(task)}: ${all}. Backup:`,
      `           planfold undo files ${quoted(name)} ${paths[0] === undefined ? '' : quoted(paths[0])}`.trimEnd(),
    ]
  })
  const earlier = restored.length - shown.length
  return earlier === 0
    ? lines
    : [...lines, paint.dim(`           … and ${earlier} more times: planfold undo files ${quoted(name)}`)]
}

// Tasks that wait for files of another plan, as lines for a person: who holds them, and the two commands that end the wait.

const SHOWN_MAX = 5

export function scopeWaitLines(waits: readonly ScopeWaitFacts[], paint: Paint): readonly string[] {
  const lines = waits
    .slice(0, SHOWN_MAX)
    .map(wait => `  ${paint.yellow('waits')}    ${brief(wait.task)}: ${brief(scopeHolders(wait))}`)
  if (waits.length > SHOWN_MAX) lines.push(paint.dim(`           … and ${waits.length - SHOWN_MAX} more`))
  for (const name of stalledPlans(waits)) {
    lines.push(`           ${name} is not running: planfold resume ${name}`)
    lines.push(`           or cancel it: planfold cancel ${name}`)
  }
  return lines
}

export function scopeWaitLine(waits: readonly ScopeWaitFacts[]): string | null {
  const [first] = waits
  if (first === undefined) return null
  const more = waits.length > 1 ? ` (and ${waits.length - 1} more)` : ''
  const ways = stalledPlans(waits).map(
    name => `; ${name} is not running: planfold resume ${name}, or planfold cancel ${name}`,
  )
  return `${first.task} waits: ${scopeHolders(first)}${more}${ways.join('')}`
}

// What is said when Planfold itself lacks space, file handles or a folder: what is lacking, that no task failed by it, and how to
// go on.

export function shortageLines({ shortage }: Pick<Summary, 'shortage'>, paint: Paint): readonly string[] {
  if (shortage === undefined) return []
  return [
    `  ${paint.yellow('short')}    ${brief(shortage.message)} (${shortage.code})`,
    `           ${shortage.hint} No task failed, and nothing was undone.`,
  ]
}

export function shortEnd(name: string, { message, code, hint, kind }: Shortage): CliError {
  return new CliError(
    EXIT.waits,
    'shortage',
    `plan '${name}' stopped: ${message.replace(/\.$/, '')} (${code}); no task failed, and nothing was undone`,
    `${hint} Next: planfold resume ${name}`,
    [],
    { shortage: { kind, code, message, hint } },
  )
}

/** An error while the plan ran that means a full or missing store; null for any other. */
export function thrownShort(name: string, error: unknown): CliError | null {
  if (!(error instanceof Error)) return null
  if (error.name === 'StoreFull')
    return shortEnd(name, { kind: 'disk-full', code: 'ENOSPC', message: error.message, hint: 'Free some space.' })
  if (error.name === 'StoreGone')
    return shortEnd(name, {
      kind: 'unavailable',
      code: 'ENOENT',
      message: error.message,
      hint: 'Bring the state folder back: mount it, or move it to where it was.',
    })
  return null
}

export class DrivingShort extends Error {
  override readonly name = 'DrivingShort'
}

/** A shortage that interrupted a rollback which has started; null for any other error. */
export function unfinishedRollback(name: string, error: Error): CliError | null {
  const isFull = error.name === 'StoreFull'
  if (!isFull && !(error instanceof DrivingShort)) return null
  const what = isFull ? 'the disk is full' : error.message.replace(/\.$/, '')
  return new CliError(
    EXIT.waits,
    'shortage',
    `${what}; the rollback of '${name}' has started and is not finished`,
    `free some space. Next: planfold resume ${name}`,
  )
}
