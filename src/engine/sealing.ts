// Seals a draft to which tasks were added one by one: a revision with the same definition gives it the hash that everything from
// then on is bound to.

import type { Actor, PlanId } from '../domain/id.ts'
import { isUnsealed } from '../domain/sealed.ts'
import type { PlanState } from '../domain/state.ts'
import { definitionHash } from '../format/hash.ts'
import type { Order, Submitted } from './engine.ts'
import type { Rooms } from './rooms.ts'
import { type Writing, write } from './submitting.ts'

const TRIES_MAX = 20

/** What is about the definition as a whole. */
export const SEALS: ReadonlySet<Order['type']> = new Set([
  'start',
  'finish',
  'skip',
  'fork',
  'checkpoint',
  'rollback',
  'undo',
  'propose',
  'judge',
  'assess',
  'append',
  'ask',
  'decide',
  'review',
])

/**
 * Seals first where it must, and again when tasks came in between. Who expects a version means the plan as it was before it was
 * sealed.
 */
export async function sealed(
  rooms: Rooms,
  plan: PlanId,
  writing: Writing,
  then: (writing: Writing) => Promise<Submitted>,
): Promise<Submitted> {
  const { actor, expectedVersion } = writing
  for (let tries = 1; ; tries++) {
    const state = await rooms.store.state(plan)
    let version = expectedVersion
    // Whoever expects another version is refused as ever.
    if (state !== null && isOpen(state) && (expectedVersion ?? state.version) === state.version) {
      const made = await seal(rooms, state, actor)
      if (!made.ok && (!isOvertaken(made) || expectedVersion !== undefined || tries >= TRIES_MAX)) return made
      if (!made.ok) continue
      if (expectedVersion !== undefined) version = made.version
    }
    const done = await then(version === undefined ? writing : { ...writing, expectedVersion: version })
    if (!isOvertaken(done) || expectedVersion !== undefined || tries >= TRIES_MAX) return done
    const after = await rooms.store.state(plan)
    if (after === null || !isOpen(after)) return done
  }
}

const isOpen = (state: PlanState): boolean => isUnsealed(state) && state.status === 'draft' && !state.archived

async function seal(rooms: Rooms, state: PlanState, actor: Actor): Promise<Submitted> {
  const { id, version } = state
  // The list of a draft that is not sealed goes on growing.
  const definition = { ...state.definition, tasks: [...state.definition.tasks] }
  const rationale = `sealed with ${definition.tasks.length} tasks`
  const command = { type: 'revise', definition, hash: definitionHash(definition), rationale } as const
  return await write(rooms, id, command, { actor, expectedVersion: version })
}

const isOvertaken = (answer: Submitted): boolean => !answer.ok && answer.refusal.code === 'conflict'
