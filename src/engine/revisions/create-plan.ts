// Creates and starts plans: under which policy, with which tracking of files, and with a stamp of the workspace.

import { hasBudget, hasLayerBudget } from '../../domain/budget/ledger.ts'
import type { CommandOf } from '../../domain/command.ts'
import type { PlanContext } from '../../domain/event.ts'
import { type PlanId, type PlanName, planId, type TaskName } from '../../domain/id.ts'
import { defined, same } from '../../domain/json.ts'
import { NAME_TRIES_MAX } from '../../domain/limits.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { isOwn, othersIn } from '../../domain/plan-rules/authors.ts'
import { layersBesides, type PolicyAgain } from '../../domain/policy/policy-layer.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { RULES } from '../../domain/rules-version.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { redactor, secretsIn } from '../../safety/secrets/redaction.ts'
import { sandboxAtStart } from '../attempts/attempt-sandbox.ts'
import { placeFor } from '../git/plan-worktree.ts'
import { lazy } from '../lazy-imports.ts'
import type { Order, Submitted } from '../orders.ts'
import type { Rooms } from '../rooms.ts'
import { submitted, type Writing, writerOf } from '../write-order.ts'
import { memoryNow } from './read-memory.ts'

// Larger plans yield to the event loop before they are written.

const YIELD_TASKS = 1_000

export async function create(
  rooms: Rooms,
  order: Extract<Order, { readonly type: 'create' }>,
  writing: Writing,
): Promise<Submitted> {
  const { store, clock, random } = rooms
  const { actor, once } = writing
  const isOutside = writing.isPerson !== true || (order.source !== undefined && order.source.dialect !== 'planfold')
  const writer = isOutside ? undefined : writerOf(writing, { written: order.written, whole: true })
  // A copied plan has the same authors as its origin, task by task.
  const copied = order.origin !== undefined && order.source === undefined ? await store.state(order.origin) : null
  const context = order.context === undefined ? undefined : await contextOf(rooms, order.context)
  for (const bytes of order.contents ?? []) await store.blobs.put(bytes)
  for (let tries = 1; tries <= NAME_TRIES_MAX; tries++) {
    const name = tries === 1 ? order.definition.name : (`${order.definition.name}-${tries}` as PlanName)
    const definition: PlanDefinition = { ...order.definition, name }
    const { origin, session, conversation, goal, agent, source, imported } = order
    const hash = definitionHash(definition)
    // Hashing and writing a large definition blocks; other requests are answered in between.
    if (definition.tasks.length > YIELD_TASKS) await new Promise<void>(resolve => setImmediate(resolve))
    const updated = await store.create(
      {
        type: 'create',
        plan: planId(clock.now(), random(10)),
        definition,
        hash,
        origin,
        session,
        goal,
        agent,
        source,
        ...(isOutside ? { outside: true as const } : {}),
        writer,
        ...(copied === null || writer === undefined ? {} : { others: othersIn(copied) }),
        imported,
        context,
        ...(await placeFor(rooms, definition, order.folder)),
      },
      actor,
      { once, conversation },
    )
    if (definition.tasks.length > YIELD_TASKS) await new Promise<void>(resolve => setImmediate(resolve))
    if (updated.ok || updated.refusal.code !== 'exists' || order.taken !== 'number') return submitted(updated)
  }
  return {
    ok: false,
    refusal: refuse(
      'limit',
      `no free name was found for '${order.definition.name}'`,
      'choose another name, or prune old plans',
    ),
  }
}

const ITEMS_MAX = 100
const ITEM_MAX = 1_000
const CONVERSATION_MAX = 20_000

/** With the commit, without secrets, and cut to what a journal can bear. */
async function contextOf({ git, environment }: Rooms, context: PlanContext): Promise<PlanContext | undefined> {
  const { files, constraints, conversation } = context
  const standing = await git?.standing()
  const redact = redactor(secretsIn(environment), { parts: true })
  const short = (max: number) => (text: string) => redact(text).replace(new RegExp(`^([^]{${max}})[^]+`), '$1…')
  const kept = defined({
    commit: (standing?.ok === true ? standing.value?.head : null) ?? undefined,
    files: files?.slice(0, ITEMS_MAX).map(short(ITEM_MAX)),
    constraints: constraints?.slice(0, ITEMS_MAX).map(short(ITEM_MAX)),
    conversation: conversation === undefined ? undefined : short(CONVERSATION_MAX)(conversation),
  })
  return Object.keys(kept).length === 0 ? undefined : (kept as PlanContext)
}

