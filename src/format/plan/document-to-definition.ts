// From the shape of the document to the domain's definition: action keys become one action, shorthands are written out,
// `sequential` becomes needs. Nothing here can fail; whatever could was refused before.

import type { PlanName, TaskName } from '../../domain/id.ts'
import { type Json, mapValues } from '../../domain/json.ts'
import { BACKOFF_DEFAULT_MS } from '../../domain/limits.ts'
import {
  type Action,
  type Approvers,
  type Budget,
  type CheckpointPolicy,
  type CommandLine,
  type CompensatingTask,
  type Criterion,
  type DataRules,
  type Edit,
  type Escalation,
  type FailureMode,
  type Field,
  type ForEach,
  type GateAction,
  type GatePolicy,
  type GitAction,
  type GitUse,
  LATER_ACTIONS,
  type Notify,
  type Option,
  type OutputSource,
  type PlanDefinition,
  type Policy,
  type Recovery,
  type RecoveryRule,
  type Retry,
  type TaskDefinition,
  type TaskValues,
  type ValueKind,
} from '../../domain/plan.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import type { CommandRules } from '../../domain/policy/command-rules.ts'
import type { EditDocument, GitDocument, PlanDocument, TaskDocument } from './schema.ts'
import type { FieldDocument, GateDocument, NotifyDocument, RecoveryDocument } from './schema-gates.ts'
import type { CommandDocument, CriterionDocument, RetryDocument } from './schema-parts.ts'

// What stands in more than one place of a document: commands, criteria, retries.

function lowerCommand(command: CommandDocument): CommandLine {
  return typeof command === 'string' ? { script: command } : { argv: command }
}

function lowerCriterion(criterion: CriterionDocument): Criterion {
  if (typeof criterion === 'string') return { type: 'prose', text: criterion }
  const { text } = criterion
  if ('check' in criterion) return sparse<Criterion>({ type: 'check', command: lowerCommand(criterion.check), text })
  if ('tests' in criterion) {
    const { tests, new: where, baseline, red, fewer } = criterion
    return sparse<Criterion>({
      type: 'tests',
      command: lowerCommand(tests),
      new: where,
      baseline,
      red: red === true ? true : undefined,
      fewer,
      text,
    })
  }
  return sparse<Criterion>({ type: 'expect', expression: criterion.expect, text })
}

function lowerRetry(retry: RetryDocument): Retry {
  if (typeof retry === 'number') return { attempts: retry, backoffMs: BACKOFF_DEFAULT_MS }
  return { attempts: retry.attempts, backoffMs: retry.backoff ?? BACKOFF_DEFAULT_MS }
}

/** Leaves out what was not said. */
function sparse<T>(value: Unsparse<T>): T {
  const said: { [key: string]: unknown } = {}
  for (const key in value) if (value[key] !== undefined) said[key] = value[key]
  return said as T
}

/** The same type, where an optional key may also be there and be undefined. */
type Unsparse<T> = T extends unknown
  ? { [K in keyof T as object extends Pick<T, K> ? never : K]: T[K] } & {
      [K in keyof T as object extends Pick<T, K> ? K : never]?: T[K] | undefined
    }
  : never

// What a document says about judgement: gates, recovery, policy, notices.

/** `show` may stand beside the gate or inside it. */
function lowerGate(gate: GateDocument, show: readonly string[] | undefined): GateAction {
  if (typeof gate === 'string') return sparse<GateAction>({ type: 'gate', gate, show })
  const { file, against, attempts, time } = gate
  return sparse<GateAction>({
    type: 'gate',
    gate: gate.type,
    show: gate.show ?? show,
    checks: gate.checks?.map(lowerCriterion),
    unmet: gate.unmet,
    schema: file === undefined || against === undefined ? undefined : { file, against },
    within: attempts === undefined && time === undefined ? undefined : sparse({ attempts, timeMs: time }),
    approvers: lowerApprovers(gate),
    expiresMs: gate.expires,
    expired: gate.expired,
    escalate: lowerEscalation(gate.escalate),
    options: gate.options?.map(option => sparse<Option>({ ...option })),
    question: gate.question,
    form: gate.form?.map(lowerField),
  })
}

