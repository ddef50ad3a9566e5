// Colour, or none. Whether there is any is decided once, in main: only on a terminal, never with NO_COLOR or --no-color.

import pc from 'picocolors'
import type { PlanStatus, TaskStatus } from '../../domain/status.ts'

export type Paint = Pick<
  ReturnType<typeof pc.createColors>,
  'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'inverse'
>

export function paint(enabled: boolean): Paint {
  return pc.createColors(enabled)
}

export const SPINNER: readonly string[] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** `partly`: a plan that is completed although optional tasks failed. */
export type Sign = TaskStatus | PlanStatus | 'partly'

const SYMBOLS: Record<Sign, string> = {
  pending: '·',
  ready: '○',
  running: '▶',
  waiting: '◆',
  blocked: '⊘',
  completed: '✔',
  failed: '✖',
  skipped: '↷',
  abandoned: '✕',
  cancelled: '✕',
  draft: '·',
  active: '▶',
  paused: '‖',
  partly: '!',
}

export function symbol(colours: Paint, status: Sign): string {
  return tint(colours, status)(SYMBOLS[status])
}

// A plan is `blocked` when nothing moves until a person decides; a task when something it needs did not complete. People see two
// words and two signs.

export const planSymbol = (colours: Paint, status: PlanStatus | 'partly'): string =>
  symbol(colours, status === 'blocked' ? 'waiting' : status)

export { planWord } from '../../domain/status.ts'

export function tint(colours: Paint, status: Sign): (text: string) => string {
  switch (status) {
    case 'completed':
      return colours.green
    case 'failed':
      return colours.red
    case 'running':
    case 'active':
      return colours.cyan
    case 'waiting':
    case 'blocked':
    case 'paused':
    case 'partly':
      return colours.yellow
    case 'pending':
    case 'ready':
    case 'draft':
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return colours.dim
    default:
      return status satisfies never
  }
}
