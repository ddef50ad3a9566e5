// Memory for a caller. What a person says is trusted. What an agent says is kept untrusted in its plan; beyond the plan it becomes a question
// to a person, and nothing is written before they say yes.

import { advise, quoted } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import { defined, type Json, jsonBytes, same } from '../../domain/json.ts'
import {
  MEMORY_KEY_MAX,
  MEMORY_SCOPES,
  MEMORY_VALUE_MAX_BYTES,
  type MemoryItem,
  type MemoryScope,
  memoryKey,
} from '../../domain/memory/memory-items.ts'
import type { Field } from '../../domain/plan.ts'
import { confidentialMask, isConfidential, maskJson } from '../../domain/plan-rules/confidential.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { redactJson, redactor, secretsIn } from '../../safety/secrets/redaction.ts'
import type { MemoryPlace } from '../../stores/store.ts'
import type { EngineInProcess } from '../engine.ts'
import { refuseProgram } from '../gates/machine-answer.ts'
import { type Memory, type MemoryRoom, type NewMemory, personOf, projectOf } from '../memory.ts'
import type { Orders, Submitted } from '../orders.ts'
import { deny, denyWithout, requireRight } from '../roles.ts'
import type { Rooms } from '../rooms.ts'
import { noPlanRefusal } from '../write-order.ts'

type Own = Pick<EngineInProcess, 'ask' | 'caller' | 'submit'>

export function ownMemory(rooms: Rooms, engine: Own): Memory {
  const { caller } = engine
  const room = rooms.memory
  if (room === undefined) throw new Error('bug: these rooms were opened without memory')
  const person = personOf(caller)
  const placeOf = (scope: MemoryScope, plan: PlanId | null): MemoryPlace =>
    scope === 'user' ? { scope, owner: person } : scope === 'plan' ? { scope, owner: plan ?? '' } : projectOf(rooms)
  // A plan of others appears not to exist.
  const find = async (plan: string | undefined) =>
    plan === undefined ? null : ((await engine.ask({ type: 'find', reference: plan })) ?? 'none')

  return {
    async remember(given) {
      const refusal = denyWithout(caller, 'operate') ?? refuseItem(given)
      if (refusal !== null) return { ok: false, refusal }
      const found = await find(given.plan)
      if (found === 'none') return { ok: false, refusal: noPlanRefusal(given.plan!) }
      const scope = given.scope ?? (found === null ? 'project' : 'plan')
      if (found === null && scope === 'plan') return { ok: false, refusal: UNNAMED }
      const state = found === null ? null : await rooms.store.state(found.plan)
      const kept = refuseConfidential(state, given, caller.actor)
      if (kept !== null) return { ok: false, refusal: kept }
      const redact = redactor(secretsIn(rooms.environment), { parts: true })
      const isTrusted =
        caller.rights.has('decide') && caller.scope === null && refuseProgram(rooms.environment, caller, '') === null
      const { task, artifact, expiresInMs } = given
      const item: Omit<MemoryItem, 'at'> = {
        scope,
        key: memoryKey(redact(given.key))!,
        value: redactJson(given.value, redact),
        source: { by: caller.actor, ...defined({ plan: found?.name, task, artifact }) },
        trust: isTrusted ? 'trusted' : 'untrusted',
        expiresAt: expiresInMs === undefined ? null : rooms.clock.now() + expiresInMs,
      }
      const { owner } = placeOf(scope, found?.plan ?? null)
      if (scope !== 'plan' && !isTrusted)
        return found === null || state?.status === 'draft'
          ? { ok: false, refusal: found === null ? UNNAMED : DRAFT }
          : await propose(engine, found, owner, item, given.submit)
      const refused = await room.put(owner, item)
      return refused === null ? { ok: true, status: 'kept', item } : { ok: false, refusal: refused }
    },

    async recall({ keys, plan, scope, ...query }) {
      requireRight(caller, 'read')
      const found = await find(plan)
      if (found === 'none') return { refusal: noPlanRefusal(plan!) }
      const places = MEMORY_SCOPES.filter(
        one => (scope ?? one) === one && (one === 'plan' ? found !== null : caller.scope === null),
      ).map(one => placeOf(one, found?.plan ?? null))
      if (keys === undefined) return await room.search(places, query)
      const wanted = [...new Set(keys.flatMap(key => memoryKey(key) ?? []))]
      return { items: await room.get(places, wanted), by: 'words', next: null }
    },

    async forget({ key, plan, scope: asked }) {
      const found = await find(plan)
      if (found === 'none') return { ok: false, refusal: noPlanRefusal(plan!) }
      const scope = asked ?? (found === null ? 'project' : 'plan')
      if (scope === 'plan' && found === null) return { ok: false, refusal: UNNAMED }
      const place = placeOf(scope, found?.plan ?? null)
      const name = memoryKey(key) ?? key
      const [item] = await room.get([place], [name])
      const needs = scope === 'plan' && item?.trust !== 'trusted' ? 'operate' : 'decide'
      const isBeyond = scope !== 'plan' && caller.scope !== null
      const refusal =
        denyWithout(caller, needs) ??
        (isBeyond ? deny(caller, 'all plans') : null) ??
        (needs === 'decide' ? refuseProgram(rooms.environment, caller, 'forget this') : null)
      if (refusal !== null) return { ok: false, refusal }
      return { ok: true, removed: await room.forget(place, name) }
    },
  }
}

