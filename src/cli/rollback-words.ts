// A rollback as other views tell it: the one under way in one line, and the event that ends one.

import type { Event, EventOf } from '../domain/event.ts'
import type { Summary } from '../domain/views/summary.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import type { Paint } from './paint.ts'

export type Ended = EventOf<'rollback.finished'> | EventOf<'rollback.stopped'>

export const isRollbackEnd = (event: Event): event is Ended =>
  event.type === 'rollback.finished' || event.type === 'rollback.stopped'

export function rollbackLine({ rollback }: Summary, paint: Paint): string | null {
  if (rollback === undefined) return null
  const { kind, to, checkpoint } = rollback
  const what = kind === 'undo' ? 'the last rollback is being undone' : `to ${checkpoint ?? `entry ${to}`}`
  return `  ${paint.yellow('rollback')} under way: ${escapeForTerminal(what)}`
}
