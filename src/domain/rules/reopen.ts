// Work that had ended is taken up again: by hand, or because the plan was revised, or because a plan that failed goes on.

import type { CommandOf } from '../command.ts'
import { advise, quoted } from '../hint.ts'
import type { TaskName } from '../id.ts'
import { same } from '../json.ts'
import type { TaskDefinition } from '../plan.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { fieldsWhere } from '../plan-rules/task-fields.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { LostOutput } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { allTasks, transitiveDependants } from '../state/task-index.ts'
import { SATISFIES } from '../status.ts'
import { conclude, isHandled } from './conclude.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { blockHeld, refresh } from './readiness.ts'
import { reopen } from './routing.ts'
import { namedTasks, REPEAT, repeatsUnsafely } from './unsafe-repeat.ts'

/** What was undone when the plan failed is done again when its work is taken up. */
export function withCompensated(
  { state }: Pick<DecisionDraft, 'state'>,
  works: readonly TaskState[],
): readonly TaskState[] {
  // Whoever an outcome led to is led to again when that is so.
  const isGone = ({ result, routedBy }: TaskState) => (result?.wrote?.changes ?? null) !== null && routedBy.length === 0
  const wrote = state.setBack ? state.order.filter(isGone) : []
  const undone = [...new Set([...state.compensated.flatMap(name => state.tasks.get(name) ?? []), ...wrote])]
  // Cancelled when the plan was given up, they had done nothing wrong.
  const cancelled = state.order.filter(({ status }) => status === 'cancelled')
  const taken = [...undone.filter(({ status }) => status === 'completed'), ...cancelled]
  return [...works, ...taken.filter(task => !works.includes(task))]
}

/** When work is taken up again, the definition of done is judged again at the end, however far its judging had come. */
export function redoDone(draft: DecisionDraft): void {
  const done = draft.state.order.at(-1)
  if (done?.definition.action.type !== 'verify' || done.status === 'pending') return
  reopen(draft, [done], 'other tasks run again')
}

/** Only a plan that failed goes on by a revision; in any other it is a revision like all. */
export const goesOn = (state: PlanState, { goOn: wanted }: CommandOf<'revise'>): boolean =>
  wanted !== undefined && state.status === 'failed'

interface Onward {
  /** These begin a new visit, with all that come after them. */
  readonly roots: readonly TaskName[]
  /** These stay as they are although something before them runs again: they are unsafe to repeat. */
  readonly stays: ReadonlySet<TaskName>
}

/** Worked out before anything is written: what runs again when the plan goes on with this definition. */
export function planContinuation(state: PlanState, command: CommandOf<'revise'>): Onward {
  const { roots, unsafe } = runsAgain(state, command)
  const stays = new Set(command.goOn === 'keep' ? unsafe : [])
  return { roots: roots.filter(name => !stays.has(name)), stays }
}

/** What happened and may not happen twice is repeated, or stays done, only when somebody said which. */
export function refuseUnsafe(state: PlanState, command: CommandOf<'revise'>): Refusal | undefined {
  const { unsafe } = runsAgain(state, command)
  if (command.goOn !== 'refuse' || unsafe.length === 0) return undefined
  const isOne = unsafe.length === 1
  return refuse(
    'not-ready',
    `${namedTasks(unsafe)} ${isOne ? 'is' : 'are'} completed and would be done a second time, because ${isOne ? 'it' : 'they'} or what ${isOne ? 'it needs' : 'they need'} changed, failed or was undone; ${isOne ? 'its effect is' : 'their effects are'} unsafe to repeat`,
    advise`say which: ${quoted('unsafe-work', { choice: 'keep' })} keeps its result and continues after it, ${quoted('unsafe-work', { choice: 'repeat' })} runs it again`,
    ['keep-done', REPEAT],
  )
}

