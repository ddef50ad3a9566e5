// What to do next, as commands that can be typed.

import { keyText } from '../../domain/budget/budget-text.ts'
import type { PlanWording } from '../../domain/events/event-row.ts'
import {
  type Allowed,
  type Hint,
  isHintList,
  type Step,
  type StepName,
  type StepOf,
  stepsIn,
  wordHint,
} from '../../domain/hint.ts'
import { shellWord } from '../../safety/text/terminal.ts'

export const hintText = (hint: Hint): string => wordHint(hint, partText)

export const wordsFor = (plan = 'PLAN'): PlanWording => ({ plan, word: partText })

export function commandText(step: Step): string {
  if (step.next === 'unsafe-work') return step.choice === 'keep' ? '--keep-done' : '--repeat'
  if (step.next === 'drafting-budget') return `--budget '${keyText(step.key, step.amount)}'`
  // The table has the words for each step by its name; which one this is only the compiler cannot follow.
  const words = (COMMANDS[step.next] as (step: Step) => readonly (string | undefined)[])(step)
  return ['planfold', ...words.filter(word => word !== undefined)].join(' ')
}

export function withoutReason(step: Step): Step {
  const { reason: _, ...rest } = step as Step & { readonly reason?: string }
  return rest as Step
}

export function partText(part: Step | Allowed): string {
  if ('may' in part) return allowedText(part)
  const command = commandText(part)
  return part.quoted === true ? `\`${command}\`` : command
}

const allowedText = ({ may, plan }: Allowed): string => {
  const [command, ...more] = (ALLOWED[may] ?? may).split(' ')
  if (plan === undefined || may === 'archive') return [command, ...more.filter(word => word.startsWith('--'))].join(' ')
  return ['planfold', command, shellWord(plan), ...more].join(' ')
}

const ALLOWED: { readonly [word: string]: string } = {
  archive: 'prune --archive',
  'force-cancel': 'cancel --force',
  retry: 'retry TASK',
  skip: "skip TASK -m 'why'",
  revise: 'revise FILE',
}

type Words = readonly (string | undefined)[]
type OfPlan = { readonly plan?: string }
type OfTask = OfPlan & { readonly task?: string }

const ofPlan =
  (command: string) =>
  ({ plan }: OfPlan): Words => [command, plan]
const ofTask =
  (command: string, option?: string) =>
  ({ plan, task, reason }: OfTask & { readonly reason?: string }): Words => [
    command,
    plan,
    task,
    option,
    ...because(reason),
  ]
const because = (reason: string | undefined): Words => (reason === undefined ? [] : ['-m', `'${reason}'`])
const flag = (name: string, isSet: true | undefined): Words => (isSet === true ? [`--${name}`] : [])
const listed = (name: string, items: readonly string[] = []): Words =>
  items.length === 0 ? [] : [`--${name}`, ...items]

type Option = 'unsafe-work' | 'drafting-budget'