const UNNAMED = refuse(
  'invalid',
  'a plan must be named: it is whose memory this is, or whose inbox asks a person',
  advise`name one, see ${quoted('list')}`,
)

const DRAFT = refuse('not-ready', 'the plan is a draft, in whose inbox nobody is asked', 'start it first')

function refuseItem({ key, value, expiresInMs }: NewMemory): Refusal | null {
  if (memoryKey(key) === null)
    return refuse(
      'invalid',
      `this is no key: it is empty, has invisible characters, or more than ${MEMORY_KEY_MAX} characters`,
      'write a short name, like http3.key_claims',
    )
  const bytes = jsonBytes(value)
  if (bytes > MEMORY_VALUE_MAX_BYTES)
    return refuse(
      'limit',
      `the value of '${memoryKey(key)}' has ${Number.isFinite(bytes) ? `${bytes} bytes as JSON` : 'too many levels'}, and ${MEMORY_VALUE_MAX_BYTES} bytes can be remembered`,
      'keep it as an output or a file, and remember where it is',
    )
  if (expiresInMs !== undefined && !(expiresInMs > 0)) return refuse('invalid', 'it would have expired already')
  return null
}

/** What is labelled confidential stays in its plan. */
function refuseConfidential(state: PlanState | null, { value, task: named }: NewMemory, actor: Actor): Refusal | null {
  if (state === null) return null
  const own = [...state.running].filter(({ claim }) => claim?.by === actor)
  const task = named === undefined ? undefined : state.tasks.get(named)
  if (named !== undefined && task === undefined) return refuse('not-found', `the plan has no task '${named}'`)
  const isKept =
    isConfidential(state.definition, {}) ||
    [...own, ...(task === undefined ? [] : [task])].some(one => isConfidential(state.definition, one.definition)) ||
    !same(maskJson(value, confidentialMask(state)), value)
  return isKept
    ? refuse('not-allowed', 'this comes from a task that is labelled confidential, so it is not remembered')
    : null
}

const FORM: readonly Field[] = [{ name: 'keep', type: 'choice', choices: ['yes', 'no'] }]
const SHOWN_MAX = 500

async function propose(
  engine: Own,
  { plan, name }: { readonly plan: PlanId; readonly name: string },
  owner: string,
  { scope, key, value, source, expiresAt }: Omit<MemoryItem, 'at'>,
  submit: NewMemory['submit'],
): ReturnType<Memory['remember']> {
  const whose = scope === 'user' ? `for ${owner}, in all their projects` : 'for this project'
  const text = `${source.by} wants '${key}' to be remembered ${whose}: ${shown(value)}. Keep it, as something you say yourself?`
  const order: Orders['ask'] = {
    type: 'ask',
    text,
    form: FORM,
    ...(source.task === undefined ? {} : { task: source.task }),
    memory: { scope, owner, key, value, source, expiresAt },
  }
  const done: Submitted = await engine.submit(plan, order, submit)
  if (!done.ok) return done
  const asked = done.events.find(event => event.type === 'question.asked')
  if (asked === undefined) throw new Error('bug: a memory was proposed and no question was asked')
  return { ok: true, status: 'proposed', plan, name, id: asked.id }
}

function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${text.length} characters)` : text
}

/** Before the answer is journaled: after a crash in between, the question is asked again. */
export async function keepProposed(
  room: MemoryRoom,
  { id, memory }: PlanState['questions'][number],
  keep: Json | undefined,
): Promise<Refusal | null> {
  if (memory === undefined) return null
  const { owner, ...item } = memory
  const source = { ...item.source, question: id }
  if (keep === 'yes') return await room.put(owner, { ...item, source, trust: 'trusted' })
  await room.forget({ scope: item.scope, owner }, item.key, id)
  return null
}
