// Everything in a plan that waits for a person: gates, verdicts, unknown outcomes, work that has somebody's name on it, and a
// rollback that was stopped. Each names its question so that an answer cannot reach another one: a key made of plan, task, visit,
// attempt and what is asked.

import type { EventOf, GateAsks } from '../event.ts'
import type { CheckpointName, Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { PlanState, TaskState } from '../state.ts'
import { PLAN_ENDED, type TaskStatus } from '../status.ts'
import { isClaimable } from '../task-graph.ts'

export interface InboxItem {
  readonly key: string
  readonly plan: PlanId
  readonly name: string
  /** How many entries the plan had when it was asked. */
  readonly version: number
  readonly task: TaskName | null
  readonly title: string | null
  readonly since: Millis
  /** Whose it is, as far as the plan says. */
  readonly who: string | null
  readonly asks: InboxAsks
  readonly answers: readonly InboxAnswer[]
  /** What the task itself and those right before it left. */
  readonly evidence: readonly Left[]
}

export type InboxAsks =
  | (GateAsks & { /** The revision it was asked under. */ readonly on: Sha256 | null })
  | { readonly type: 'work'; readonly instruction: string | null; readonly outputs: readonly string[] }
  | {
      readonly type: 'rollback'
      readonly kind: 'rollback' | 'undo'
      readonly to: number
      readonly checkpoint: CheckpointName | null
      /** What it was bound to: trying again must not do more. */
      readonly only: RollbackBounds
      readonly message: string
      readonly conflicts: readonly string[]
    }

export type RollbackBounds = Pick<EventOf<'rollback.started'>, 'paths' | 'tasks' | 'filesOnly' | 'keepGit'>

/** A word that answers it, what that means, and the command that says the same without an id. */
export interface InboxAnswer {
  readonly answer: string
  readonly means: string
  readonly command: string
}

export interface Left {
  readonly task: TaskName
  readonly status: TaskStatus
  readonly exit: number | null
  /** What it printed, by hash. */
  readonly log: Sha256 | null
  /** The change set of what it wrote, and how many paths. */
  readonly changes: Sha256 | null
  readonly paths: number | null
  readonly outputs: readonly string[]
  readonly message: string | null
}

export function inboxOf(state: PlanState): readonly InboxItem[] {
  if (state.archived) return []
  return state.order.flatMap(task => itemOf(state, task) ?? [])
}

/** What the task waits for a person with; null when it does not. */
export function itemOf(state: PlanState, task: TaskState): InboxItem | null {
  const asks = asksOf(state, task)
  if (asks === null) return null
  const { definition, visit, attempt, gate } = task
  const { id: plan } = state
  const { name } = state.definition
  return {
    key: `${plan}/${definition.id}/${visit}/${attempt}/${asks.type}`,
    plan,
    name,
    version: state.version,
    task: definition.id,
    title: definition.title ?? null,
    since: gate?.since ?? task.readiedAt ?? state.updatedAt,
    who: definition.assignee ?? definition.owner ?? state.definition.owner ?? null,
    asks,
    answers: answersTo(asks.type, name, definition.id),
    evidence: evidenceOf(state, task),
  }
}

function asksOf(state: PlanState, task: TaskState): InboxAsks | null {
  if (task.gate !== null) return PLAN_ENDED.has(state.status) ? null : { ...task.gate.asks, on: task.gate.hash }
  const { assignee, instruction, outputs } = task.definition
  if (state.status !== 'active' || state.rollback !== null || assignee === undefined || !isClaimable(task)) return null
  const reported = Object.entries(outputs ?? {}).flatMap(([name, { from }]) => (from === 'report' ? [name] : []))
  return { type: 'work', instruction: instruction ?? null, outputs: reported }
}

export interface StoppedRollback {
  /** The entry in which it was stopped. */
  readonly version: number
  readonly at: Millis
  readonly started: (Pick<EventOf<'rollback.started'>, 'kind' | 'to' | 'checkpoint'> & RollbackBounds) | null
  readonly stopped: EventOf<'rollback.stopped'>
}

export function rollbackItem(state: PlanState, { version, at, started, stopped }: StoppedRollback): InboxItem {
  const { name } = state.definition
  const { kind = 'rollback', to = 0, checkpoint = null } = started ?? {}
  const only = boundsOf(started ?? {})
  return {
    key: `${state.id}/rollback/${version}`,
    plan: state.id,
    name,
    version: state.version,
    task: null,
    title: null,
    since: at,
    who: state.definition.owner ?? null,
    asks: {
      type: 'rollback',
      kind,
      to,
      checkpoint,
      only,
      message: stopped.failure.message,
      conflicts: stopped.conflicts ?? [],
    },
    answers: rollbackAnswers(name, kind, to, only),
    evidence: [],
  }
}

function answersTo(type: InboxAsks['type'], plan: string, task: TaskName): readonly InboxAnswer[] {
  switch (type) {
    case 'approval':
    case 'consent':
    case 'verdict':
      return [
        {
          answer: 'approve',
          means: type === 'verdict' ? 'it holds' : 'go on',
          command: `planfold approve ${plan} ${task}`,
        },
        {
          answer: 'reject',
          means: type === 'verdict' ? 'it does not hold' : 'no',
          command: `planfold reject ${plan} ${task} -m 'why'`,
        },
      ]
    case 'unknown-outcome':
      return [
        { answer: 'done', means: 'it happened', command: `planfold approve ${plan} ${task}` },
        { answer: 'again', means: 'it did not: try again', command: `planfold retry ${plan} ${task}` },
        { answer: 'reject', means: 'give up: it failed', command: `planfold reject ${plan} ${task} -m 'why'` },
      ]
    case 'work':
      return [
        { answer: 'claim', means: 'take it in hand', command: `planfold claim ${plan} ${task}` },
        { answer: 'done', means: 'it is done', command: `planfold done ${plan} ${task}` },
        { answer: 'fail', means: 'it cannot be done', command: `planfold fail ${plan} ${task} -m 'why'` },
      ]
    case 'decision':
      return [
        {
          answer: 'choose',
          means: 'take one of the options',
          command: `planfold choose ${plan} ${task} OPTION -m 'why'`,
        },
        { answer: 'reject', means: 'none of them', command: `planfold reject ${plan} ${task} -m 'why'` },
      ]
    case 'question':
      return [
        { answer: 'answer', means: 'fill in the form', command: `planfold answer ${plan} ${task} NAME=VALUE` },
        { answer: 'reject', means: 'there is no answer', command: `planfold reject ${plan} ${task} -m 'why'` },
      ]
    case 'recovery':
    case 'replan':
      return [
        { answer: 'again', means: 'try again', command: `planfold retry ${plan} ${task}` },
        { answer: 'skip', means: 'go on without it', command: `planfold skip ${plan} ${task} -m 'why'` },
        { answer: 'reject', means: 'give up: it failed', command: `planfold reject ${plan} ${task} -m 'why'` },
      ]
    case 'rollback':
      return []
    default:
      return type satisfies never
  }
}

function boundsOf({ paths, tasks, filesOnly, keepGit }: RollbackBounds): RollbackBounds {
  return {
    ...(paths === undefined ? {} : { paths }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(filesOnly === undefined ? {} : { filesOnly }),
    ...(keepGit === undefined ? {} : { keepGit }),
  }
}

function rollbackAnswers(
  plan: string,
  kind: 'rollback' | 'undo',
  to: number,
  { paths = [], tasks = [], filesOnly, keepGit }: RollbackBounds,
): readonly InboxAnswer[] {
  const words = [
    ...(kind === 'undo' ? ['planfold undo', plan] : ['planfold rollback', plan, '--to', String(to)]),
    ...(paths.length === 0 ? [] : ['--files', ...paths.map(quoted)]),
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

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

function evidenceOf(state: PlanState, task: TaskState): readonly Left[] {
  const needs = (task.definition.needs ?? []).flatMap(name => state.tasks.get(name) ?? [])
  return [...(task.result === null ? [] : [task]), ...needs].map(leftBy)
}

function leftBy({ definition, status, result }: TaskState): Left {
  return {
    task: definition.id,
    status,
    exit: result?.exit ?? null,
    log: result?.log?.sha256 ?? null,
    changes: result?.wrote?.changes ?? null,
    paths: result?.wrote?.paths ?? null,
    outputs: Object.keys(result?.outputs ?? {}),
    message: result?.status === 'failed' ? result.failure.message : null,
  }
}
