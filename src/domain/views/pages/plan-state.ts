// The state of a plan in words for people: draft, running, waiting, interrupted, paused, completed, failed, cancelled.

import { numberOf } from '../../phrases.ts'
import type { PlanStatus, TaskStatus } from '../../status.ts'
import type { Card } from '../board.ts'
import type { ScopeWaitFacts } from '../scope-wait.ts'
import type { Summary, Waiting } from '../summary.ts'

export interface ShownState {
  /** In a sentence: `waiting for approval (review)`. */
  readonly words: string
  readonly word: string
  /** The status whose symbol and colour it has. */
  readonly sign: PlanStatus | TaskStatus | 'partly'
  /** With the word `waiting`: for a person's answer, another plan's files, the worker that claimed a task, a claim, or a time. */
  readonly waitsFor?: 'you' | 'plan' | 'worker' | 'claim' | 'time'
}

export interface PlanFacts {
  readonly summary: Pick<Summary, 'status' | 'waiting' | 'claimable' | 'progress' | 'asked'>
  readonly board: readonly Pick<
    Card,
    'name' | 'status' | 'action' | 'claimedBy' | 'retryAt' | 'isLater' | 'reason' | 'optional'
  >[]
  readonly isDriven: boolean
  /** Tasks that wait because other plans hold their files. */
  readonly held?: readonly ScopeWaitFacts[]
}

/** Escapes foreign text as the face needs it. */
type Say = (text: string) => string

export function planState({ summary, board, isDriven, held = [] }: PlanFacts, say: Say = text => text): ShownState {
  const { status, waiting } = summary
  if (status === 'draft') return { words: 'draft (not started)', word: 'draft', sign: 'draft' }
  const lacking = status === 'completed' ? failedOptional(board) : 0
  if (lacking > 0)
    return { words: `completed (${numberOf(lacking, 'optional task')} failed)`, word: status, sign: 'partly' }
  if (status !== 'active' && status !== 'blocked') return { words: status, word: status, sign: status }
  const running = board.filter(isUnclaimed).map(({ name }) => name)
  if (running.length > 0 && !isDriven)
    return {
      words: `interrupted: ${few(running)} ${running.length === 1 ? 'was' : 'were'} running when the process died`,
      word: 'interrupted',
      sign: 'paused',
    }
  const free = board.filter(card => card.status === 'ready' && card.action === 'external')
  const later = board.filter(card => card.isLater === true)
  const ready = summary.progress.counts.ready > free.length + later.length
  if (isDriven && (running.length > 0 || ready) && held.length === 0) return RUNNING
  const [first] = later
  if (first !== undefined && running.length === 0 && !ready && waiting.length === 0 && held.length === 0) {
    const reason = say(first.reason ?? '')
    const word = reason.length <= WORD_MAX ? reason : 'waiting'
    const words = `${isDriven ? 'waiting' : 'not running'}: ${first.name} ${reason}`
    return { words, word, sign: 'waiting', waitsFor: 'time' }
  }
  const for_ = waitsFor({ waiting, board, held, free }, say)
  if (for_ !== null && !(ready && held.length === 0))
    return { words: `waiting for ${for_.words}`, word: 'waiting', sign: 'waiting', waitsFor: for_.what }
  return isDriven ? RUNNING : { words: 'not running', word: 'not running', sign: 'paused' }
}

export const failedOptional = (board: readonly Pick<Card, 'status' | 'optional'>[]): number =>
  board.filter(card => card.optional && card.status === 'failed').length

/** A time fits into a table column, an address does not. */
const WORD_MAX = 40

const RUNNING: ShownState = { words: 'running', word: 'running', sign: 'running' }

/** A running task that nobody has claimed is interrupted when no process runs its plan. */
export const isInterrupted = (card: Pick<Card, 'status' | 'claimedBy'>, isDriven: boolean): boolean =>
  !isDriven && isUnclaimed(card)

const isUnclaimed = ({ status, claimedBy }: Pick<Card, 'status' | 'claimedBy'>): boolean =>
  status === 'running' && claimedBy === null

interface Waits extends Required<Pick<PlanFacts, 'board' | 'held'>> {
  readonly waiting: readonly Waiting[]
  readonly free: readonly Pick<Card, 'name'>[]
}

interface WaitsFor {
  readonly what: NonNullable<ShownState['waitsFor']>
  readonly words: string
}

function waitsFor({ waiting, board, held, free }: Waits, say: Say): WaitsFor | null {
  const [first] = waiting
  if (first !== undefined)
    return { what: 'you', words: `${ASKED[first.asks.type]} (${few(waiting.map(({ task }) => task))})` }
  if (held.length > 0) return { what: 'plan', words: 'another plan' }
  const [claimed] = board.filter(({ claimedBy }) => claimedBy !== null)
  if (claimed !== undefined) return { what: 'worker', words: `${say(claimed.claimedBy ?? '')} (${claimed.name})` }
  if (free.length === 0) return null
  return { what: 'claim', words: `an agent or a person to claim ${few(free.map(({ name }) => name))}` }
}

const ASKED: { readonly [asks in Waiting['asks']['type']]: string } = {
  approval: 'approval',
  consent: 'approval',
  verdict: 'a person to confirm',
  decision: 'a decision',
  question: 'an answer',
  edits: 'your decision',
  'unknown-outcome': 'your decision',
  recovery: 'your decision',
  replan: 'a changed plan',
}

const few = (names: readonly string[]): string =>
  names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
