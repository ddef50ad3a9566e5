// The reverse of lowering: a definition as the document a person would write, keys in the order of the format.

import { defined, type Json, type JsonObject } from '../../domain/json.ts'
import type {
  Action,
  Approvers,
  Budget,
  CommandLine,
  CompensatingTask,
  Criterion,
  Edit,
  Escalation,
  FailureMode,
  ForEach,
  GateAction,
  GatePolicy,
  GitAction,
  Notify,
  OutputSource,
  PlanDefinition,
  Policy,
  Recovery,
  RecoveryRule,
  Retry,
  TaskDefinition,
  TaskValues,
  ValueKind,
} from '../../domain/plan.ts'
import { specOf } from '../../domain/plan-rules/expand.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { printAmount, printDuration, printDurationRange, printMoney, printSize } from '../text/units.ts'

// Commands, criteria and retries as a person would write them.

export function raiseCriterion(criterion: Criterion): Json {
  if (criterion.type === 'prose') return criterion.text
  const { text } = criterion
  if (criterion.type === 'tests') {
    const { command, new: where, baseline, red, fewer } = criterion
    return defined({ tests: raiseCommand(command), new: where, baseline, red, fewer, text })
  }
  return criterion.type === 'check'
    ? defined({ check: raiseCommand(criterion.command), text })
    : defined({ expect: criterion.expression, text })
}

function raiseCommand(command: CommandLine): Json {
  return 'argv' in command ? command.argv : command.script
}

function raiseRetry(retry: Retry): JsonObject {
  return { attempts: retry.attempts, backoff: printDurationRange(retry.backoffMs) }
}

function raiseMs(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : printDuration(ms)
}

// Gates, recovery, policy and notices as a person would write them.

/** One word, when nothing else is said about it. */
function raiseGate(action: GateAction): { readonly [key: string]: Json | undefined } {
  const { gate: type, show, schema, within } = action
  const more = defined({
    checks: action.checks?.map(raiseCriterion),
    unmet: action.unmet,
    file: schema?.file,
    against: schema?.against,
    attempts: within?.attempts,
    time: raiseMs(within?.timeMs),
    ...raiseApprovers(action.approvers),
    expires: raiseMs(action.expiresMs),
    expired: action.expired,
    escalate: raiseEscalation(action.escalate),
    options: action.options?.map(option => defined({ ...option })),
    question: action.question,
    form: action.form?.map(field => defined({ ...field })),
  })
  return { gate: Object.keys(more).length === 0 ? type : { type, ...more }, show }
}

const raiseApprovers = (approvers: Approvers | undefined): { readonly [key: string]: Json | undefined } => ({
  role: approvers?.role,
  count: approvers?.count,
})

const raiseEscalation = (said: Escalation | undefined): JsonObject | undefined =>
  said && defined({ after: raiseMs(said.afterMs), to: said.to })

export function raisePolicy(policy: Policy): JsonObject {
  const {
    write,
    read,
    network,
    commands,
    data,
    sandbox,
    budget,
    checkpoints,
    onFailure,
    gates,
    roles,
    replan,
    escalate,
    review,
    breaker,
    limits,
    retention,
  } = policy
  return defined({
    write,
    read,
    network: network as Json | undefined,
    commands: commands && defined({ ...commands }),
    data: data && defined({ ...data }),
    sandbox,
    budget: budget && raiseBudget(budget),
    checkpoints: checkpoints && defined({ ...checkpoints }),
    on_failure: onFailure,
    gates: gates && raiseGates(gates),
    roles,
    replan,
    escalate: raiseEscalation(escalate),
    review: review && defined({ window: raiseMs(review.windowMs), max: review.max }),
    breaker: breaker && defined({ failures: breaker.failures, cooldown: raiseMs(breaker.cooldownMs) }),
    limits: limits && raiseLimits(limits),
    retention: retention && defined({ restored: raiseMs(retention.restoredMs) }),
  })
}

function raiseLimits({ memoryBytes, ...limits }: NonNullable<Policy['limits']>): JsonObject {
  return defined({ ...limits, memory: memoryBytes === undefined ? undefined : printSize(memoryBytes) })
}

function raiseGates({ before, unknown, approvers, validMs }: GatePolicy): Json {
  const more = defined({ unknown, ...raiseApprovers(approvers), valid: raiseMs(validMs) })
  const said = { ...(before === undefined ? {} : { before }), ...more }
  if (Object.keys(said).length === 0) return 'default'
  return before?.length === 0 && Object.keys(more).length === 0 ? 'none' : said
}

function raiseNotify({ on, everyMs, send }: Notify): JsonObject {
  const every = raiseMs(everyMs)
  return defined(
    'webhook' in send ? { on, every, webhook: send.webhook } : { on, every, run: raiseCommand(send.command) },
  )
}

function raiseRecovery(rule: RecoveryRule, raiseTask: (task: TaskDefinition) => JsonObject): JsonObject {
  return defined({ on: rule.on, ...raiseChoice(rule.do, raiseTask), times: rule.times })
}

function raiseChoice(
  choice: Recovery,
  raiseTask: (task: TaskDefinition) => JsonObject,
): { readonly [key: string]: Json | undefined } {
  switch (choice.type) {
    case 'retry':
      return { retry: raiseRetry(choice.retry) }
    case 'alternate':
      return { alternate: choice.task }
    case 'repair':
      return { repair: choice.task }
    case 'replan': {
      const more = defined({ add: choice.add?.map(raiseTask), template: choice.template })
      return { replan: Object.keys(more).length === 0 ? true : more }
    }
    case 'ask':
      return { ask: choice.to ?? true }
    case 'abort':
      return { abort: choice.with ?? true }
    default:
      choice satisfies never
      return {}
  }
}