export function lowerField(document: FieldDocument): Field {
  const { type = 'text', optional, ...rest } = document
  return sparse<Field>({ ...rest, type, optional: optional === true ? true : undefined })
}

function lowerApprovers({ role, count }: { role?: string | undefined; count?: number | undefined }) {
  return role === undefined && count === undefined ? undefined : sparse<Approvers>({ role, count })
}

const lowerEscalation = (said: { after: number; to: string } | undefined): Escalation | undefined =>
  said && { afterMs: said.after, to: said.to }

export function lowerPolicy(document: NonNullable<PlanDocument['policy']>): Policy {
  const { write, read, network, sandbox, budget, checkpoints, roles, replan, review, breaker, limits, retention } =
    document
  return sparse<Policy>({
    write,
    read,
    network,
    commands: document.commands && sparse<CommandRules>({ ...document.commands }),
    data: document.data && sparse<DataRules>({ ...document.data }),
    sandbox,
    budget: budget && lowerBudget(budget),
    checkpoints: checkpoints && sparse<CheckpointPolicy>({ ...checkpoints }),
    onFailure: document.on_failure,
    gates: document.gates === undefined ? undefined : lowerGates(document.gates),
    roles,
    replan,
    escalate: lowerEscalation(document.escalate),
    review: review && sparse({ windowMs: review.window, max: review.max }),
    breaker: breaker && { failures: breaker.failures, cooldownMs: breaker.cooldown },
    limits: limits && lowerLimits(limits),
    retention: retention && sparse({ restoredMs: retention.restored }),
  })
}

function lowerLimits({ memory, ...limits }: NonNullable<NonNullable<PlanDocument['policy']>['limits']>) {
  return sparse<NonNullable<Policy['limits']>>({ ...limits, memoryBytes: memory })
}

function lowerGates(document: NonNullable<NonNullable<PlanDocument['policy']>['gates']>): GatePolicy {
  if (typeof document === 'string') return document === 'none' ? { before: [] } : {}
  const { before, unknown, valid } = document
  return sparse<GatePolicy>({ before, unknown, approvers: lowerApprovers(document), validMs: valid })
}

function lowerNotify(document: NotifyDocument): readonly Notify[] {
  return document.map(({ on, run, webhook, every }) =>
    sparse<Notify>({
      on,
      everyMs: every,
      send: run === undefined ? { webhook: webhook ?? '' } : { command: lowerCommand(run) },
    }),
  )
}

function lowerRecovery<T>(rule: RecoveryDocument<T>, lowerTask: (task: T) => TaskDefinition): RecoveryRule {
  return sparse<RecoveryRule>({ on: rule.on, times: rule.times, do: lowerChoice(rule, lowerTask) })
}

/** That a rule says exactly one thing was seen to before. */
function lowerChoice<T>(rule: RecoveryDocument<T>, lowerTask: (task: T) => TaskDefinition): Recovery {
  const { retry, alternate, repair, critic, replan, ask, abort } = rule
  if (retry !== undefined) return { type: 'retry', retry: lowerRetry(retry) }
  if (alternate !== undefined) return { type: 'alternate', task: alternate }
  const repairer = repair ?? critic
  if (repairer !== undefined) return { type: 'repair', task: repairer }
  if (replan === true) return { type: 'replan' }
  if (replan !== undefined)
    return sparse<Recovery>({ type: 'replan', add: replan.add?.map(lowerTask), template: replan.template })
  if (ask !== undefined) return ask === true ? { type: 'ask' } : { type: 'ask', to: ask }
  if (abort === undefined || abort === true) return { type: 'abort' }
  return { type: 'abort', with: abort }
}

