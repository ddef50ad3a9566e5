// A plan's journal in memory, and the world around it in single steps: enough to drive a plan by hand in a test.

import type { Command, CommandOf, Interrupted, Turn } from '../domain/command.ts'
import { type Decision, decide } from '../domain/decide.ts'
import type { Event, GateQuestion } from '../domain/event.ts'
import { asksOf } from '../domain/gates/open-gate.ts'
import type { Millis } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Failed, Failure, Prepared, Result, Succeeded } from '../domain/result.ts'
import { RULES } from '../domain/rules-version.ts'
import { evolve, taskOf } from '../domain/state/evolve.ts'
import { newState } from '../domain/state/fold.ts'
import type { PlanState } from '../domain/state/state.ts'
import type { TaskStatus } from '../domain/status.ts'
import { ClockFake } from './clock.ts'
import { numberedPlanId, numberedSha } from './ids.ts'
import { name } from './plan.ts'

export interface JournalEntry {
  readonly version: number
  readonly actor: string
  readonly now: Millis
  readonly command: Command
  readonly events: readonly Event[]
}

export class Journal {
  readonly clock: ClockFake
  readonly entries: JournalEntry[] = []
  readonly state: PlanState = newState()

  constructor(clock: ClockFake = new ClockFake()) {
    this.clock = clock
  }

  submit(command: Command, actor = 'test'): Decision {
    const now = this.clock.now()
    const decided = decide(this.state, command, now)
    if (decided.ok && decided.events.length > 0) {
      this.state.version = this.entries.length + 1
      this.entries.push({ version: this.state.version, actor, now, command, events: decided.events })
    }
    return decided
  }

  must(command: Command): readonly Event[] {
    const decided = this.submit(command)
    if (!decided.ok) throw new Error(`'${command.type}' was refused: ${decided.refusal.message}`)
    return decided.events
  }

  believe(events: readonly Event[]): void {
    for (const event of events) evolve(this.state, event, this.clock.now())
  }

  create(definition: PlanDefinition, more: Pick<CommandOf<'create'>, 'writer'> = {}): this {
    this.must({ type: 'create', plan: numberedPlanId(1), definition, hash: numberedSha(1), ...more })
    return this
  }

  turn(turn: Omit<Turn, 'type'> = {}): readonly Event[] {
    return this.must({ type: 'turn', ...turn })
  }

  /** Ends the attempt of a task that is open now, in a turn of its own. */
  settle(task: string, result: Result | Interrupted): readonly Event[] {
    const { visit, attempt } = taskOf(this.state, name(task))
    return this.turn({ settled: [{ task: name(task), visit, attempt, result }] })
  }

  succeed(task: string, result: Omit<Succeeded, 'status'> = {}): readonly Event[] {
    return this.settle(task, succeeded(result))
  }

  fail(task: string, failure: Partial<Failure> = {}): readonly Event[] {
    return this.settle(task, failed(failure))
  }

  prepare(task: string, prepared: Prepared): readonly Event[] {
    const { visit } = taskOf(this.state, name(task))
    return this.turn({ prepared: [{ task: name(task), visit, prepared }] })
  }

  ask(task: string, found: Partial<GateQuestion> = {}, prepared: Prepared = {}): readonly Event[] {
    const { visit, definition } = taskOf(this.state, name(task))
    if (definition.action.type !== 'gate') throw new Error(`'${task}' is no gate`)
    const question = { asks: asksOf(definition.action), hash: numberedSha(7), ...found }
    return this.turn({
      prepared: [{ task: name(task), visit, prepared }],
      gates: [{ task: name(task), visit, from: this.state.hash, question }],
    })
  }

  status(task: string): TaskStatus {
    return taskOf(this.state, name(task)).status
  }

  statuses(): Readonly<Record<string, TaskStatus>> {
    return Object.fromEntries(this.state.order.map(task => [task.definition.id, task.status]))
  }
}

export const START = { type: 'start', rules: RULES } as const

/** A plan that has been created and started, with the turn taken that starts what can start. */
export function started(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must(START)
  journal.turn()
  return journal
}

export const succeeded = (result: Omit<Succeeded, 'status'> = {}): Succeeded => ({ status: 'succeeded', ...result })

export function failed(failure: Partial<Failure> = {}): Failed {
  return { status: 'failed', failure: { class: 'logic', message: 'it said no', retryable: false, ...failure } }
}

export const interrupted = (reason = 'stopped by us'): Interrupted => ({ status: 'interrupted', reason })
