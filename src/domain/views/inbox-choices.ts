// The answers to what waits for a person: each a word, what it means, and the command that says the same without an id.

import type { GateVerdict } from '../event.ts'
import type { TaskName } from '../id.ts'
import { shellQuoted } from '../shell-words.ts'
import type { InboxAnswer, InboxAsks, RollbackBounds } from './inbox.ts'

interface Asked {
  readonly plan: string
  readonly task: TaskName
  /** There is something before it that could be done again. */
  readonly mayGoBack: boolean
}

export function answersTo(type: InboxAsks['type'], { plan, task, mayGoBack }: Asked): readonly InboxAnswer[] {
  const of = (command: string): string => `planfold ${command} ${plan} ${task}`
  const reject = (means: string): InboxAnswer => ({ answer: 'reject', means, command: `${of('reject')} -m 'why'` })
  switch (type) {
    case 'approval':
    case 'consent':
      return [
        { answer: 'approve', means: 'go on', command: of('approve') },
        reject('no'),
        ...(mayGoBack
          ? [{ answer: 'push-back', means: 'do it again', command: `${of('push-back')} -m 'what to change'` }]
          : []),
      ]
    case 'verdict':
      return [{ answer: 'approve', means: 'it holds', command: of('approve') }, reject('it does not hold')]
    case 'unknown-outcome':
      return [
        { answer: 'done', means: 'it happened', command: of('approve') },
        { answer: 'again', means: 'it did not: try again', command: of('retry') },
        reject('give up: it failed'),
      ]
    case 'work':
      return [
        { answer: 'claim', means: 'take it in hand', command: of('claim') },
        { answer: 'done', means: 'it is done', command: of('done') },
        { answer: 'fail', means: 'it cannot be done', command: `${of('fail')} -m 'why'` },
      ]
    case 'decision':
      return [
        { answer: 'choose', means: 'take one of the options', command: `${of('choose')} OPTION -m 'why'` },
        reject('none of them'),
      ]
    case 'edits':
      return [
        { answer: 'keep', means: 'the edits stay; the task works on with them', command: `${of('choose')} keep` },
        {
          answer: 'take',
          means: 'set back to before the task; the edited versions are kept: planfold restore',
          command: `${of('choose')} take`,
        },
        {
          answer: 'merge',
          means: 'keep the edits, take out what the task wrote, where both join cleanly',
          command: `${of('choose')} merge`,
        },
        reject('give up: the task failed'),
      ]
    case 'question':
      return [
        { answer: 'answer', means: 'fill in the form', command: `${of('answer')} NAME=VALUE` },
        reject('there is no answer'),
      ]
    case 'recovery':
    case 'replan':
      return [
        { answer: 'again', means: 'try again', command: of('retry') },
        { answer: 'skip', means: 'go on without it', command: `${of('skip')} -m 'why'` },
        reject('give up: it failed'),
      ]
    case 'agent-question':
    case 'proposal':
    case 'rollback':
      return []
    default:
      return type satisfies never
  }
}

export const questionAnswers = (plan: string, id: string): readonly InboxAnswer[] => [
  { answer: 'answer', means: 'fill in the form', command: `planfold answer ${plan} ${id} NAME=VALUE` },
]

export const proposalAnswers = (plan: string, id: string): readonly InboxAnswer[] => [
  { answer: 'accept', means: 'it becomes the plan', command: `planfold accept ${plan} ${id} -m 'why'` },
  { answer: 'decline', means: 'the plan stays as it is', command: `planfold decline ${plan} ${id} -m 'why'` },
]

/** An adoption is ordered for the fork, not for this plan: here it can only be left. */
export const adoptionAnswers = (plan: string, fork: string): readonly InboxAnswer[] => [
  {
    answer: 'leave',
    means: `leave it at that; planfold adopt ${fork} tries again`,
    command: `planfold note ${plan} -m 'why'`,
  },
]

export function rollbackAnswers(
  plan: string,
  kind: 'rollback' | 'undo' | 'adopt',
  to: number,
  { paths = [], tasks = [], filesOnly, keepGit }: RollbackBounds,
): readonly InboxAnswer[] {
  const words = [
    ...(kind === 'undo' ? ['planfold undo', plan] : ['planfold rollback', plan, '--to', String(to)]),
    ...(paths.length === 0 ? [] : ['--files', ...paths.map(shellQuoted)]),
    ...(tasks.length === 0 ? [] : ['--tasks', ...tasks]),
    ...(filesOnly === true && paths.length === 0 ? ['--files-only'] : []),
    ...(keepGit === true ? ['--keep-git'] : []),
  ].join(' ')
  return [
    { answer: 'again', means: 'try it once more', command: words },
    { answer: 'mine', means: 'keep what stands where somebody worked since', command: `${words} --keep-mine all` },
    {
      answer: 'theirs',
      means: "take the checkpoint's side; what stands there is stored",
      command: `${words} --take-theirs all`,
    },
    { answer: 'merge', means: 'join both where they join cleanly', command: `${words} --merge all` },
    { answer: 'leave', means: 'leave it at that', command: `planfold note ${plan} -m 'why'` },
  ]
}

/** What the words of a gate's answers decide. */
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
