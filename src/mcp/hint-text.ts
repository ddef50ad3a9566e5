// Words hints as calls of the two tools. Steps that only a person may take are worded as such.

import { CALLS_DEFAULT } from '../domain/budget/visit-caps.ts'
import { type Allowed, type Hint, type Step, type StepName, type StepOf, wordHint } from '../domain/hint.ts'
import { defined } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import { clean } from './plan-text.ts'

export const hintText = (hint: Hint): string => wordHint(hint, partText)

export function refusalText({ message: unsafe, hint, allowed }: Refusal): string {
  const message = clean(unsafe.replace('this Idempotency-Key', 'this `key`'), SAID_MAX)
  if (allowed !== undefined && allowed.length > 0) return `error: ${message}\nhint: you can: ${waysIn(allowed)}`
  return [`error: ${message}`, ...(hint === undefined ? [] : [`hint: ${clean(hintText(hint), SAID_MAX)}`])].join('\n')
}

const SAID_MAX = 2_000

/** As actions of `plan_write`; words without an action are for a person. */
function waysIn(allowed: readonly string[]): string {
  const own = allowed.flatMap(word => ACTIONS_OF[allowed.includes('retry') && word === 'run' ? '' : word] ?? [])
  const theirs = allowed.filter(word => ACTIONS_OF[word] === undefined)
  const asked = theirs.length === 0 ? [] : [`ask a person to ${theirs.join(' or ')} it`]
  return [...own.map(action => `plan_write {"action":"${action}"}`), ...asked].join(', ')
}

const ACTIONS_OF: { readonly [word: string]: string } = {
  run: 'start',
  pause: 'pause',
  resume: 'resume',
  revise: 'edit',
  retry: 'retry',
  skip: 'skip',
}

export function faultLines(
  faults: readonly {
    readonly path: string
    readonly message: string
    readonly hint?: Hint
  }[],
): readonly string[] {
  return [
    'error: the plan cannot be written like this; nothing was changed',
    ...faults
      .slice(0, 20)
      .map(
        ({ path, message, hint }) =>
          `- ${path === '' ? '' : `${clean(path)}: `}${clean(message)}${hint === undefined ? '' : ` (${clean(hintText(hint))})`}`,
      ),
  ]
}

function partText(part: Step | Allowed): string {
  if ('may' in part) return part.may
  // STEPS has a function for each kind of step, but the compiler cannot follow which one this is.
  return (STEPS[part.next] as (step: Step) => string)(part)
}

type OfTask = { readonly plan?: string; readonly task?: string }

const call = (tool: string, given: Readonly<Record<string, unknown>>): string =>
  `${tool} ${JSON.stringify(defined(given))}`
const read =
  (what: string) =>
  (step: object): string => {
    const { plan, task } = step as OfTask
    return call('plan_read', { what, plan, task })
  }
const write =
  (action: string, more: Readonly<Record<string, unknown>> = {}) =>
  (step: object): string => {
    const { plan, task } = step as OfTask
    return call('plan_write', { action, plan, task, ...more })
  }
const person = (what: string) => (): string => `a person must ${what}`

const STEPS: { readonly [N in StepName]: (step: StepOf<N>) => string } = {
  list: read('list'),
  inbox: read('inbox'),
  formats: () => 'the formats guide',
  validate: read('plan'),
  prune: person('prune the store'),
  doctor: person('have the machine looked at by the doctor'),
  check: person('check the store'),
  import: person('import it'),
  'new-from-template': write('create', { template: '…' }),
  'lift-halt': person('lift the halt'),
  'list-tokens': person('look at the tokens'),
  'revoke-token': person('revoke the token'),
  'allow-network': ({ address }) => `ask the person to allow ${address}`,
  'name-secret': ({ name }) => `a person must say where the secret ${name} comes from`,

  show: read('plan'),
  status: read('plan'),
  proposals: read('inbox'),
  gates: read('inbox'),
  checkpoints: person('look at the checkpoints'),
  budget: read('plan'),
  'budget-add': person('add to the budget'),
  handoff: read('plan'),
  digest: read('changes'),
  audit: read('changes'),
  log: read('changes'),
  next: ({ plan, explain }) => read(explain === true ? 'blocked' : 'next')({ plan }),

  run: write('start'),
  resume: write('resume'),
  pause: write('pause'),
  cancel: person('cancel the plan'),
  revise: write('edit'),
  propose: write('edit'),
  converge: person('converge the plan'),
  adopt: person('adopt the fork'),
  restore: person('restore the files'),
  note: write('note', { text: '…' }),
  review: person('review it'),
  rollback: write('rollback', { text: '…' }),
  undo: person('undo it'),

  claim: write('claim'),
  done: write('report', { status: 'done' }),
  'not-mine': ({ paths, ...step }) => write('report', { status: 'done', not_mine: paths })(step),
  fail: write('report', { status: 'failed', text: '…' }),
  retry: write('retry'),
  skip: write('skip', { text: '…' }),
  release: person('release the claim'),
  approve: person('approve it'),
  reject: person('reject it'),
  'push-back': person('send it back'),
  choose: person('choose'),
  answer: person('answer it'),
  accept: person('accept the proposal'),
  decline: person('decline the proposal'),
  'unsafe-work': person('decide whether it is done again'),
  'drafting-budget': ({ key, amount }) =>
    amount > CALLS_DEFAULT[key]
      ? 'a higher budget, which only a person can give'
      : `{"budget":{"${key}":${key === 'cost' ? `"${amount} USD"` : amount}}}`,
}