function runsAgain(
  state: PlanState,
  { definition }: CommandOf<'revise'>,
): { readonly roots: readonly TaskName[]; readonly unsafe: readonly TaskName[] } {
  const written = new Map(allTasks(definition).map(task => [task.id, task]))
  const broken = state.order.filter(task => BROKEN.has(task.status) && !isHandled(state, task))
  const undone = withCompensated({ state }, broken)
  const changed = state.order.filter(task => {
    const next = written.get(task.definition.id)
    return SATISFIES.has(task.status) && next !== undefined && isOtherWork(task.definition, next)
  })
  const roots = [...new Set([...undone, ...changed])]
    .map(task => task.definition.id)
    .filter(name => written.get(name) !== undefined && written.get(name)?.action.type !== 'verify')
  const unsafe = [...closureOf(written, roots)].filter(name => {
    const task = state.tasks.get(name)
    // Files that were taken back do not undo an effect; only a compensation does.
    if (task === undefined || !repeatsUnsafely(state, task)) return false
    // Whoever declares another class answers for it.
    return effectOf(definition, written.get(name)!) === 'unsafe'
  })
  return { roots, unsafe }
}

const BROKEN: ReadonlySet<string> = new Set(['failed', 'abandoned', 'cancelled'])

/** Would it do something else, or be judged by something else? Its words, limits and place in the plan are not its work. */
export function isOtherWork(was: TaskDefinition, next: TaskDefinition): boolean {
  // What a group or a list is made of is compared part by part.
  if (['group', 'verify', 'items'].includes(next.action.type)) return false
  // To whoever claims it, the description says what to do.
  if (next.action.type === 'external' && !same(was.description, next.description)) return true
  return WORK.some(key => !same(was[key], next[key]))
}

const WORK = fieldsWhere(({ work }) => work === true)

/** These and all that need them, as it is written. */
function closureOf(written: ReadonlyMap<TaskName, TaskDefinition>, roots: readonly TaskName[]): ReadonlySet<TaskName> {
  const dependants = new Map<TaskName, TaskName[]>()
  for (const { id, needs = [] } of written.values())
    for (const need of needs) {
      const known = dependants.get(need)
      if (known === undefined) dependants.set(need, [id])
      else known.push(id)
    }
  const reached = new Set(roots)
  // A set that grows while it is walked.
  for (const name of reached) for (const dependant of dependants.get(name) ?? []) reached.add(dependant)
  return reached
}

/** The plan is open again and has the definition it goes on with. */
export function goOn(draft: DecisionDraft, { roots, stays }: Onward): void {
  const { state } = draft
  const again = roots.flatMap(name => state.tasks.get(name) ?? [])
  reopen(draft, again, 'continuing after the failure', undefined, stays)
  refresh(draft, state.order)
  blockHeld(draft, state.order)
  redoDone(draft)
  conclude(draft)
}

/**
 * A plan is taken up, and files that completed tasks declared as outputs are not as they were left. It is told once. By policy, what
 * is missing is made again, unless the task, or one that runs again with it, would write over another file that somebody has changed,
 * or is unsafe to repeat. A task whose files are still to be set back keeps its visit, because only that visit knows how they were;
 * the making waits until it is over.
 */
export function checkOutputs(draft: DecisionDraft, lost: readonly LostOutput[]): void {
  const { state } = draft
  if (state.status !== 'active' || state.compensating !== null || state.rollback !== null) return
  const isOpen = ({ task, visit }: LostOutput) => {
    const known = state.tasks.get(task)
    return known?.status === 'completed' && known.visit === visit
  }
  const found = lost.filter(isOpen)
  if (!same(found, state.lostOutputs)) emit(draft, { type: 'outputs.checked', lost: found })
  if (state.definition.recovery?.outputs !== 'remake') return
  const [missing, changed] = (['missing', 'changed'] as const).map(
    how => new Set(found.flatMap(({ task, what }) => (what === how ? [task] : []))),
  )
  const again = [...missing!]
    .flatMap(name => state.tasks.get(name) ?? [])
    .filter(task => {
      const reopened = [task, ...transitiveDependants([task])]
      return !reopened.some(
        one => state.holding.has(one) || changed!.has(one.definition.id) || repeatsUnsafely(state, one),
      )
    })
  if (again.length === 0) return
  reopen(draft, again, 'an output file is missing')
  redoDone(draft)
}
