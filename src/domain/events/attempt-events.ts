// The events of attempts and of recovery.

import type { EventOf } from '../event.ts'
import { defined } from '../json.ts'
import { type LostOutput, resultNotes } from '../result.ts'
import { spendOf, spendWords } from '../views/pages/agent-lines.ts'
import { auditedAction, resultFacts } from './event-facts.ts'
import type { Audited, PlanWording, RowsOf } from './event-row.ts'
import { again, names, restoring } from './event-words.ts'

export const ATTEMPT_EVENTS: RowsOf<'attempt' | 'artifact' | 'report' | 'outputs' | 'retry' | 'recovery' | 'breaker'> =
  {
    'attempt.started': {
      kind: 'attempt',
      sentence: event => {
        if (event.begun === false) return `${event.task} cannot start${again(event)}`
        const { task, claim, unwatched } = event
        // A file that was not captured cannot be reverted.
        const unseen = unwatched === undefined ? '' : `; its files were not captured before: ${unwatched}`
        return `${task} started${again(event)}${claim === undefined ? '' : `, claimed by ${claim.by}`}${unseen}`
      },
      facts: ({ visit, attempt, preimage, before, inputHash, claim }, { task }) => {
        const action = task === undefined ? {} : auditedAction(task.action)
        return defined({ visit, attempt, ...action, claimedBy: claim?.by, preimage, before, inputHash })
      },
      rows: () => 'tasks',
    },
    'attempt.succeeded': {
      kind: 'attempt',
      sentence: (event, words) => {
        const { task, result } = event
        const seconds = result.durationMs === undefined ? '' : ` in ${(result.durationMs / 1000).toFixed(1)}s`
        return `${task} completed${seconds}${spentIn(event)}${strayed(event)}${besides(event)}${overwritten(event, words)}`
      },
      facts: attemptFacts,
      rows: () => 'tasks',
      operations: ({ result }) => result.git ?? [],
    },
    'attempt.failed': {
      kind: 'attempt',
      sentence: (event, words) =>
        `${event.task} failed${again(event)}: ${event.result.failure.message}${spentIn(event)}${besides(event)}${overwritten(event, words)}`,
      facts: attemptFacts,
      failure: ({ result }) => result.failure.message,
      setback: true,
      rows: () => 'tasks',
      operations: ({ result }) => result.git ?? [],
    },
    'attempt.lost': {
      kind: 'attempt',
      sentence: event =>
        event.until === undefined
          ? `${event.task} interrupted${again(event)}: ${event.reason}`
          : `${event.task} ${event.reason}`,
      shows: ['visit', 'attempt', 'reason', 'byUs', 'until'],
      failure: ({ reason, until }) => (until === undefined ? reason : null),
      setback: true,
      rows: () => 'tasks',
    },
    'report.refused': {
      kind: 'attempt',
      sentence: ({ task, failure }) => `report of ${task} not accepted, the claim stays: ${failure.message}`,
      facts: ({ visit, attempt, failure }) => ({ visit, attempt, failure: failure.message }),
      rows: () => 'tasks',
    },
    'artifact.uploaded': {
      // Of an upload the last part is of interest.
      kind: 'files',
      sentence: ({ task, name, from, partBytes, bytes }) =>
        `${task}: artifact ${name} ${from + partBytes === bytes ? `uploaded, ${bytes} bytes` : `uploading, ${from + partBytes} of ${bytes} bytes`}`,
      shows: ['visit', 'attempt', 'name', 'sha256', 'bytes', 'from', 'part', 'partBytes'],
    },
    'outputs.checked': {
      kind: 'files',
      sentence: ({ lost }) =>
        lost.length === 0
          ? 'all declared outputs are unchanged again'
          : `changed or missing: ${names(lost.map(lostWords))}`,
      facts: ({ lost }) => ({ lost: lost.map(({ task, output, file, what }) => ({ task, output, file, what })) }),
    },
    'attempt.parked': {
      kind: 'attempt',
      sentence: ({ task, evidence }) => `${task}: outcome unknown, needs your decision: ${evidence.reason}`,
      facts: ({ evidence: { reason, effect, startedAt } }) => ({ reason, effect, startedAt }),
      setback: true,
      rows: () => 'tasks',
    },
    'retry.scheduled': {
      kind: 'attempt',
      sentence: ({ task }) => `${task} will be retried`,
      rows: () => 'tasks',
    },
    'recovery.chosen': {
      kind: 'recovery',
      sentence: ({ task, reason }) => `${task}: ${reason}`,
      shows: ['visit', 'choice', 'reason', 'rule', 'to'],
    },
    'breaker.opened': {
      kind: 'recovery',
      sentence: ({ capability, failures }) =>
        `'${capability}' failed ${failures} times in a row: tasks that need it wait`,
    },
    'breaker.closed': {
      kind: 'recovery',
      sentence: ({ capability }) => `'${capability}' works again`,
    },
  }

type Ended = EventOf<'attempt.succeeded' | 'attempt.failed'>

function attemptFacts({ visit, attempt, result }: Ended, { hashOf }: Audited) {
  return { visit, attempt, ...resultFacts(result, hashOf) }
}

const spentIn = ({ result: { model } }: Ended): string =>
  model === undefined ? '' : `; models: ${spendWords(spendOf(model))}`

/** Undeclared changes during the attempt, if they were measured. */
function strayed({ result }: EventOf<'attempt.succeeded'>): string {
  const stray = result.verdicts?.find(({ stage, holds }) => stage === 'effects' && holds === false)
  return stray?.evidence === undefined ? '' : `; outside its write scope ${stray.evidence}`
}

/** Changes beside its scope by an unknown author, and files that were not saved. */
const besides = ({ task, result }: Ended): string =>
  resultNotes(task, result)
    .map(line => `; ${line}`)
    .join('')

function overwritten({ result }: Ended, words?: PlanWording): string {
  const { paths: files = [], more = 0 } = result.wrote?.overwrote ?? {}
  if (files.length === 0) return ''
  const how = words === undefined ? '' : `: ${words.word(restoring(files, words.plan))}`
  return `; it overwrote edits of ${names(files)}${more === 0 ? '' : ` and ${more} more`}, which are backed up${how}`
}

const lostWords = ({ task, output, file, what }: LostOutput): string =>
  `output '${output}' of ${task} (${file} is ${what})`
