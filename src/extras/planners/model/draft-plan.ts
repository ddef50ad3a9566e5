// Converts a model's draft into a plan: its tasks within the common frame, and an approval before every irreversible task,
// declared or not.

import type { TaskName } from '../../../domain/id.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { Action, Criterion, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { live, oneLine, planName } from '../compose-plan.ts'
import { quoteOf } from '../draft/briefing-text.ts'
import { framed, freeName } from '../draft/plan-frame.ts'
import { shellLine } from '../end-checks.ts'
import type { PlanProposal } from '../planner.ts'
import type { Check, Draft, DraftTask } from './answer-schemas.ts'
import { dangerIn, type Ground } from './irreversible.ts'
import type { TodayResult } from './self-check.ts'

const MINUTE = 60_000
const TITLE_MAX = 200
const LINE_MAX = 500

export interface DraftedPlan {
  readonly definition: PlanDefinition
  readonly irreversible: readonly { readonly task: string; readonly why: string }[]
}

export interface DraftParts {
  readonly goal: string
  /** The result of the heuristic planner. */
  readonly known: PlanProposal
  readonly draft: Draft
  /** The results of its checks before the work. */
  readonly today: readonly TodayResult[]
  /** Unanswered; the plan asks them before work begins. */
  readonly questions: readonly string[]
  readonly ground: Ground
  readonly context: JsonObject
}

export function draftedPlan({ goal, known, draft, today, questions, ground, context }: DraftParts): DraftedPlan {
  const { kind } = known
  const done = draft.done.map(criterion)
  const plan: PlanDefinition = {
    name: planName(draft.title, kind),
    title: oneLine(draft.title, TITLE_MAX),
    goal,
    ...(done.length === 0 ? {} : { done }),
    // Anything that cannot be analysed also needs approval.
    policy: { gates: { unknown: 'ask' } },
    tasks: draft.tasks.map(task => taskOf(task, { questions, ground, today })),
    labels: ['planned', kind],
    extra: { planning: context },
  }
  const { tasks, irreversible } = gated(plan, ground)
  const asked = questions.map(text => ({ text }))
  return { definition: framed({ ...plan, tasks }, { known, questions: asked }), irreversible }
}

function taskOf(
  task: DraftTask,
  { questions, ground, today }: Pick<DraftParts, 'questions' | 'ground' | 'today'>,
): TaskDefinition {
  const { id, title, why, kind, how, needs = [], write = [], accept = [], risks = [], minutes } = task
  const undo = undoOf(task)
  return {
    id: id as TaskName,
    title: live(oneLine(title, TITLE_MAX)),
    kind,
    rationale: why,
    ...(needs.length === 0 ? {} : { needs: [...new Set(needs)] as TaskName[] }),
    action: actionOf(task),
    ...(how === 'work' ? { instruction: instructionOf(task, questions) } : {}),
    ...(how !== 'work' || (task.reports ?? []).length === 0 ? {} : { outputs: reported(task.reports ?? []) }),
    ...(how === 'work' && READING_KINDS.has(kind) ? { write } : {}),
    ...(how === 'approval' || write.length === 0 ? {} : { write: [...new Set(write)] }),
    ...(how === 'command' && isRepositoryCommand(task.command ?? [], ground) ? { effect: 'idempotent' as const } : {}),
    ...(how === 'approval' || accept.length === 0
      ? {}
      : { accept: accept.map(one => criterion(marked(id, one, today))) }),
    ...(risks.length === 0 ? {} : { risks: risks.map(risk => oneLine(risk, LINE_MAX)) }),
    ...(how === 'approval' ? {} : undo),
    ...(minutes === undefined || !(minutes > 0)
      ? {}
      : { estimateMs: Math.round(Math.min(minutes, 10_000)) * MINUTE || MINUTE }),
  }
}