export function lowerPlan(plan: PlanDocument, name: PlanName): PlanDefinition {
  const { policy, defaults, git, sequential, tasks } = plan
  return sparse<PlanDefinition>({
    name,
    title: plan.title,
    goal: plan.goal,
    done: plan.done?.map(lowerCriterion),
    policy: policy && lowerPolicy(policy),
    git: git && sparse<GitUse>({ ...git }),
    notify: plan.notify && lowerNotify(plan.notify),
    recovery: plan.recovery && sparse({ ...plan.recovery }),
    concurrency: plan.concurrency,
    defaults:
      defaults &&
      sparse({
        timeoutMs: defaults.timeout,
        retry: defaults.retry === undefined ? undefined : lowerRetry(defaults.retry),
        model: defaults.model,
        agent: defaults.agent,
      }),
    session: plan.session,
    owner: plan.owner,
    stakeholders: plan.stakeholders,
    hypotheses: plan.hypotheses,
    memory: plan.memory,
    artifacts: plan.artifacts,
    labels: plan.labels,
    extra: plan.extra,
    tasks: tasks.map((task, index) => lowerTask(task, sequential === true ? tasks[index - 1]?.id : undefined)),
  })
}

/** Field by field, as `TASK_FIELDS` says. The action is made of several keys. */
function lowerTask(document: TaskDocument, previous: TaskName | undefined): TaskDefinition {
  const said: { readonly [key: string]: unknown } = document
  const task: { [name: string]: unknown } = {}
  for (const { name, key, value } of WRITTEN) {
    const given = said[key]
    const lowered = given === undefined ? undefined : lowerValue(value, given)
    if (lowered !== undefined) task[name] = lowered
    else if (name === 'action') task.action = lowerAction(document)
    else if (name === 'needs' && previous !== undefined) task.needs = [previous]
  }
  return task as unknown as TaskDefinition
}

function lowerValue(kind: ValueKind, said: unknown): unknown {
  const lower = (LOWER as { readonly [K in ValueKind]?: (said: never) => unknown })[kind]
  return lower === undefined ? said : lower(said as never)
}

/** The kinds of values that a document writes in another way; all others are as they stand. A test holds them against the schema. */
export const LOWER = {
  budget: lowerBudget,
  command: lowerCommand,
  criteria: (list: readonly CriterionDocument[]) => list.map(lowerCriterion),
  flag: (said: boolean) => said || undefined,
  items: lowerForEach,
  modes: (list: NonNullable<TaskDocument['failure_modes']>) => list.map(lowerFailureMode),
  outputs: (outputs: NonNullable<TaskDocument['outputs']>) => mapValues(outputs, lowerOutput),
  recovery: (rules: NonNullable<TaskDocument['recover']>) =>
    rules.map(rule => lowerRecovery(rule, task => lowerTask(task, undefined))),
  retry: lowerRetry,
  undo: lowerUndo,
} satisfies { readonly [K in ValueKind]?: (said: never) => TaskValues[K] | undefined }

function lowerUndo({ task, ...action }: NonNullable<TaskDocument['compensate']>): Action | CompensatingTask {
  return task === undefined ? lowerAction(action) : { type: 'task', task }
}

type ActionDocument = Partial<
  Pick<
    TaskDocument,
    | (
        | 'run'
        | 'stdin'
        | 'links'
        | 'edit'
        | 'decide'
        | 'gate'
        | 'show'
        | 'subplan'
        | 'git'
        | 'checkpoint'
        | 'model'
        | 'http'
        | 'db'
        | 'agent'
        | 'runner'
      )
    | (typeof LATER_ACTIONS)[number]
  >
>

function lowerAction(document: ActionDocument): Action {
  const { run, edit, decide, gate, stdin, links, show, git, checkpoint } = document
  if (run !== undefined) return sparse<Action>({ type: 'run', command: lowerCommand(run), stdin, links })
  if (edit !== undefined) return { type: 'edit', edits: (Array.isArray(edit) ? edit : [edit]).map(lowerEdit) }
  if (decide !== undefined) return { type: 'decide', expression: decide }
  if (gate !== undefined) return lowerGate(gate, show)
  if (document.subplan !== undefined) return { type: 'subplan', tasks: lowerSteps(document.subplan) }
  if (git !== undefined) return { type: 'git', git: lowerGit(git) }
  if (checkpoint === true) return { type: 'checkpoint' }
  if (checkpoint !== undefined)
    return { type: 'checkpoint', name: typeof checkpoint === 'string' ? checkpoint : checkpoint.name }
  if (document.model !== undefined) return { type: 'model', spec: document.model as Json }
  if (document.http !== undefined) return { type: 'http', spec: document.http as Json }
  if (document.db !== undefined) return { type: 'db', spec: document.db as Json }
  if (document.agent !== undefined) return { type: 'agent', spec: document.agent as Json }
  if (document.runner !== undefined) return { type: 'runner', spec: document.runner as Json }
  for (const type of LATER_ACTIONS) {
    const spec = document[type]
    if (spec !== undefined) return { type, spec }
  }
  return { type: 'external' }
}