export type Starting =
  | { readonly ok: true; readonly start: Omit<CommandOf<'start'>, 'type'> }
  /** The surrounding policy is unknown, or cannot be enforced here. */
  | { readonly ok: false; readonly refusal: Refusal }

export async function startOf(rooms: Rooms, plan: PlanId, { actor, person = actor }: Writing): Promise<Starting> {
  const files = rooms.snapshots === undefined ? {} : { files: 'seen' as const }
  const read = (await rooms.policy?.()) ?? { ok: true, value: [] }
  if (!read.ok) return { ok: false, refusal: refuse('not-allowed', read.failure.message, read.failure.hint) }
  const layers = read.value
  const walled = rooms.sandbox === undefined ? null : await sandboxAtStart(rooms, plan, layers)
  if (walled !== null && 'refusal' in walled) return { ok: false, refusal: walled.refusal }
  const sandbox = walled ?? {}
  const state = await rooms.store.state(plan)
  const budget =
    hasLayerBudget(layers) || (state !== null && hasBudget(state.definition)) ? { budget: 'kept' as const } : {}
  const stamp = await (await lazy.drift()).stampOf(rooms, plan)
  const policy = layers.length === 0 ? {} : { policy: layers }
  const memory = await memoryNow(rooms, state, state?.definition, person)
  return { ok: true, start: { rules: RULES, ...files, ...sandbox, ...budget, ...policy, ...memory, ...stamp } }
}

type PolicyNow = { readonly ok: true; readonly policy: PolicyAgain } | { readonly ok: false; readonly refusal: Refusal }

/** Resuming a paused or ended plan applies the current policy, and memory is read again. Empty if they are unchanged. */
export async function policyAnew(
  rooms: Rooms,
  state: PlanState | null,
  writing: Writing,
  definition = state?.definition,
): Promise<PolicyNow> {
  if (state?.status !== 'active') return await policyOnResume(rooms, state, writing, definition)
  return { ok: true, policy: await memoryNow(rooms, state, definition, writing.person ?? writing.actor) }
}

/** The same; but an active or waiting plan keeps its layers, and adds those that have changed. */
export async function policyOnResume(
  rooms: Rooms,
  state: PlanState | null,
  { actor, person = actor }: Writing,
  definition = state?.definition,
): Promise<PolicyNow> {
  if (state === null || state.status === 'draft') return { ok: true, policy: {} }
  const now = await policyNow(rooms, state)
  return now.ok ? { ...now, policy: { ...now.policy, ...(await memoryNow(rooms, state, definition, person)) } } : now
}

async function policyNow(rooms: Rooms, state: PlanState): Promise<PolicyNow> {
  if (rooms.policy === undefined) return { ok: true, policy: {} }
  const read = await rooms.policy()
  if (!read.ok) return { ok: false, refusal: refuse('not-allowed', read.failure.message, read.failure.hint) }
  const isKept = state.status === 'active'
  const fresh = layersBesides(read.value, state.layers)
  const gone = isKept ? [] : layersBesides(state.layers, read.value)
  if (isKept ? fresh.length === 0 : same(read.value, state.layers)) return { ok: true, policy: {} }
  const changed = [...new Set([...fresh, ...gone].flatMap(({ file }) => file ?? []))]
  const policy = isKept ? [...fresh, ...state.layers] : read.value
  return { ok: true, policy: { policy, ...(changed.length === 0 ? {} : { changed }) } }
}

/** Tasks that are not in the person's file and that they did not write before. */
export function keptOthers(
  state: PlanState,
  { tasks }: PlanDefinition,
  file: readonly TaskName[],
): { readonly others?: readonly TaskName[] } {
  const others = tasks.map(({ id }) => id).filter(id => !file.includes(id) && !isOwn(state, id))
  return others.length === 0 ? {} : { others }
}

/** A person who starts a draft approves what a planner without a model wrote; of anything else only what was shown to them. */
export async function approvedBy(
  { store }: Rooms,
  plan: PlanId,
  { shown, unseen }: Extract<Order, { readonly type: 'start' }>,
  { isPerson }: Writing,
): Promise<Pick<CommandOf<'start'>, 'approves'>> {
  const authors = (await store.state(plan))?.authors
  if (isPerson !== true || unseen === true || authors === undefined) return {}
  if (shown !== undefined) return shown.length === 0 ? {} : { approves: shown }
  return [authors.most, ...Object.values(authors.tasks)].includes('draft') ? { approves: 'draft' } : {}
}
