// Claims that expired without a heartbeat, and claims that are given back. The task becomes claimable again; its changes so far are
// recorded for the next claimant, and so that they can be reverted.

import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Wrote } from '../../domain/result.ts'
import { outsideClaim } from '../files/outside-claim.ts'
import { roomsOf } from '../git/plan-worktree.ts'
import { ShortageMet } from '../loop/shortage.ts'
import type { Order, Submitted } from '../orders.ts'
import { changesSince, readChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { type Writing, write } from '../write-order.ts'

const JANITOR = 'janitor' as Actor

const REASON = 'its claim expired (no heartbeat)'

/** Ends expired claims of one plan or of all, and returns how many. */
export async function sweepClaims(rooms: Rooms, plan?: PlanId): Promise<number> {
  const { store } = rooms
  const lapsed = await store.claims.lapsed(plan)
  let ended = 0
  for (const { plan: of, task, token } of lapsed) {
    const { wrote, reason } = await foundAfter(rooms, of, task, { token, reason: REASON })
    const lapse = { type: 'lapse', task, token, reason, ...(wrote === null ? {} : { wrote }) } as const
    // The entry also ends the claim. The store refuses it if a heartbeat came in between.
    const done = await store.update(of, lapse, { actor: JANITOR })
    if (done.ok && done.events.length > 0) ended++
  }
  return ended
}

export async function releaseClaim(
  rooms: Rooms,
  plan: PlanId,
  { task, reason: why }: Extract<Order, { readonly type: 'release' }>,
  writing: Writing,
): Promise<Submitted> {
  const { store } = rooms
  await sweepClaims(rooms, plan)
  const token = (await store.state(plan))?.tasks.get(task)?.claim?.token ?? ''
  const text = `released by ${writing.actor}${why === undefined ? '' : `: ${why}`}`
  const { wrote, reason } = await foundAfter(rooms, plan, task, { token, reason: text })
  const found = wrote === null ? {} : { wrote }
  return await write(rooms, plan, { type: 'lapse', task, token, reason, released: true, ...found }, writing)
}

async function foundAfter(
  rooms: Rooms,
  plan: PlanId,
  task: TaskName,
  { token, reason }: { readonly token: string; readonly reason: string },
): Promise<{ readonly wrote: Wrote | null; readonly reason: string }> {
  const state = await rooms.store.state(plan)
  const claimed = state?.tasks.get(task)
  if (state === null || claimed?.claim?.token !== token) return { wrote: null, reason }
  const own = roomsOf(rooms, state)
  const wrote = await changesSince(own, state, claimed.prepared).catch((error: unknown) => {
    // Without disk space the changes cannot be recorded. The task is given back anyway.
    if (error instanceof ShortageMet) return null
    throw error
  })
  const outside = (await outsideClaim(own, state, claimed))?.unexplained.map(({ path }) => path) ?? []
  const beyond = outside.length === 0 ? '' : `; changed outside its write scope: ${listed(outside)}`
  const changes = wrote?.changes ?? null
  if (changes === null) return { wrote, reason: `${reason}${beyond}` }
  const paths = (await readChanges(own, changes)).filter(one => !isFolder(one)).map(({ path }) => path)
  return { wrote, reason: `${reason}; changed since the claim: ${listed(paths)}${beyond}` }
}

type Entry = { readonly type: string } | null

const isFolder = ({ before, after }: { readonly before: Entry; readonly after: Entry }): boolean =>
  (after ?? before)?.type === 'directory'

const SHOWN_MAX = 5

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN_MAX).join(', ')
  const more = paths.length - SHOWN_MAX
  return more > 0 ? `${shown} and ${numberOf(more, 'more file')}` : shown || 'folders'
}
