// Words hints as requests to this service. Steps that are only possible on the machine of the service are described in plain
// words.

import type { Event } from '../domain/event.ts'
import { type Allowed, type Hint, type Step, type StepName, type StepOf, wordHint } from '../domain/hint.ts'
import type { Failure } from '../domain/result.ts'

export interface About {
  readonly plan?: string | null | undefined
  readonly task?: string | undefined
}

export function hintText(hint: Hint, about: About = {}): string {
  return wordHint(hint, part => partText(part, about))
}

export const allowedText = (word: string): string => ALLOWED[word] ?? word

const ALLOWED: { readonly [word: string]: string } = {
  run: 'execute',
  'keep-done': 'keep',
  archive: 'delete',
  'force-cancel': 'cancel',
}

export function wordedEvent(event: Event, about: About): Event {
  if (event.type === 'notice.sent') return event
  if ('failure' in event && event.failure !== undefined) return { ...event, failure: worded(event.failure, about) }
  if (event.type === 'gate.opened' && 'failure' in event.asks)
    return { ...event, asks: { ...event.asks, failure: worded(event.asks.failure, about) } }
  if (!('result' in event) || event.type === 'attempt.succeeded') return event
  const { result } = event
  if (result.status !== 'failed') return event
  return { ...event, result: { ...result, failure: worded(result.failure, about) } }
}

function worded(failure: Failure, about: About): Failure {
  return failure.hint === undefined ? failure : { ...failure, hint: hintText(failure.hint, about) }
}

function partText(part: Step | Allowed, about: About): string {
  if ('may' in part) return allowedText(part.may)
  // STEPS has a function for each kind of step, but the compiler cannot follow which one this is.
  const text = (STEPS[part.next] as (step: Step, at: Paths) => string)(part, pathsOf(part, about))
  return part.quoted === true && REQUEST.test(text) ? `\`${text}\`` : text
}

const REQUEST = /^(GET|POST|DELETE) \//

interface Paths {
  readonly plan: string
  readonly task: string
  readonly gate: string
}

function pathsOf(step: Step & { readonly plan?: string; readonly task?: string }, about: About): Paths {
  const plan = `/plans/${step.plan ?? about.plan ?? '…'}`
  const task = step.task ?? about.task
  const name = task === undefined ? '…' : encodeURIComponent(task)
  return { plan, task: `${plan}/tasks/${name}`, gate: `${plan}/gates/${name}` }
}

const get =
  (what: string) =>
  (_: unknown, { plan }: Paths): string =>
    `GET ${plan}/${what}`
const post =
  (what: string) =>
  (_: unknown, { plan }: Paths): string =>
    `POST ${plan}/${what}`
const toTask =
  (what: string) =>
  (_: unknown, { task }: Paths): string =>
    `POST ${task}/${what}`
const toGate =
  (what: string) =>
  (_: unknown, { gate }: Paths): string =>
    `POST ${gate}/${what}`

const STEPS: { readonly [N in StepName]: (step: StepOf<N>, at: Paths) => string } = {
  list: () => 'GET /plans',
  inbox: () => 'GET /inbox',
  formats: () => 'docs/formats/dialects.md',
  validate: get('analyze'),
  prune: () => 'a prune where the service runs',
  doctor: () => 'the doctor where the service runs',
  check: ({ readData }) => `a check of ${readData === true ? 'all stored data' : 'the store'} where the service runs`,
  import: ({ start }) => (start === true ? 'POST /tasks/claim' : 'an import where the service runs'),
  'new-from-template': () => 'POST /templates/NAME/plans',
  'lift-halt': () => 'DELETE /halt',
  'list-tokens': () => 'GET /tokens',
  'revoke-token': ({ name }) => `DELETE /tokens/${encodeURIComponent(name)}`,
  'allow-network': ({ address }) => `a rule for ${address} where the service runs`,
  'name-secret': ({ name }) => `a source for the secret ${name} where the service runs`,

  show: get('board'),
  status: get('status'),
  proposals: get('proposals'),
  gates: get('gates'),
  checkpoints: get('checkpoints'),
  budget: get('budget'),
  'budget-add': post('budget'),
  handoff: get('handoff'),
  digest: get('digest'),
  audit: get('audit'),
  log: ({ output }, { plan }) => `GET ${plan}/${output === true ? 'logs' : 'entries'}`,
  next: ({ explain }, { plan }) => `GET ${plan}/next${explain === true ? '?explain=true' : ''}`,

  run: post('execute'),
  resume: post('resume'),
  pause: post('pause'),
  cancel: post('cancel'),
  revise: post('revisions'),
  propose: post('proposals'),
  converge: () => 'converge it where the service runs',
  adopt: () => 'adopting it where the service runs',
  restore: () => 'restore them where the service runs',
  note: post('notes'),
  review: post('review'),
  rollback: post('rollback'),
  undo: post('rollback with {"undo": true}'),

  claim: ({ task }, at) => (task === undefined ? 'POST /tasks/claim' : `POST ${at.task}/claim`),
  done: toTask('report'),
  'not-mine': ({ paths }, { task }) => `POST ${task}/report with ${JSON.stringify({ not_mine: paths })}`,
  fail: toTask('report'),
  retry: ({ repeat }, { task }) => `POST ${task}/retry${repeat === true ? ' with {"repeat": true}' : ''}`,
  skip: toTask('skip'),
  release: () => 'release it where the service runs',
  approve: toGate('approve'),
  reject: toGate('reject'),
  'push-back': toGate('push-back'),
  choose: toGate('choose'),
  answer: toGate('answer'),
  accept: ({ proposal }, { plan }) => `POST ${plan}/proposals/${proposal}/accept`,
  decline: ({ proposal }, { plan }) => `POST ${plan}/proposals/${proposal}/decline`,
  'unsafe-work': ({ choice }) => `{"unsafe": "${choice}"}`,
  'drafting-budget': ({ key, amount }) => `{"budget": {"${key}": ${key === 'cost' ? `"${amount} USD"` : amount}}}`,
}