export function raisePlan(plan: PlanDefinition): JsonObject {
  return defined({
    planfold: 1,
    name: plan.name,
    title: plan.title,
    goal: plan.goal,
    done: plan.done?.map(raiseCriterion),
    policy: plan.policy && raisePolicy(plan.policy),
    git: plan.git && defined({ ...plan.git }),
    notify: plan.notify?.map(raiseNotify),
    recovery: plan.recovery && defined({ ...plan.recovery }),
    concurrency: plan.concurrency,
    defaults:
      plan.defaults &&
      defined({
        timeout: raiseMs(plan.defaults.timeoutMs),
        retry: plan.defaults.retry && raiseRetry(plan.defaults.retry),
        model: plan.defaults.model,
        agent: plan.defaults.agent,
      }),
    session: plan.session,
    owner: plan.owner,
    stakeholders: plan.stakeholders,
    hypotheses: plan.hypotheses,
    memory: plan.memory,
    artifacts: plan.artifacts,
    labels: plan.labels,
    extra: plan.extra,
    // The plan's own last task is made from `done`, so it is not written a second time.
    tasks: plan.tasks.filter(task => task.action.type !== 'verify').map(raiseTask),
  })
}

/** Field by field, as `TASK_FIELDS` says. An action becomes several keys. */
export function raiseTask(task: TaskDefinition): JsonObject {
  const document: { [key: string]: Json | undefined } = {}
  for (const { name, key, value } of WRITTEN) {
    const said = task[name]
    if (name === 'action') Object.assign(document, raiseAction(task.action))
    else if (said !== undefined) document[key] = raiseValue(value, said)
  }
  return defined(document)
}

function raiseValue(kind: ValueKind, said: unknown): Json {
  const raise = (RAISE as { readonly [K in ValueKind]?: (said: never) => Json })[kind]
  return raise === undefined ? (said as Json) : raise(said as never)
}

/** The kinds of values that a document writes in another way; all others are as they stand. */
const RAISE = {
  budget: raiseBudget,
  command: raiseCommand,
  criteria: list => list.map(raiseCriterion),
  duration: printDuration,
  items: raiseForEach,
  modes: list => list.map(raiseFailureMode),
  outputs: outputs => Object.fromEntries(Object.entries(outputs).map(([name, source]) => [name, raiseOutput(source)])),
  recovery: rules => rules.map(rule => raiseRecovery(rule, raiseTask)),
  retry: raiseRetry,
  undo: raiseUndo,
} satisfies { readonly [K in ValueKind]?: (said: TaskValues[K]) => Json }

function raiseAction(action: Action): { readonly [key: string]: Json | undefined } {
  switch (action.type) {
    case 'run':
      return { run: raiseCommand(action.command), stdin: action.stdin, links: action.links }
    case 'edit':
      return { edit: action.edits.map(raiseEdit) }
    case 'decide':
      return { decide: action.expression }
    case 'gate':
      return raiseGate(action)
    case 'subplan':
      return { subplan: action.tasks.map(raiseTask) }
    case 'git':
      return { git: specOf(action) ?? raiseGit(action.git) }
    case 'checkpoint':
      return { checkpoint: specOf(action) ?? action.name ?? true }
    case 'external':
    case 'verify':
    case 'group':
    case 'items':
      return {}
    default:
      return { [action.type]: action.spec }
  }
}

function raiseUndo(undo: Action | CompensatingTask): JsonObject {
  return defined(undo.type === 'task' ? { task: undo.task } : raiseAction(undo))
}

function raiseGit(git: GitAction): JsonObject {
  switch (git.do) {
    case 'commit':
      return defined({ commit: git.message, paths: git.paths })
    case 'tag':
      return defined({ tag: git.name, message: git.message })
    case 'merge':
      return defined({ merge: git.task, message: git.message })
    default:
      git satisfies never
      return {}
  }
}

function raiseEdit(edit: Edit): JsonObject {
  const { file, sha256 } = edit
  switch (edit.type) {
    case 'create':
      return defined({
        file,
        create: edit.content,
        mode: edit.mode === undefined ? undefined : octal(edit.mode),
        overwrite: edit.overwrite,
        sha256,
      })
    case 'replace':
      return defined({ file, find: edit.find, replace: edit.replace, all: edit.all, sha256 })
    case 'patch':
      return defined({ file, patch: edit.diff, sha256 })
    case 'move':
      return defined({ file, move: edit.to, sha256 })
    case 'delete':
      return defined({ file, delete: true, sha256 })
    case 'chmod':
      return defined({ file, chmod: octal(edit.mode), sha256 })
    default:
      edit satisfies never
      return {}
  }
}

function raiseFailureMode({ name, detect, class: kind, recover, advice }: FailureMode): JsonObject {
  return defined({ name, detect: raiseCriterion(detect), class: kind, recover, advice })
}

function raiseForEach(forEach: ForEach): Json {
  if (forEach.in === undefined) return forEach.items!
  return forEach.items === undefined ? forEach.in : { in: forEach.in, items: forEach.items }
}

function raiseOutput(source: OutputSource): JsonObject {
  if (source.from === 'file') return { file: source.file }
  if (source.from === 'stdout') return { stdout: source.as }
  return defined({ report: source.type ?? true, retention: source.retention })
}

function raiseBudget({ timeMs, cost, tokens, calls, attempts, outputBytes, exceeded, large }: Budget): JsonObject {
  return defined({
    time: raiseMs(timeMs),
    cost: cost && printMoney(cost),
    tokens: tokens && printAmount(tokens),
    calls,
    attempts,
    output: outputBytes && printSize(outputBytes),
    exceeded,
    large: large && printMoney(large),
  })
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, '0')
}
