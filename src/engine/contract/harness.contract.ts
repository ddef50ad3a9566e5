// What the tests of every Engine stand on: a store in a folder of its own, doors for different people, a worker that drives.

import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { name } from '../../testing/index.ts'
import type { Engine, SubmitOptions, Worker } from '../engine.ts'
import type { Order, Submitted } from '../orders.ts'

export interface Harness {
  /** The Engine under test, through which this person acts. */
  door(actor: string): Engine
  /** The Engine in the process of the store: what every other must agree with. */
  readonly local: Engine
  readonly worker: Worker
  close(): Promise<void>
}

export type Setup = () => Promise<Harness>

export type Done = Extract<Submitted, { readonly ok: true }>

/** One person before one door. */
export class Person {
  readonly engine: Engine
  readonly actor: Actor

  constructor(harness: Harness, actor: string) {
    this.engine = harness.door(actor)
    this.actor = actor as Actor
  }

  submit(plan: string | null, order: Order, options?: SubmitOptions): Promise<Submitted> {
    return this.engine.submit(plan, order, options)
  }

  async does(plan: string | null, order: Order, options?: SubmitOptions): Promise<Done> {
    const submitted = await this.submit(plan, order, options)
    if (!submitted.ok) throw new Error(`${order.type} was refused: ${JSON.stringify(submitted.refusal)}`)
    return submitted
  }

  async isRefused(plan: string | null, order: Order, options?: SubmitOptions): Promise<Refusal> {
    const submitted = await this.submit(plan, order, options)
    if (submitted.ok) throw new Error(`${order.type} was not refused`)
    return submitted.refusal
  }

  async creates(definition: PlanDefinition): Promise<PlanId> {
    return (await this.does(null, { type: 'create', definition })).plan
  }

  async starts(definition: PlanDefinition): Promise<PlanId> {
    const plan = await this.creates(definition)
    await this.does(plan, { type: 'start' })
    return plan
  }

  /** Claims it and reports it done. */
  async carriesOut(plan: string, task: string): Promise<void> {
    const { claim } = await this.does(plan, { type: 'claim', task: name(task) })
    await this.does(plan, { type: 'report', task: name(task), token: claim!.token, result: { status: 'succeeded' } })
  }
}

export const names = (...all: readonly string[]): readonly TaskName[] => all.map(name)
