// The answers to an inbox item: each a keyword, its meaning, and the step without an item id. The keywords are the same in every face; each
// face words the steps.

import type { EventOf, GateAsks, GateVerdict } from '../event.ts'
import { advise, type Hint, next, type Step, type StepOf } from '../hint.ts'
import type { TaskName } from '../id.ts'
import type { Field } from '../plan.ts'

/** A keyword, its meaning, and the step without an item id. */
export interface InboxAnswer {
  readonly answer: string
  readonly means: Hint
  readonly step: Step
}

export type RollbackBounds = Pick<
  EventOf<'rollback.started'>,
  'paths' | 'tasks' | 'filesOnly' | 'keepGit' | 'includeUnclaimed'
>

interface AskedTask {
  readonly plan: string
  readonly task: TaskName
}

interface AskedGate extends AskedTask {
  readonly form?: readonly Field[] | undefined
  /** Is there earlier work to send it back to? */
  readonly mayGoBack: boolean
}

export function gateAnswers(
  type: GateAsks['type'],
  { plan, task, mayGoBack, form }: AskedGate,
): readonly InboxAnswer[] {
  const of = { plan, task }
  const why = { ...of, reason: 'why' }
  const reject = (means: string): InboxAnswer => ({ answer: 'reject', means, step: next('reject', why) })
  switch (type) {
    case 'approval':
    case 'consent':
      return [
        { answer: 'approve', means: 'continue', step: next('approve', of) },
        reject('fail the task'),
        ...(mayGoBack
          ? [
              {
                answer: 'push-back',
                means: 'request changes: run it again',
                step: next('push-back', { ...of, reason: 'what to change' }),
              },
            ]
          : []),
      ]
    case 'verdict':
      return [{ answer: 'approve', means: 'the checks are met', step: next('approve', of) }, reject('they are not')]
    case 'unknown-outcome':
      return [
        { answer: 'done', means: 'it happened: mark as completed', step: next('approve', of) },
        { answer: 'again', means: 'it did not: run it again', step: next('retry', of) },
        reject('mark as failed'),
      ]
    case 'decision':
      return [
        { answer: 'choose', means: 'take one of the options', step: next('choose', { ...why, option: 'OPTION' }) },
        reject('none of them'),
      ]
    case 'edits':
      return [
        {
          answer: 'keep',
          means: 'keep the edits and continue with them',
          step: next('choose', { ...of, option: 'keep' }),
        },
        {
          answer: 'take',
          means: 'take the version from before the task; the edits are backed up',
          step: next('choose', { ...of, option: 'take' }),
        },
        {
          answer: 'merge',
          means: 'keep the edits, remove what the task wrote',
          step: next('choose', { ...of, option: 'merge' }),
        },
        reject('mark the task as failed'),
      ]
    case 'question':
      return [
        { answer: 'answer', means: 'fill in the form', step: next('answer', { ...of, fields: examplesOf(form) }) },
        reject('no answer: fail the task'),
      ]
    case 'recovery':
    case 'replan':
      return [
        { answer: 'again', means: 'retry it', step: next('retry', of) },
        { answer: 'skip', means: 'continue without it', step: next('skip', why) },
        reject('mark as failed'),
      ]
    default:
      return type satisfies never
  }
}

export const formOf = (asks: {
  readonly type: string
  readonly form?: readonly Field[]
}): readonly Field[] | undefined => (asks.type === 'question' ? asks.form : undefined)

export const workAnswers = (of: AskedTask): readonly InboxAnswer[] => [
  { answer: 'claim', means: 'claim it', step: next('claim', of) },
  { answer: 'done', means: 'report it as done', step: next('done', of) },
  { answer: 'fail', means: 'report it as failed', step: next('fail', { ...of, reason: 'why' }) },
]

export const questionAnswers = (plan: string, id: string, form: readonly Field[] = []): readonly InboxAnswer[] => [
  { answer: 'answer', means: 'fill in the form', step: next('answer', { plan, task: id, fields: examplesOf(form) }) },
]

function examplesOf(form: readonly Field[] = []): readonly string[] {
  const needed = form.filter(field => field.optional !== true && field.default === undefined)
  const fields = needed.length > 0 ? needed : form.slice(0, 1)
  return fields.length === 0 ? ['NAME=VALUE'] : fields.map(field => `${field.name}=${field.choices?.[0] ?? 'VALUE'}`)
}

export const proposalAnswers = (plan: string, id: string): readonly InboxAnswer[] => [
  { answer: 'accept', means: 'apply the change', step: next('accept', { plan, proposal: id, reason: 'why' }) },
  {
    answer: 'decline',
    means: 'leave the plan unchanged',
    step: next('decline', { plan, proposal: id, reason: 'why' }),
  },
]

/** Only the fork can retry an adoption; this plan can only dismiss it. */
export const adoptionAnswers = (plan: string, fork: string): readonly InboxAnswer[] => [
  {
    answer: 'leave',
    means: advise`stop here; ${next('adopt', { plan: fork })} tries again`,
    step: next('note', { plan, reason: 'why' }),
  },
]

export function rollbackAnswers(
  plan: string,
  kind: 'rollback' | 'undo' | 'adopt',
  to: number,
  { paths = [], tasks = [], filesOnly, keepGit, includeUnclaimed }: RollbackBounds,
): readonly InboxAnswer[] {
  const bounds = {
    plan,
    ...(paths.length === 0 ? {} : { paths }),
    ...(tasks.length === 0 ? {} : { tasks }),
    ...(filesOnly === true && paths.length === 0 ? { filesOnly } : {}),
    ...(keepGit === true ? { keepGit } : {}),
    ...(includeUnclaimed === true ? { includeUnclaimed } : {}),
  }
  const step = (conflicts?: StepOf<'undo'>['conflicts']): Step => {
    const all = conflicts === undefined ? bounds : { ...bounds, conflicts }
    return kind === 'undo' ? next('undo', all) : next('rollback', { ...all, to })
  }
  return [
    { answer: 'again', means: 'try it again', step: step() },
    { answer: 'keep', means: 'keep files that were edited since', step: step('keep') },
    {
      answer: 'take',
      means: "take the checkpoint's versions; yours are backed up",
      step: step('take'),
    },
    { answer: 'merge', means: 'merge where there is no conflict', step: step('merge') },
    { answer: 'leave', means: 'stop here', step: next('note', { plan, reason: 'why' }) },
  ]
}

export const VERDICTS: { readonly [word: string]: GateVerdict } = {
  approve: 'approved',
  reject: 'rejected',
  'push-back': 'pushed-back',
  choose: 'chosen',
  answer: 'answered',
  done: 'done',
  again: 'again',
  skip: 'skipped',
  keep: 'chosen',
  take: 'chosen',
  merge: 'chosen',
}
