// Entries of the journal as they leave the house. The token of a claim shows that the claim is yours; the journal keeps it, and
// whoever reads the journal could report in another's name. Only the answer to a claim has it.

import { announcedEvent } from '../domain/views/announcement.ts'
import type { AnswerOf, QueryType, Replay } from '../engine/engine.ts'
import type { Entry } from '../stores/store.ts'

/** Its `hash` is that of the entry as it is stored, with the token. */
export function withoutTokens(entry: Entry): Omit<Entry, 'command' | 'events'> & {
  readonly command: object
  readonly events: readonly object[]
} {
  const { command, events } = entry
  return { ...entry, command: commandOf(command), events: events.map(announcedEvent) }
}

/** An answer of the Engine door, without what would let whoever asked act in another's name. */
export function answerWithoutTokens(type: QueryType, answer: AnswerOf<QueryType>): unknown {
  if (answer === null) return null
  if (type === 'entries') return (answer as readonly Entry[]).map(withoutTokens)
  return type === 'replay' ? replayWithoutTokens(answer as Replay) : answer
}

/** Where a journal differs from what the rules come to, both sides are shown. */
export function replayWithoutTokens(replay: Replay): Replay {
  const { fault } = replay
  if (fault === null || fault.type !== 'diverged') return replay
  const { expected, actual, ...rest } = fault
  if (/\btoken$/.test(fault.path)) return { ...replay, fault: rest }
  const shown = { ...(expected === undefined ? {} : { expected }), ...(actual === undefined ? {} : { actual }) }
  const text = JSON.stringify(shown, (key, value) => (key === 'token' ? undefined : value))
  return { ...replay, fault: { ...rest, ...(JSON.parse(text) as typeof shown) } }
}

function commandOf(command: Entry['command']): object {
  if (!('token' in command)) return command
  const { token: _, ...rest } = command
  return rest
}