function lowerGit(document: GitDocument): GitAction {
  if ('commit' in document) return sparse<GitAction>({ do: 'commit', message: document.commit, paths: document.paths })
  const { message } = document
  if ('tag' in document) return sparse<GitAction>({ do: 'tag', name: document.tag, message })
  return sparse<GitAction>({ do: 'merge', task: document.merge, message })
}

/** Lines of prose become steps `1`, `2`, … each after the one before it. */
function lowerSteps(steps: NonNullable<TaskDocument['subplan']>): readonly TaskDefinition[] {
  return steps.map((step, index) => {
    if (typeof step !== 'string') return lowerTask(step, undefined)
    const follows = index > 0 && typeof steps[index - 1] === 'string'
    return sparse<TaskDefinition>({
      id: String(index + 1) as TaskName,
      title: step,
      action: { type: 'external' },
      needs: follows ? [String(index) as TaskName] : undefined,
    })
  })
}

function lowerForEach(document: NonNullable<TaskDocument['for_each']>): ForEach {
  if (typeof document === 'string') return { in: bare(document) }
  if ('in' in document) return sparse<ForEach>({ in: bare(document.in), items: document.items })
  return { items: document }
}

/** An expression may be written as one, or as the template it would be elsewhere. */
function bare(text: string): string {
  const inner = /^\$\{\{([\s\S]*)\}\}$/.exec(text.trim())?.[1]
  return inner === undefined || inner.includes('${{') ? text : inner.trim()
}

function lowerFailureMode(mode: NonNullable<TaskDocument['failure_modes']>[number]): FailureMode {
  const { name, detect, class: kind, recover, advice } = mode
  return sparse<FailureMode>({
    name,
    detect:
      typeof detect === 'string'
        ? { type: 'prose', text: detect }
        : sparse({ type: 'expect', expression: detect.expect, text: detect.text }),
    class: kind,
    recover,
    advice,
  })
}

function lowerEdit(document: EditDocument): Edit {
  const { file, sha256 } = document
  if ('create' in document) {
    const { create: content, mode, overwrite } = document
    return sparse<Edit>({
      type: 'create',
      file,
      content,
      mode,
      overwrite: overwrite === true ? true : undefined,
      sha256,
    })
  }
  if ('find' in document) {
    const { find, replace, all } = document
    return sparse<Edit>({ type: 'replace', file, find, replace, all: all === true ? true : undefined, sha256 })
  }
  if ('patch' in document) return sparse<Edit>({ type: 'patch', file, diff: document.patch, sha256 })
  if ('move' in document) return sparse<Edit>({ type: 'move', file, to: document.move, sha256 })
  if ('chmod' in document) return sparse<Edit>({ type: 'chmod', file, mode: document.chmod, sha256 })
  return sparse<Edit>({ type: 'delete', file, sha256 })
}

function lowerOutput(output: NonNullable<TaskDocument['outputs']>[string]): OutputSource {
  if (output === 'stdout') return { from: 'stdout', as: 'text' }
  if ('file' in output) return { from: 'file', file: output.file }
  if ('stdout' in output) return { from: 'stdout', as: output.stdout }
  const { report, retention } = output
  return sparse<OutputSource>({ from: 'report', type: report === true ? undefined : report, retention })
}

function lowerBudget(budget: NonNullable<TaskDocument['budget']>): Budget {
  const { time, cost, tokens, calls, attempts, output, exceeded, large } = budget
  return sparse<Budget>({ timeMs: time, cost, tokens, calls, attempts, outputBytes: output, exceeded, large })
}
