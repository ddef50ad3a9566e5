// Uploads a file as an artifact of a claimed task, part by part. What the store already has is not sent again.

import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Upload } from '../../domain/event.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import { OUTPUT_MAX_BYTES, UPLOAD_PART_MAX_BYTES } from '../../domain/limits.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Engine } from '../../engine/engine.ts'

export const uploadsOf = async (
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  task: TaskName,
): Promise<readonly Upload[]> => (await engine.ask({ type: 'uploads', plan, task })) ?? []

export interface Uploading {
  readonly plan: PlanId
  readonly task: TaskName
  readonly token: string
  readonly name: string
}

export type Uploaded =
  | {
      readonly ok: true
      readonly sha256: Sha256
      readonly bytes: number /** Sent by this call. */
      readonly sent: number
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** `tooLarge`: the refusal of the engine comes before anything is read. */
export async function uploadFile(
  engine: Pick<Engine, 'ask' | 'submit'>,
  { plan, ...to }: Uploading,
  path: string,
): Promise<Uploaded> {
  const file = await open(path, 'r')
  try {
    const { size: bytes } = await file.stat()
    const sha256 = bytes > OUTPUT_MAX_BYTES ? ('0'.repeat(64) as Sha256) : await hashOf(file)
    const known = (await uploadsOf(engine, plan, to.task)).find(one => one.name === to.name && one.sha256 === sha256)
    let from = known?.bytes === bytes ? known.received : 0
    if (from > 0 && from === bytes) return { ok: true, sha256, bytes, sent: 0 }
    const before = from
    do {
      const part = Buffer.alloc(Math.min(UPLOAD_PART_MAX_BYTES, bytes - from))
      const { bytesRead } = await file.read(part, 0, part.length, from)
      const data = part.subarray(0, bytesRead).toString('base64')
      const done = await engine.submit(plan, { type: 'upload', ...to, sha256, bytes, from, data })
      if (!done.ok) return done
      from += bytesRead
    } while (from < bytes)
    return { ok: true, sha256, bytes, sent: bytes - before }
  } finally {
    await file.close()
  }
}

async function hashOf(file: FileHandle): Promise<Sha256> {
  const hash = createHash('sha256')
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 })) hash.update(chunk as Buffer)
  return hash.digest('hex') as Sha256
}
