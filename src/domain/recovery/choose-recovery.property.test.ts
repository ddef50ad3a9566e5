// Random plans in a world that fails at random, with people who answer at random: each comes to an end within its caps, and says
// what stopped it and what to do next.

import { expect, it } from 'vitest'
import { Luck, noTo, troubledCommand, troubledPlan } from '../../../sim/random-recovery.ts'
import { ClockFake, Journal } from '../../testing/index.ts'
import type { EventOf } from '../event.ts'
import type { TaskName } from '../id.ts'
import { VISITS_DEFAULT } from '../limits.ts'
import { nextActions } from '../next-actions.ts'
import { remediesOf } from '../plan-rules/expand.ts'
import { NEEDS_OPEN } from '../rules/routing.ts'
import { checkState } from '../state/state.fixture.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { groupOf } from '../state/task-index.ts'
import { BLOCKS, SATISFIES } from '../status.ts'
import { whatStopped } from '../views/summary.ts'
import { attemptsMax, loopsMax } from './breaker.ts'
import { retryOf } from './retry.ts'

/** More of them on request: `PLANFOLD_TROUBLES=200000`, from another seed on: `PLANFOLD_SEED=7`. One: `PLANFOLD_TROUBLE=17`. */
const COUNT = Number(process.env.PLANFOLD_TROUBLES ?? 400)
const FIRST = Number(process.env.PLANFOLD_SEED ?? 1)
const ONLY = process.env.PLANFOLD_TROUBLE
const STEPS_MAX = 3_000

/** Every sentence says what is done; a long one is cut off. */
const SAID: { readonly [choice in EventOf<'recovery.chosen'>['choice']]: RegExp } = {
  retry: /^retrying in [\d.]+ s \(.*attempt \d+ of \d+\)/,
  alternate: /'\S+' runs instead \(recovery rule \d+.*\)$|…$/,
  repair: /'\S+' runs to repair it \(recovery rule \d+.*\)$|…$/,
  replan: /needs a changed plan \(recovery rule \d+.*\)$|…$/,
  ask: /needs a decision.* \(recovery rule \d+.*\)$|^needs approval again: .|…$/,
  abort: /the plan is aborted \(recovery rule \d+.*\)$|…$/,
  route: /continues with '\S+'.* \((outcome|failure mode) '\S+'\)$/,
  block: /^not retried: ./,
}

