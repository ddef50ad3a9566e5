// Which words of a journal this program knows. An entry of a newer program is refused by name, not called a divergence: the rules
// that would judge it are not here. The compiler keeps the lists whole.

import type { Command, CommandType, Turn } from '../domain/command.ts'
import type { EventType } from '../domain/event.ts'
import type { Entry } from '../stores/store.ts'

/** What this program does not know in the entry; null when it knows all of it. */
export function unknownWord({ command, events }: Entry): string | null {
  if (!isWord(COMMANDS, command)) return `holds the command ${typeOf(command)}, ${NEWER}`
  const event = events.find(one => !isWord(EVENTS, one))
  return event === undefined ? null : `holds the event ${typeOf(event)}, ${NEWER}`
}

/** Why the entry is decided again and not re-enacted; null when it is a turn a loop can be driven through. */
export function onlyRedecided({
  command,
  fence,
}: {
  readonly command: Command
  readonly fence: number | null
}): string | null {
  if (command.type !== 'turn' && command.type !== 'recover') return 'commands of people and agents'
  if (fence === null) return 'turns written without an owner'
  if (command.type === 'turn' && Object.keys(command).some(word => !Object.hasOwn(TURN_WORDS, word)))
    return 'turns that tell of something this program does not know'
  return null
}

const NEWER = 'which this program does not know; use the planfold that wrote it'

const isWord = (words: object, of: unknown): boolean =>
  typeof of === 'object' && of !== null && 'type' in of && typeof of.type === 'string' && Object.hasOwn(words, of.type)

const typeOf = (of: unknown): string =>
  typeof of === 'object' && of !== null && 'type' in of ? JSON.stringify(of.type) : 'without a type'

/** What a turn learns to say must be added here, and `ReplayLoop` must learn to hand it over. */
const TURN_WORDS: Readonly<Record<keyof Turn, true>> = {
  type: true,
  settled: true,
  prepared: true,
  restored: true,
  compensated: true,
  committed: true,
  rolledBack: true,
  expanded: true,
  gates: true,
  proposed: true,
  notices: true,
  shortage: true,
  held: true,
  start: true,
}

const COMMANDS: Readonly<Record<CommandType, true>> = {
  create: true,
  revise: true,
  start: true,
  pause: true,
  resume: true,
  cancel: true,
  archive: true,
  recover: true,
  turn: true,
  claim: true,
  report: true,
  lapse: true,
  decide: true,
  retry: true,
  skip: true,
  note: true,
  restore: true,
  checkpoint: true,
  place: true,
  adopted: true,
  rollback: true,
  review: true,
  ask: true,
  answer: true,
  propose: true,
  judge: true,
  assess: true,
  add: true,
  annotate: true,
  evaluate: true,
  finish: true,
}

const EVENTS: Readonly<Record<EventType, true>> = {
  'plan.created': true,
  'plan.revised': true,
  'task.imported': true,
  'plan.started': true,
  'plan.paused': true,
  'plan.resumed': true,
  'plan.cancelled': true,
  'plan.finished': true,
  'plan.reopened': true,
  'plan.archived': true,
  'task.readied': true,
  'task.skipped': true,
  'task.blocked': true,
  'task.unblocked': true,
  'task.abandoned': true,
  'task.failed': true,
  'task.reopened': true,
  'task.routed': true,
  'attempt.started': true,
  'attempt.succeeded': true,
  'attempt.failed': true,
  'attempt.lost': true,
  'attempt.parked': true,
  'report.refused': true,
  'retry.scheduled': true,
  'gate.opened': true,
  'gate.decided': true,
  'criterion.judged': true,
  'workspace.restored': true,
  'files.restored': true,
  'compensation.started': true,
  'compensation.finished': true,
  'compensation.retried': true,
  'plan.compensating': true,
  'checkpoint.taken': true,
  'git.committed': true,
  'place.made': true,
  'fork.adopted': true,
  'rollback.started': true,
  'rollback.finished': true,
  'rollback.stopped': true,
  'note.added': true,
  'recovery.chosen': true,
  'task.substituted': true,
  'plan.aborted': true,
  'breaker.opened': true,
  'breaker.closed': true,
  'task.escalated': true,
  'gate.voted': true,
  'consent.voided': true,
  'question.asked': true,
  'question.answered': true,
  'revision.proposed': true,
  'revision.declined': true,
  'assessment.made': true,
  'outputs.checked': true,
  'notice.sent': true,
  'task.added': true,
  'plan.annotated': true,
  'task.annotated': true,
  'task.evaluated': true,
}
