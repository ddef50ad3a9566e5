// From the draft of a model to a plan: what it drafted, questions before it, a review behind it, and an approval before every task that
// cannot be taken back, whatever the model said about it.

import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Action, Criterion, Field, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { impactOf } from '../../domain/plan-rules/impact.ts'
import { live, oneLine, planName } from '../compose-plan.ts'
import type { Check, Draft, DraftTask } from './answer-schemas.ts'
import { dangerIn, type Ground } from './irreversible.ts'

const MINUTE = 60_000
const TITLE_MAX = 200
const LINE_MAX = 500
const LABEL_MAX = 300
const CLARIFY = 'clarify'
const REVIEW = 'review'

export interface DraftedPlan {
  readonly definition: PlanDefinition
  readonly irreversible: readonly { readonly task: string; readonly why: string }[]
}

export interface DraftParts {
  readonly goal: string
  readonly kind: string
  readonly draft: Draft
  /** Not answered yet; the plan asks them before work begins. */
  readonly questions: readonly string[]
  readonly ground: Ground
  readonly context: JsonObject
}

export function draftedPlan({ goal, kind, draft, questions, ground, context }: DraftParts): DraftedPlan {
  const drafted = draft.tasks.map(task => taskOf(task, ground))
  const asked = questions.length === 0 ? drafted : [clarify(questions), ...drafted.map(afterQuestions)]
  const done = draft.done.map(criterion)
  const plan: PlanDefinition = {
    name: planName(draft.title, kind),
    title: oneLine(draft.title, TITLE_MAX),
    goal,
    ...(done.length === 0 ? {} : { done }),
    // Whatever cannot be read from the plan is asked about, too.
    policy: { gates: { unknown: 'ask' } },
    tasks: asked,
    labels: ['planned', kind],
    extra: { planning: context },
  }
  const { tasks, irreversible } = gated(plan, ground)
  return { definition: { ...plan, tasks: reviewed({ ...plan, tasks }) }, irreversible }
}

function taskOf(task: DraftTask, ground: Ground): TaskDefinition {
  const { id, title, why, kind, how, needs = [], write = [], accept = [], risks = [], minutes } = task
  const undo = undoOf(task)
  return {
    id: id as TaskName,
    title: live(oneLine(title, TITLE_MAX)),
    kind,
    rationale: why,
    ...(needs.length === 0 ? {} : { needs: [...new Set(needs)] as TaskName[] }),
    action: actionOf(task),
    ...(how === 'work' ? { instruction: live(task.instruction ?? title) } : {}),
    ...(how !== 'work' || (task.reports ?? []).length === 0 ? {} : { outputs: reported(task.reports ?? []) }),
    ...(how === 'approval' || write.length === 0 ? {} : { write: [...new Set(write)] }),
    ...(how === 'command' && isFound(task.command ?? [], ground) ? { effect: 'idempotent' as const } : {}),
    ...(how === 'approval' || accept.length === 0 ? {} : { accept: accept.map(criterion) }),
    ...(risks.length === 0 ? {} : { risks: risks.map(risk => oneLine(risk, LINE_MAX)) }),
    ...(how === 'approval' ? {} : undo),
    ...(minutes === undefined || !(minutes > 0)
      ? {}
      : { estimateMs: Math.round(Math.min(minutes, 10_000)) * MINUTE || MINUTE }),
  }
}

function actionOf({ how, command = [] }: DraftTask): Action {
  if (how === 'command') return { type: 'run', command: { argv: command.map(live) } }
  return how === 'work' ? { type: 'external' } : { type: 'gate', gate: 'approval', show: ['diff'] }
}

const isFound = (argv: readonly string[], { commands }: Ground): boolean =>
  [commands.test, commands.lint, commands.types, commands.build].some(
    found => found !== null && found.run.join('\0') === argv.join('\0'),
  )

/** A command takes back what a command did; for work a person does it. */
function undoOf({ how, undo, write = [] }: DraftTask): Pick<TaskDefinition, 'compensate' | 'rollback'> {
  const words = undo?.text ?? ''
  const command = undo?.command ?? []
  return {
    ...(how === 'command' && command.length > 0
      ? { compensate: { type: 'run' as const, command: { argv: command.map(live) } } }
      : {}),
    ...(words !== ''
      ? { rollback: oneLine(words, LINE_MAX) }
      : write.length > 0
        ? { rollback: 'the files it wrote are reverted' }
        : {}),
  }
}

const reported = (names: readonly string[]): TaskDefinition['outputs'] =>
  Object.fromEntries(names.map(name => [name, { from: 'report' as const, type: 'text' }]))

