// The single entry point of all rules: every change of a plan, by the engine, a person or an agent, is a command that is decided here into
// events or a refusal.

import { upload } from './artifacts/upload.ts'
import { raiseBudget, reserve, settleSpend } from './budget/budget-rules.ts'
import type { Command } from './command.ts'
import type { Event, NotePlace } from './event.ts'
import { decideGate, review } from './gates/gates.ts'
import * as asking from './gates/questions.ts'
import { advise, quoted } from './hint.ts'
import type { Millis } from './id.ts'
import { type Refusal, refuse } from './refusal.ts'
import * as keeping from './revisions/add-tasks.ts'
import { add } from './revisions/add-tasks.ts'

import * as replanning from './revisions/proposals.ts'
import { revise } from './revisions/revise.ts'
import { takeCheckpoint } from './rollback/checkpoint-rules.ts'
import { rollback } from './rollback/rollback-rules.ts'
import { type DecisionDraft, emit, unknownTask } from './rules/decision.ts'
import { finish } from './rules/finish.ts'
import * as lifecycle from './rules/lifecycle.ts'
import { howToStartOver } from './rules/start-over.ts'
import * as taskOrders from './rules/task-orders.ts'
import { recover, turn } from './rules/turn.ts'
import type { PlanState } from './state/state.ts'
import { raceStep } from './tries/race-step.ts'

export type Decision =
  | { readonly ok: true; readonly events: readonly Event[] }
  | { readonly ok: false; readonly refusal: Refusal }

/**
 * Decides, and applies each event to `state` as it is emitted, so that afterwards `state` includes them. The state must be the
 * caller's own: if the append then fails, discard it. A refusal leaves the state untouched. An empty list of events means there is
 * nothing to write. For `create`, pass `newState()`.
 */
export function decide(state: PlanState, command: Command, now: Millis): Decision {
  const draft: DecisionDraft = { state, now, events: [] }
  const refusal = handle(draft, command)
  if (refusal === undefined) return { ok: true, events: draft.events }
  if (draft.events.length > 0) throw new Error(`bug: '${command.type}' was refused after events were emitted`)
  return { ok: false, refusal }
}

function handle(draft: DecisionDraft, command: Command): Refusal | undefined {
  if (command.type === 'create') return lifecycle.create(draft, command)
  if (draft.state.revision === 0) return refuse('not-found', 'there is no such plan')
  // A turn may arrive after the archiving, to record who was notified of the end.
  if (draft.state.archived && command.type !== 'archive' && command.type !== 'turn')
    return refuse('illegal-transition', 'the plan is archived', howToStartOver(draft.state))
  if (draft.state.rollback !== null && WAITS.has(command.type) && !isForced(command))
    return refuse(
      'conflict',
      'a rollback of the plan is under way',
      advise`wait until it has ended; ${quoted('resume')} finishes one that was cut off`,
    )
  switch (command.type) {
    case 'revise':
      return revise(draft, command)
    case 'add':
      return add(draft, command)
    case 'annotate':
      return keeping.annotate(draft, command)
    case 'evaluate':
      return keeping.evaluate(draft, command)
    case 'start':
      return lifecycle.start(draft, command)
    case 'finish':
      return finish(draft, command)
    case 'pause':
      return lifecycle.pause(draft, command)
    case 'resume':
      return lifecycle.resume(draft, command)
    case 'cancel':
      return lifecycle.cancel(draft, command)
    case 'archive':
      return lifecycle.archive(draft)
    case 'recover':
      recover(draft, command)
      return undefined
    case 'turn':
      turn(draft, command)
      return undefined
    case 'claim':
      return taskOrders.claim(draft, command)
    case 'report':
      return taskOrders.report(draft, command)
    case 'upload':
      return upload(draft, command)
    case 'lapse':
      return taskOrders.lapse(draft, command)
    case 'decide':
      return decideGate(draft, command)
    case 'review':
      return review(draft, command)
    case 'ask':
      return asking.ask(draft, command)
    case 'answer':
      return asking.answer(draft, command)
    case 'propose':
      return replanning.propose(draft, command)
    case 'judge':
      return replanning.judge(draft, command)
    case 'assess':
      return replanning.assess(draft, command)
    case 'retry':
      return taskOrders.retry(draft, command)
    case 'skip':
      return taskOrders.skip(draft, command)
    case 'checkpoint':
      return takeCheckpoint(draft, command)
    case 'place':
      emit(draft, { type: 'place.made', operations: command.operations })
      return undefined
    case 'adopted': {
      const { type: _, ...adopted } = command
      emit(draft, { type: 'fork.adopted', ...adopted })
      return undefined
    }
    case 'rollback':
      return rollback(draft, command)
    case 'restore': {
      const { type: _, ...restored } = command
      emit(draft, { type: 'files.restored', ...restored })
      return undefined
    }
    case 'network': {
      const { type: _, ...decision } = command
      emit(draft, { type: 'network.decided', ...decision })
      return undefined
    }
    case 'reserve':
      return reserve(draft, command)
    case 'settle':
      return settleSpend(draft, command)
    case 'race':
      return raceStep(draft, command)
    case 'raise':
      return raiseBudget(draft, command)
    case 'note':
      if (command.text.trim() === '') return refuse('invalid', 'the note is empty', 'write something')
      if (command.task !== undefined && !draft.state.tasks.has(command.task)) return unknownTask(draft, command.task)
      if (command.place !== undefined && !isPlace(command.place))
        return refuse('invalid', 'the place of the note is empty', 'name a field, a line from 1, or both')
      emit(draft, {
        type: 'note.added',
        text: command.text,
        task: command.task,
        place: command.place,
      })
      return undefined
    default:
      return command satisfies never
  }
}

/** Commands about tasks are refused until a rollback has finished. `resume` continues it. */
const WAITS: ReadonlySet<Command['type']> = new Set([
  'revise',
  'add',
  'finish',
  'pause',
  'cancel',
  'archive',
  'claim',
  'report',
  'upload',
  'decide',
  'review',
  'judge',
  'retry',
  'skip',
  'checkpoint',
  'rollback',
])

const isForced = (command: Command): boolean => command.type === 'cancel' && command.force === true

const FIELD_MAX = 200

const isPlace = ({ field, line }: NotePlace): boolean =>
  (field !== undefined || line !== undefined) &&
  (field === undefined || (field.trim() !== '' && field.length <= FIELD_MAX)) &&
  (line === undefined || (Number.isSafeInteger(line) && line >= 1))
