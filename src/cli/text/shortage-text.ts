// What is said when Planfold itself lacks space, file handles or a folder: what is lacking, that no task failed by it, and how to
// go on.

import type { Shortage } from '../../domain/shortage.ts'
import type { Summary } from '../../domain/views/summary.ts'
import { Complaint, EXIT } from '../exit.ts'
import { brief } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'

/** Of a plan that is paused for it; nothing for any other. */
export function shortageLines({ shortage }: Pick<Summary, 'shortage'>, paint: Paint): readonly string[] {
  if (shortage === undefined) return []
  return [
    `  ${paint.yellow('lacking')}  ${brief(shortage.message)} (${shortage.code})`,
    `           ${shortage.hint} No task failed by this, and nothing was undone.`,
  ]
}

/** Driving stopped, and the journal may not say so. */
export function shortEnd(name: string, { message, code, hint, kind }: Shortage): Complaint {
  return new Complaint(
    EXIT.waits,
    'shortage',
    `driving '${name}' stopped: ${message.replace(/\.$/, '')} (${code}); no task failed by this, and nothing was undone`,
    `${hint} Then go on with: planfold resume ${name}`,
    [],
    { shortage: { kind, code, message, hint } },
  )
}

/** What was thrown while the plan was driven, when it tells of a store that is full or gone; else null. */
export function thrownShort(name: string, error: unknown): Complaint | null {
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

/** Thrown where whoever ordered it has the words for it. */
export class DrivingShort extends Error {
  override readonly name = 'DrivingShort'
}

/** A rollback that is ordered and could not be seen through; null when something else was thrown. */
export function unfinishedRollback(name: string, error: Error): Complaint | null {
  const isFull = error.name === 'StoreFull'
  if (!isFull && !(error instanceof DrivingShort)) return null
  const what = isFull ? 'the disk is full' : error.message.replace(/\.$/, '')
  return new Complaint(
    EXIT.waits,
    'shortage',
    `${what}; the rollback of '${name}' is ordered and not finished`,
    `make room, then finish it with: planfold resume ${name}`,
  )
}
