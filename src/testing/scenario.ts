// A rule as a sentence: given what happened, when this is asked, then that is true.
//
//   given(create(plan('p', task('a'))), START).when({ type: 'turn' }).then({ type: 'attempt.started', … })
//
// What is given may be commands, which must not be refused, or events, which are believed. A refusal must leave no trace.

import { deepStrictEqual, strictEqual } from 'node:assert'
import type { Command } from '../domain/command.ts'
import type { Event } from '../domain/event.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import { packFold } from '../domain/state/fold.ts'
import { numberedPlanId, numberedSha } from './ids.ts'
import { Journal } from './journal.ts'

export interface Given {
  /** Lets time pass before the command. */
  after(ms: number): Given
  when(command: Command): When
}

export interface When {
  then(...events: readonly Event[]): void
  /** Refused with this code, and nothing has changed. Returns the refusal. */
  thenRefused(code: RefusalCode): Refusal
  readonly journal: Journal
}

export function given(...steps: readonly (Command | Event)[]): Given {
  const journal = new Journal()
  for (const step of steps) {
    if (isEvent(step)) journal.believe([step])
    else journal.must(step)
  }
  const scenario: Given = {
    after(ms) {
      journal.clock.advance(ms)
      return scenario
    },
    when(command) {
      const before = look(journal)
      const decided = journal.submit(command)
      return {
        journal,
        // biome-ignore lint/suspicious/noThenProperty: given, when, then; nobody awaits a scenario.
        then: (...events) => deepStrictEqual(journaled(decided), journaled({ ok: true, events })),
        thenRefused(code) {
          if (decided.ok) throw new Error(`'${command.type}' was not refused: ${JSON.stringify(decided.events)}`)
          strictEqual(decided.refusal.code, code)
          deepStrictEqual(look(journal), before)
          return decided.refusal
        },
      }
    },
  }
  return scenario
}

/** The command that creates this plan, with id and hash number 1. */
export const create = (definition: PlanDefinition): Command => ({
  type: 'create',
  plan: numberedPlanId(1),
  definition,
  hash: numberedSha(1),
})

/** As the journal keeps it: a key that is undefined is absent. */
const journaled = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const isEvent = (step: Command | Event): step is Event => step.type.includes('.')

const look = ({ state }: Journal): unknown => (state.revision === 0 ? null : structuredClone(packFold(state)))