const criterion = ({ text, command = [] }: Check): Criterion =>
  command.length === 0
    ? { type: 'prose', text: oneLine(text, LINE_MAX) }
    : { type: 'check', command: { argv: command.map(live) }, text: oneLine(text, LINE_MAX) }

function clarify(questions: readonly string[]): TaskDefinition {
  const form = questions.map(
    (text, index): Field => ({ name: `answer${index + 1}`, label: oneLine(text, LABEL_MAX), type: 'text' }),
  )
  return {
    id: CLARIFY as TaskName,
    title:
      questions.length === 1 ? 'A question before work begins' : `${questions.length} questions before work begins`,
    rationale: 'The goal does not say this, and the answer changes the work.',
    action: { type: 'gate', gate: 'question', question: live(questions.join('\n')), form },
    estimateMs: 5 * MINUTE,
  }
}

const afterQuestions = (task: TaskDefinition): TaskDefinition =>
  (task.needs ?? []).length > 0 ? task : { ...task, needs: [CLARIFY as TaskName] }

/** An approval right before what cannot be taken back, unless one stands there. */
function gated(
  plan: PlanDefinition,
  ground: Ground,
): { readonly tasks: readonly TaskDefinition[]; readonly irreversible: DraftedPlan['irreversible'] } {
  const approvals = new Set(plan.tasks.filter(({ action }) => isApproval(action)).map(({ id }) => id))
  const taken = new Set<string>(plan.tasks.map(({ id }) => id))
  const irreversible: { task: string; why: string }[] = []
  const tasks = plan.tasks.flatMap((task): readonly TaskDefinition[] => {
    const danger = dangerIn(plan, task, ground)
    if (danger === null) return [task]
    irreversible.push({ task: task.id, why: danger.why })
    // The engine asks once more by this word, also when somebody takes the gate away.
    const told = danger.kind === null || task.action.type !== 'external' ? task : { ...task, kind: danger.kind }
    if ((task.needs ?? []).some(need => approvals.has(need))) return [told]
    const gate = freeName(`approve-${task.id}`, taken)
    return [
      {
        id: gate,
        title: live(oneLine(`May this be done: ${task.title ?? task.id}?`, TITLE_MAX)),
        rationale: `${task.id}: ${danger.why}. A person decides right before it.`,
        needs: task.needs,
        action: { type: 'gate', gate: 'approval', show: ['diff'] },
      },
      { ...told, needs: [gate] },
    ]
  })
  return { tasks, irreversible }
}

/** A command of the draft that declares nothing may write as well; one that pushes or deploys has an approval of its own. */
function mayWrite(plan: PlanDefinition, task: TaskDefinition): boolean {
  if (task.write !== undefined) return task.write.length > 0
  const impact = impactOf(plan, task)
  return task.action.type === 'run' && task.effect !== 'idempotent' && (impact === null || impact === 'unknown')
}

function comesBefore(tasks: readonly TaskDefinition[], id: string): ReadonlySet<string> {
  const before = new Set<string>([id])
  for (const name of before) for (const need of tasks.find(task => task.id === name)?.needs ?? []) before.add(need)
  return before
}

const isApproval = (action: Action): boolean => action.type === 'gate' && action.gate === 'approval'

function freeName(wanted: string, taken: Set<string>): TaskName {
  const base = wanted.slice(0, 100)
  let name = base
  for (let at = 2; taken.has(name); at++) name = `${base}-${at}`
  taken.add(name)
  return name as TaskName
}

/** A person sees the whole change at the end, unless an approval of the plan comes after all that writes. */
function reviewed(plan: PlanDefinition): readonly TaskDefinition[] {
  const { tasks } = plan
  const writers = tasks.filter(task => mayWrite(plan, task)).map(({ id }) => id)
  const isSeen = tasks.some(({ id, action }) => {
    const before = isApproval(action) ? comesBefore(tasks, id) : new Set<string>()
    return writers.every(writer => before.has(writer))
  })
  if (writers.length === 0 || isSeen) return tasks
  const needed = new Set(tasks.flatMap(({ needs = [] }) => needs))
  const last = tasks.filter(({ id }) => !needed.has(id)).map(({ id }) => id)
  const id = freeName(REVIEW, new Set(tasks.map(task => task.id)))
  return [
    ...tasks,
    {
      id,
      title: 'Look at the change',
      kind: 'review',
      rationale: 'A person sees everything that was changed before the plan is done.',
      needs: last,
      estimateMs: 10 * MINUTE,
      action: { type: 'gate', gate: 'diff' },
    },
  ]
}
