// Uploads of claimed tasks: stores the bytes of each part before it is recorded, and the whole before its last part is. Complete ones become
// outputs with the report of success.

import { hash } from 'node:crypto'
import { uploadObjection, uploadOf } from '../../domain/artifacts/upload.ts'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { refuse } from '../../domain/refusal.ts'
import { claimNotHeld } from '../../domain/rules/task-orders.ts'
import type { TaskState } from '../../domain/state/state.ts'
import type { Order, Submitted } from '../orders.ts'
import type { Rooms } from '../rooms.ts'
import { noPlan, type Writing, write } from '../write-order.ts'

export async function uploadPart(
  rooms: Rooms,
  plan: PlanId,
  name: string,
  { data, ...order }: Extract<Order, { readonly type: 'upload' }>,
  writing: Writing,
): Promise<Submitted> {
  const { blobs, claims } = rooms.store
  const state = await rooms.store.state(plan)
  if (state === null) return noPlan(name)
  const task = state.tasks.get(order.task)
  // Only the claimant may fill the content store. The rule looks again when the part is recorded.
  if (task?.claim == null || task.claim.token !== order.token) return { ok: false, refusal: claimNotHeld(order.task) }
  const bytes = Buffer.from(data, 'base64')
  const command = { ...order, part: hash('sha256', bytes) as Sha256, partBytes: bytes.length }
  const refusal = uploadObjection(task, command)
  if (refusal !== null) return { ok: false, refusal }
  const isLast = order.from + bytes.length === order.bytes
  if (isLast) {
    const before = order.from === 0 ? [] : (uploadOf(task, order.name)?.parts ?? [])
    const parts = await Promise.all(before.map(part => blobs.get(part)))
    const at = parts.reduce((sum, part) => sum + (part?.length ?? 0), 0)
    const whole = Buffer.concat([
      ...parts.map(part => part ?? Buffer.alloc(0)),
      at === order.from ? bytes : Buffer.alloc(0),
    ])
    if (hash('sha256', whole) !== order.sha256)
      return {
        ok: false,
        refusal: refuse(
          'conflict',
          `the bytes of '${order.name}' do not have the hash that its first part named: the file changed while it was uploaded`,
          'begin again with the first part',
        ),
      }
    await blobs.put(whole)
  }
  await blobs.put(bytes)
  const done = await write(rooms, plan, { ...command, type: 'upload' }, writing)
  if (!done.ok) return done
  // A part counts as a heartbeat.
  const expiresInMs = await claims.touch(plan, order.task, order.token)
  return expiresInMs === null ? done : { ...done, claim: { task: order.task, token: order.token, expiresInMs } }
}

/** What was uploaded in this attempt and not reported under the same name. */
export function uploadedOutputs({ uploads = [] }: TaskState, reported: JsonObject = {}): JsonObject {
  const whole = uploads.filter(({ bytes, received, name }) => received === bytes && !Object.hasOwn(reported, name))
  return Object.fromEntries(whole.map(({ name, sha256, bytes }) => [name, { artifact: sha256, bytes }]))
}