it(
  `${COUNT} troubled plans end within their caps, never completed with a required task that failed, and say what to do next`,
  () => {
    const ends: Record<string, number> = {}
    const choices: Record<string, number> = {}
    const seeds = ONLY === undefined ? Array.from({ length: COUNT }, (_, at) => FIRST + at) : [Number(ONLY)]
    for (const seed of seeds) {
      try {
        const journal = live(seed)
        checkLife(journal)
        ends[journal.state.status] = (ends[journal.state.status] ?? 0) + 1
        for (const { events } of journal.entries)
          for (const event of events)
            if (event.type === 'recovery.chosen') choices[event.choice] = (choices[event.choice] ?? 0) + 1
      } catch (error) {
        throw new Error(`PLANFOLD_TROUBLE=${seed}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        })
      }
    }
    if (ONLY !== undefined) return
    // The drawing is worth something only while all of it happens.
    for (const choice of ['retry', 'alternate', 'repair', 'replan', 'ask', 'abort', 'route', 'block'])
      expect({ choice, seen: (choices[choice] ?? 0) > 10 }).toEqual({ choice, seen: true })
    expect(ends.completed).toBeGreaterThan(COUNT / 20)
    expect(ends.failed).toBeGreaterThan(COUNT / 20)
  },
  600_000 + COUNT * 30,
)

function live(seed: number): Journal {
  const luck = new Luck(seed)
  const journal = new Journal(new ClockFake()).create(troubledPlan(luck))
  for (let steps = 0; ; steps++) {
    const { state, clock } = journal
    const command = troubledCommand(state, luck, clock.now())
    if (command === null) return journal
    if (steps > STEPS_MAX) throw new Error(`no end in sight: ${JSON.stringify(journal.statuses())}`)
    const decided = journal.submit(command)
    // Only a no is always an answer; sent round once too often, or with an edge that is used up, it must be that.
    if (!decided.ok && command.type === 'decide') journal.must(noTo(command.task))
    if (seed % 10 === 0) checkState(state)
    if (state.status !== 'completed') checkStanding(journal)
    const { wakeAt, turn, rest } = nextActions(state, clock.now())
    const isIdle = decided.ok && decided.events.length === 0 && !turn && rest === null
    clock.advance(isIdle && wakeAt !== null ? Math.max(1, wakeAt - clock.now()) : luck.next(500))
  }
}

/** At every moment a plan that is not done says what it waits for, or what stopped it, and what a person can do. */
function checkStanding({ state, clock }: Journal): void {
  const stopped = whatStopped(state, clock.now())
  const isMoving = state.status === 'active' && nextActions(state, clock.now()).rest === null
  if (isMoving) return
  expect(stopped).not.toBeNull()
  expect(stopped!.why).not.toBe('')
  expect(stopped!.next.length).toBeGreaterThan(0)
}

function checkLife({ state, entries }: Journal): void {
  checkEnd(state)
  const { definition } = state
  let attempts = 0
  let loops = 0
  const skipped = new Map<TaskName, number>()
  const visits = new Map<TaskName, number>()
  const uses = new Map<string, Set<number>>()
  const failures = new Map<string, number>()
  const visitsMax = Math.max(VISITS_DEFAULT, ...state.order.map(one => one.definition.visits ?? 0))
  for (const { command, events } of entries) {
    const byItself = command.type === 'turn' || command.type === 'report'
    for (const event of events) {
      if (event.type === 'attempt.started') {
        attempts++
        expect(attempts).toBeLessThanOrEqual(attemptsMax(definition))
      }
      if (event.type === 'attempt.failed') {
        const key = `${event.task}/${event.visit}`
        failures.set(key, (failures.get(key) ?? 0) + 1)
        expect({ key, failures: failures.get(key)! <= attemptsIn(state, event.task) }).toEqual({ key, failures: true })
      }
      if (event.type === 'task.skipped' || (event.type === 'gate.decided' && event.verdict === 'skipped'))
        skipped.set(event.task, (skipped.get(event.task) ?? 0) + 1)
      if (event.type === 'task.reopened') {
        if (byItself && event.reason !== NEEDS_OPEN) expect(loops).toBeLessThan(loopsMax(definition))
        loops++
        for (const task of event.tasks) visits.set(task, (visits.get(task) ?? 1) + 1)
        const root = event.tasks[0]!
        if (byItself && event.reason !== NEEDS_OPEN)
          expect({ root, over: visits.get(root)! - (skipped.get(root) ?? 0) > visitsMax }).toEqual({
            root,
            over: false,
          })
      }
      if (event.type !== 'recovery.chosen') continue
      expect(event.reason).toMatch(SAID[event.choice])
      if (event.rule === undefined) continue
      const key = `${event.task} rule ${event.rule}`
      const seen = uses.get(key) ?? new Set()
      // Several attempts of one visit by one rule are one use; anything else is used once in a visit.
      if (event.choice !== 'retry') expect({ key, again: seen.has(event.visit) }).toEqual({ key, again: false })
      uses.set(key, seen.add(event.visit))
      const { times = 1 } = state.tasks.get(event.task)!.definition.recover![event.rule]!
      expect({ key, over: seen.size > times }).toEqual({ key, over: false })
    }
  }
}

function attemptsIn(state: PlanState, name: TaskName): number {
  const { definition } = state.tasks.get(name)!
  const byRules = (definition.recover ?? []).map(({ do: way }) => (way.type === 'retry' ? way.retry.attempts : 0))
  // By hand, and after each answer to an unknown outcome, one more.
  return Math.max(retryOf(state.definition, definition).attempts, ...byRules)
}

function checkEnd(state: PlanState): void {
  if (state.status !== 'completed') return
  for (const task of state.order) {
    const { id, optional } = task.definition
    const good = SATISFIES.has(task.status) || optional === true || isTakenUp(state, task)
    expect({ id, status: task.status, good }).toEqual({ id, status: task.status, good: true })
  }
}

/** Handled by an edge, done in another way, or there only for somebody who needed no help in the end. */
function isTakenUp(state: PlanState, task: TaskState): boolean {
  if (!BLOCKS.has(task.status)) return false
  for (let at: TaskState | null = task; at !== null; at = groupOf(state, at)) {
    if (at.handled || (at !== task && SATISFIES.has(at.status))) return true
    const helped = at.routedBy.map(name => state.tasks.get(name)!)
    const isSpare = ({ definition, status, handled }: TaskState) =>
      remediesOf(definition).includes(at!.definition.id) &&
      (SATISFIES.has(status) || definition.optional === true || handled)
    if (helped.length > 0 && helped.every(isSpare)) return true
  }
  return false
}
