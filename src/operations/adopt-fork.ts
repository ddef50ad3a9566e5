// Adopts a fork from start to end: orders it, has it carried out in the target plan, then removes the fork's folder. Every step is
// repeatable, so that after a crash the whole operation can be run again.

import type { EventOf } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { AdoptAsk, Adopted, Engine } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'
import { pauseIdlePlan } from './rollback-plan.ts'

export type AdoptionEnd = EventOf<'rollback.finished'> | EventOf<'rollback.stopped'>

export interface AdoptRoom {
  readonly engine: Engine
  /** Sees the adoption through that was started after this entry; null if interrupted. */
  readonly carryOut: (at: { readonly plan: PlanId; readonly since: number }) => Promise<AdoptionEnd | null>
}

export type ForkAdoption =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  /** Ordered; whoever runs the target plan next completes it. */
  | { readonly status: 'interrupted'; readonly into: Adopted['into'] }
  /** No file was changed. */
  | { readonly status: 'stopped'; readonly into: Adopted['into']; readonly end: EventOf<'rollback.stopped'> }
  | {
      readonly status: 'adopted'
      readonly into: Adopted['into']
      /** Null if nothing was left to bring in. */
      readonly end: EventOf<'rollback.finished'> | null
      readonly folder: 'removed' | 'kept'
      readonly why: string | null
    }

export async function adoptFork(room: AdoptRoom, fork: PlanId, ask: AdoptAsk): Promise<ForkAdoption> {
  const { engine } = room
  const before = await engine.ask({
    type: 'adoption',
    plan: fork,
    into: ask.into,
  })
  if (before?.ok === false) return { status: 'refused', refusal: before.refusal }
  const into = before?.into.plan
  const pause = into === undefined ? null : await holdStill(room, into)
  try {
    const first = await engine.submit(fork, { type: 'adopt', ...ask })
    if (!first.ok) return { status: 'refused', refusal: first.refusal }
    if (first.adopted === undefined) throw new Error('bug: an adoption was ordered, and nothing was told of it')
    if (first.adopted.status === 'settled') return settledAs(first.adopted, null)
    const target = first.adopted.into
    // An earlier order has not ended yet, so its end comes after the current version.
    const since =
      first.plan === target.plan
        ? first.version
        : ((await engine.ask({ type: 'summary', plan: target.plan }))?.version ?? 0)
    const end = await room.carryOut({ plan: target.plan, since })
    if (end === null) return { status: 'interrupted', into: target }
    if (end.type === 'rollback.stopped') return { status: 'stopped', into: target, end }
    return await settle(room, fork, ask, target, end)
  } finally {
    await pause?.()
  }
}

/** If paths were left, the folder stays until they are chosen. */
async function settle(
  { engine }: AdoptRoom,
  fork: PlanId,
  ask: AdoptAsk,
  into: Adopted['into'],
  end: EventOf<'rollback.finished'>,
): Promise<ForkAdoption> {
  const left = await engine.ask({ type: 'adoption', plan: fork, into: into.plan })
  if (left?.ok !== true || left.changes.length > 0) {
    const paths = left?.ok === true ? left.changes.length : 0
    const why =
      paths === 0
        ? 'its files cannot be looked at'
        : `${paths} of its paths ${paths === 1 ? 'is' : 'are'} not adopted yet`
    return { status: 'adopted', into, end, folder: 'kept', why }
  }
  const { keepFolder, removeIgnored } = ask
  const done = await engine.submit(fork, {
    type: 'adopt',
    into: into.plan,
    keepFolder,
    removeIgnored,
  })
  if (!done.ok) return { status: 'adopted', into, end, folder: 'kept', why: done.refusal.message }
  if (done.adopted?.status !== 'settled')
    return { status: 'adopted', into, end, folder: 'kept', why: 'its files changed meanwhile' }
  return settledAs(done.adopted, end)
}

const settledAs = (
  { into, folder, why }: Extract<Adopted, { readonly status: 'settled' }>,
  end: EventOf<'rollback.finished'> | null,
): ForkAdoption => ({ status: 'adopted', into, end, folder, why: why ?? null })

/** An adoption only changes files. A plan that no process runs is paused meanwhile, so that driving it for this starts no task. */
async function holdStill({ engine }: AdoptRoom, into: PlanId): Promise<(() => Promise<void>) | null> {
  if ((await engine.ask({ type: 'summary', plan: into }))?.rollback !== undefined) return null
  const paused = await pauseIdlePlan(engine, into, 'adopting the work of a fork')
  return paused?.status === 'held' ? paused.resume : null
}

// Forks whose work is in no other plan yet. Neither they nor the plans they would be adopted into may be pruned: their stored files would
// be lost.

export interface Unadopted {
  /** The forks, and the plans they would be adopted into. */
  readonly keep: ReadonlySet<PlanId>
  /** The names of the forks. */
  readonly unadopted: readonly string[]
}

export async function unadoptedForks(
  engine: Pick<Engine, 'ask'>,
  rows: readonly Pick<PlanRow, 'id' | 'name'>[],
): Promise<Unadopted> {
  const keep = new Set<PlanId>()
  const unadopted: string[] = []
  for (const { id, name } of rows) {
    const summary = await engine.ask({ type: 'summary', plan: id })
    if (summary === null || summary.place === null || summary.origin === null) continue
    const adoption = await engine.ask({ type: 'adoption', plan: id })
    // A fork that cannot be read is not pruned either; a plan that is no fork may be.
    if (adoption === null || (adoption.ok ? adoption.changes.length === 0 : adoption.refusal.code === 'not-supported'))
      continue
    keep.add(id)
    unadopted.push(name)
    keep.add(adoption.ok ? adoption.into.plan : summary.origin)
  }
  return { keep, unadopted }
}
