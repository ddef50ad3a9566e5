// Reopens work that had ended: by hand, by a revision, or because a failed plan continues.

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

/** Adds what must run again too: completed tasks whose effect was compensated or whose files were reverted, and cancelled tasks. */
export function withCompensated(
  { state }: Pick<DecisionDraft, 'state'>,
  works: readonly TaskState[],
): readonly TaskState[] {
  // Not a task that an outcome activated: that outcome activates it again, or does not.
  const isGone = ({ result, routedBy }: TaskState) => (result?.wrote?.changes ?? null) !== null && routedBy.length === 0
  const wrote = state.setBack ? state.order.filter(isGone) : []
  const undone = [...new Set([...state.compensated.flatMap(name => state.tasks.get(name) ?? []), ...wrote])]
  // They did not fail: they were cancelled when the plan was aborted.
  const cancelled = state.order.filter(({ status }) => status === 'cancelled')
  const taken = [...undone.filter(({ status }) => status === 'completed'), ...cancelled]
  return [...works, ...taken.filter(task => !works.includes(task))]
}

/** Reopened work resets the definition of done. */
export function redoDone(draft: DecisionDraft): void {
  const done = draft.state.order.at(-1)
  if (done?.definition.action.type !== 'verify' || done.status === 'pending') return
  reopen(draft, [done], 'other tasks run again')
}

export const goesOn = (state: PlanState, { goOn: wanted }: CommandOf<'revise'>): boolean =>
  wanted !== undefined && state.status === 'failed'

interface Onward {
  /** These begin a new visit, with all that depend on them. */
  readonly roots: readonly TaskName[]
  /** These stay although a dependency runs again, because they are unsafe to repeat. */
  readonly stays: ReadonlySet<TaskName>
}

/** What runs again when the plan continues with this definition. */
export function planContinuation(state: PlanState, command: CommandOf<'revise'>): Onward {
  const { roots, unsafe } = runsAgain(state, command)
  const stays = new Set(command.goOn === 'keep' ? unsafe : [])
  return { roots: roots.filter(name => !stays.has(name)), stays }
}

/** Effects that are unsafe to repeat are repeated or kept only by an explicit choice. */
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
    // Reverted files do not undo an effect; only a compensation does.
    if (task === undefined || !repeatsUnsafely(state, task)) return false
    // Declaring another effect class is an explicit choice.
    return effectOf(definition, written.get(name)!) === 'unsafe'
  })
  return { roots, unsafe }
}

const BROKEN: ReadonlySet<string> = new Set(['failed', 'abandoned', 'cancelled'])

/** Does the revision change its work or its criteria? Wording, limits and position do not count. */
export function isOtherWork(was: TaskDefinition, next: TaskDefinition): boolean {
  // The parts of a group or a list are compared separately.
  if (['group', 'verify', 'items'].includes(next.action.type)) return false
  // For an external task the description is the work.
  if (next.action.type === 'external' && !same(was.description, next.description)) return true
  return WORK.some(key => !same(was[key], next[key]))
}

const WORK = fieldsWhere(({ work }) => work === true)

/** These tasks and their transitive dependants, as written. */
function closureOf(written: ReadonlyMap<TaskName, TaskDefinition>, roots: readonly TaskName[]): ReadonlySet<TaskName> {
  const dependants = new Map<TaskName, TaskName[]>()
  for (const { id, needs = [] } of written.values())
    for (const need of needs) {
      const known = dependants.get(need)
      if (known === undefined) dependants.set(need, [id])
      else known.push(id)
    }
  const reached = new Set(roots)
  // The set grows while it is iterated.
  for (const name of reached) for (const dependant of dependants.get(name) ?? []) reached.add(dependant)
  return reached
}

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
 * A plan has a new owner, and declared outputs of completed tasks are missing or changed. Recorded once. By policy a task with a missing
 * output runs again with its dependants, unless one of them has a changed output, which it would overwrite, or is unsafe to repeat, or has
 * files still to be restored: only the visit it is in knows their earlier state, so the check waits for a later recovery.
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