const COMMANDS: { readonly [N in Exclude<StepName, Option>]: (step: StepOf<N>) => Words } = {
  list: () => ['list'],
  inbox: () => ['inbox'],
  formats: () => ['import --formats'],
  validate: () => ['validate'],
  prune: () => ['prune'],
  doctor: () => ['doctor'],
  check: ({ readData }) => ['doctor store', ...flag('read-data', readData)],
  import: ({ start }) => ['import', ...flag('start', start)],
  'new-from-template': () => ['template new NAME'],
  'lift-halt': () => ['halt --lift'],
  'list-tokens': () => ['serve token list'],
  'revoke-token': ({ name }) => ['serve token revoke', name],
  'allow-network': ({ address }) => ['policy allow network', shellWord(address)],
  'name-secret': ({ name }) => [`secrets set ${name} --env ${name}`],

  show: ofPlan('show'),
  status: ofPlan('status'),
  proposals: ofPlan('inbox proposals'),
  gates: () => ['inbox'],
  checkpoints: ofPlan('checkpoint list'),
  budget: ofPlan('budget'),
  'budget-add': ({ plan, task, what = 'cost', amount = '1 USD' }) => [
    'budget add',
    plan ?? 'PLAN',
    ...(task === undefined ? [] : ['--task', shellWord(task)]),
    `--${what}`,
    shellWord(amount),
  ],
  handoff: ({ plan }) => ['summary', plan, '--form handoff'],
  digest: ofPlan('summary'),
  audit: ofPlan('audit'),
  log: ({ plan, task, output }) => ['log', plan, task, ...flag('output', output)],
  next: ({ plan, explain }) => ['next', plan, ...flag('explain', explain)],

  run: ({ plan, file, again }) => ['run', file ?? plan, ...flag('again', again)],
  resume: ofPlan('resume'),
  pause: ofPlan('pause'),
  cancel: ofPlan('cancel'),
  revise: ofPlan('revise'),
  propose: ({ plan = 'PLAN' }) => ['revise', plan, 'FILE --propose'],
  converge: ofPlan('converge'),
  adopt: ofPlan('fork adopt'),
  restore: ({ plan, file }) => ['undo files', plan, file === undefined ? undefined : shellWord(file)],
  note: ofTask('log', '--add'),
  review: ({ plan, verdict, reason }) => [
    'answer',
    plan,
    '--all',
    verdict === undefined ? undefined : `--${verdict}`,
    ...because(reason),
  ],
  rollback: ({ plan, to, dryRun, ...bounds }) => [
    'rollback',
    plan,
    ...(to === undefined ? [] : ['--to', String(to)]),
    ...rollbackWords(bounds),
    ...flag('dry-run', dryRun),
  ],
  undo: ({ plan, ...bounds }) => ['undo', plan, ...rollbackWords(bounds)],

  claim: ofTask('claim'),
  done: ofTask('report', '--status done'),
  'not-mine': ({ plan, task, paths }) => [
    ...ofTask('report', '--status done')({ plan, task }),
    ...paths.map(path => `--not-mine ${shellWord(path)}`),
  ],
  fail: ofTask('report', '--status failed'),
  retry: ({ plan, task, repeat }) => ['retry', plan, task, ...flag('repeat', repeat)],
  skip: ofTask('skip'),
  release: ofTask('claim', '--release'),
  approve: ofTask('approve'),
  reject: ofTask('reject'),
  'push-back': ofTask('answer', '--push-back'),
  choose: ({ plan, task, option, reason }) => ['answer', plan, task, option, ...because(reason)],
  answer: ({ plan, task, fields }) => ['answer', plan, task, ...fields.map(fieldWord)],
  accept: ({ plan, proposal, reason }) => ['approve', plan, proposal, ...because(reason)],
  decline: ({ plan, proposal, reason }) => ['reject', plan, proposal, ...because(reason)],
}

const fieldWord = (field: string): string => (field.endsWith('=…') ? field : shellWord(field))

function rollbackWords({
  paths,
  tasks,
  filesOnly,
  keepGit,
  includeUnclaimed,
  conflicts,
}: Omit<StepOf<'undo'>, 'next' | 'plan'>): Words {
  return [
    ...listed('files', paths?.map(shellWord)),
    ...listed('tasks', tasks),
    ...flag('files-only', filesOnly),
    ...flag('keep-git', keepGit),
    ...flag('include-unclaimed', includeUnclaimed),
    ...(conflicts === undefined ? [] : [`--${conflicts} all`]),
  ]
}

// What travels as JSON for scripts: hints are the text that a person would read, and answers have their command.

/** For `JSON.stringify`. What tasks put out is not looked into, unless it has the very shape of a hint. */
export function wordHints(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    if (HINTS.has(key) && isHint(value)) return hintText(value)
    return key === 'next' && value.some(isHint) ? value.map(one => (isHint(one) ? hintText(one) : one)) : value
  }
  if (!('answer' in value && 'step' in value && isStep(value.step))) return value
  const { step, ...answer } = value
  return { ...answer, command: commandText(step) }
}

const HINTS: ReadonlySet<string> = new Set(['hint', 'means', 'why'])

const isHint = (value: unknown): value is Hint => isHintList(value) && stepsIn(value).every(isStep)

const isStep = (value: unknown): value is Step =>
  typeof value === 'object' &&
  value !== null &&
  'next' in value &&
  typeof value.next === 'string' &&
  (Object.hasOwn(COMMANDS, value.next) || value.next === 'unsafe-work' || value.next === 'drafting-budget')