/** Kinds of tasks that mainly read. They always get a write scope, if need be an empty one: without one they could write everything. */
const READING_KINDS: ReadonlySet<DraftTask['kind']> = new Set(['research', 'design', 'validate'])

/** With the open questions, which the person answers at the start of the plan (task `clarify`). */
const instructionOf = ({ instruction, title }: DraftTask, questions: readonly string[]): string =>
  [
    live(instruction ?? title),
    ...questions.flatMap((text, at) => [
      '',
      live(`Asked: ${oneLine(text, LINE_MAX)}`),
      quoteOf({ task: 'clarify', output: `answer${at + 1}` }),
    ]),
  ].join('\n')

function actionOf({ how, command = [] }: DraftTask): Action {
  if (how === 'command') return { type: 'run', command: { argv: command.map(live) } }
  return how === 'work' ? { type: 'external' } : { type: 'gate', gate: 'approval', show: ['diff'] }
}

/** Is it a command that the repository names for its tests, lint, types or build? These are safe to repeat. */
const isRepositoryCommand = (argv: readonly string[], { commands }: Ground): boolean =>
  [commands.test, commands.lint, commands.types, commands.build].some(
    found => found !== null && found.run.join('\0') === argv.join('\0'),
  )

/** A command is undone by a command, other work by a person. */
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

/** A check that passes already proves nothing about the work. It stays as a regression check, and says so. */
function marked(task: string, check: Check, today: readonly TodayResult[]): Check {
  const script = shellLine(check.command ?? [])
  const passes = today.some(one => one.task === task && one.script === script && one.result === 'passes')
  return passes ? { ...check, text: `${check.text} (passes today, too)` } : check
}

const criterion = ({ text, command = [] }: Check): Criterion =>
  command.length === 0
    ? { type: 'prose', text: oneLine(text, LINE_MAX) }
    : { type: 'check', command: { argv: command.map(live) }, text: oneLine(text, LINE_MAX) }

/** Inserts an approval right before irreversible tasks that have none. */
function gated(
  plan: PlanDefinition,
  ground: Ground,
): { readonly tasks: readonly TaskDefinition[]; readonly irreversible: DraftedPlan['irreversible'] } {
  const approvals = new Set(plan.tasks.filter(({ action }) => isApproval(action)).map(({ id }) => id))
  const taken = new Set<string>(plan.tasks.map(({ id }) => id))
  const irreversible: { task: string; why: string }[] = []
  const dangers = new Map<string, string[]>()
  const tasks = plan.tasks.flatMap((task): readonly TaskDefinition[] => {
    const danger = dangerIn(plan, task, ground)
    if (danger === null) return [task]
    irreversible.push({ task: task.id, why: danger.why })
    // The engine asks again because of this kind, even if the gate is removed.
    const known = danger.kind === null || task.action.type !== 'external' ? task : { ...task, kind: danger.kind }
    const agreed = (task.needs ?? []).filter(need => approvals.has(need))
    for (const name of agreed)
      dangers.set(name, [...(dangers.get(name) ?? []), `'${task.id}' comes next: ${danger.why}`])
    if (agreed.length > 0) return [known]
    const gate = freeName(`approve-${task.id}`, taken)
    return [
      {
        id: gate,
        title: live(oneLine(`May this be done: ${task.title ?? task.id}?`, TITLE_MAX)),
        rationale: `${task.id}: ${danger.why}. A person decides right before it.`,
        needs: task.needs,
        action: { type: 'gate', gate: 'approval', show: ['diff'] },
      },
      { ...known, needs: [gate] },
    ]
  })
  // The approval states what it is for.
  const shown = tasks.map(task => {
    const next = dangers.get(task.id)
    const { action } = task
    return next === undefined || action.type !== 'gate'
      ? task
      : { ...task, action: { ...action, show: [...(action.show ?? []), ...next.map(live)] } }
  })
  return { tasks: shown, irreversible }
}

const isApproval = (action: Action): boolean => action.type === 'gate' && action.gate === 'approval'
