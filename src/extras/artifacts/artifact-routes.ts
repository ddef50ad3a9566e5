// Artifacts over HTTP: listed, described, uploaded in parts, and downloaded. Contents are always sent as an attachment of unspecific type
// (octet-stream), so that no browser executes them; a part of one can be requested (Range).

import type { Provenance } from '../../domain/artifacts/artifact-list.ts'
import type { ListedArtifact } from '../../engine/queries.ts'
import * as wire from '../../format/wire/artifacts.ts'
import { LIMITS } from '../../server/limits.ts'
import { isProblem, notFound, type Problem, problem } from '../../server/problem.ts'
import { type Answer, type AnyRoute, ok, under } from '../../server/route.ts'
import { ofTask } from '../../server/routes/claims.ts'
import { attachment } from '../../server/routes/logs.ts'
import { gone, order, planRoute, withTask } from '../../server/submit-order.ts'
import { iso } from '../../server/wire-names.ts'
import { uploadsOf } from './uploads.ts'

const BYTES = 'application/octet-stream'
const PAGE = 100

const artifactRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/artifacts',
    right: 'read',
    about: 'What the tasks of the plan left, every version, in the order in which it appeared.',
    query: wire.artifactQuery,
    answers: { 200: { about: 'a page of them', body: 'ArtifactPage' } },
    handle: async (call, { plan }) => {
      const { task, name, limit = PAGE, cursor } = call.query
      const after = cursor === undefined ? 0 : Number(cursor)
      const found = await call.engine.ask({ type: 'artifacts', plan, task, name, after, limit })
      if (found === null) return gone()
      const next = after + found.items.length
      return ok({ items: found.items.map(one => onWire(plan, one)), next: next < found.total ? String(next) : null })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/artifacts/:sha256',
    right: 'read',
    about: 'The bytes of an artifact of this plan, or a part of them.',
    headers: {
      range: 'One range of bytes, so that a download can continue: bytes=1000-',
      'if-range': 'The ETag of the earlier part; the answer is the whole if it has changed, which it never does.',
    },
    answers: {
      200: { about: 'its bytes, as an attachment', type: BYTES, tag: true },
      206: { about: 'the requested part', type: BYTES, tag: true },
    },
    handle: async (call, { plan, name }) => {
      const { sha256 = '' } = call.params
      const all = (await call.engine.ask({ type: 'artifacts', plan, sha256 }))?.items ?? []
      const found = all.find(({ expired }) => !expired) ?? all.at(-1)
      if (found === undefined)
        return notFound(`'${name}' left no such artifact`, `list them: GET /plans/${name}/artifacts`)
      if (found.expired) return expired(found)
      const type = all.every(({ confidential }) => confidential) ? 'confidentialArtifact' : 'artifact'
      const data = await call.engine.ask({ type, plan, sha256: found.sha256 })
      return data === null ? notFound(`the content of ${found.address} is missing`) : bytes(found, data, call.headers)
    },
  }),
  ...ofTask('/artifacts/:artifact', {
    method: 'GET',
    right: 'read',
    about: 'An artifact and where it came from: inputs with hashes, command, environment, model, approvals, decisions.',
    query: wire.versionQuery,
    answers: { 200: { about: 'the artifact', body: 'ArtifactDescribed' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { artifact: name = '' } = call.params
        const found = await call.engine.ask({ type: 'artifactOf', plan, task, name, version: call.query.version })
        if (found === null)
          return notFound(`'${task}' left no such artifact`, `list them: GET /plans/${plan}/artifacts`)
        const { provenance, content, ...one } = found
        return ok({ ...onWire(plan, one), content, provenance: provenanceOnWire(provenance) })
      }),
  }),
  ...ofTask('/artifacts/:artifact', {
    method: 'POST',
    right: 'operate',
    about: 'A part of an artifact, uploaded by the one who claimed the task. It also keeps the claim from lapsing.',
    body: wire.uploadBody,
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 200: { about: 'the part is recorded', body: 'ArtifactUpload' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { artifact: name = '' } = call.params
        const done = await order(call, plan, { type: 'upload', task, name, ...call.body })
        if (isProblem(done)) return done
        const now = (await uploadsOf(call.engine, plan, task)).find(one => one.name === name)
        return ok({
          name,
          received: now?.received ?? 0,
          bytes: call.body.bytes,
          complete: now?.received === call.body.bytes,
        })
      }),
  }),
  ...ofTask('/uploads', {
    method: 'GET',
    right: 'read',
    about: 'What the claimant of the task has uploaded in this attempt, and how far: continue from `received`.',
    answers: { 200: { about: 'the uploads', body: 'ArtifactUploads' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const uploads = await uploadsOf(call.engine, plan, task)
        return ok({ items: uploads.map(({ parts: _, ...one }) => one), next: null })
      }),
  }),
]

export const ROUTES = under('artifacts', artifactRoutes)

function onWire(plan: string, { name, at, expires, visit: _, attempt: __, ...one }: ListedArtifact) {
  return {
    ...one,
    output: name,
    at: iso(at),
    expires_at: expires === null ? null : iso(expires),
    href: `/plans/${plan}/artifacts/${one.sha256}`,
  }
}

function provenanceOnWire({ inputHash, ledTo, approvals, ...rest }: Provenance) {
  const decided = (all: Provenance['ledTo']) => all.map(({ at, ...one }) => ({ ...one, at: iso(at) }))
  return { ...rest, input_hash: inputHash, approvals: decided(approvals), led_to: decided(ledTo) }
}

const expired = ({ address, expires, retention }: ListedArtifact): Problem =>
  problem(410, 'expired', `the content of ${address} expired on ${iso(expires!)}: it was kept for ${retention}`, {
    hint: 'run its task again to make it anew',
  })

function bytes(
  { sha256, name }: Pick<ListedArtifact, 'sha256' | 'name'>,
  data: Uint8Array,
  headers: { readonly range?: string | undefined; readonly 'if-range'?: string | string[] | undefined },
): Answer {
  const tag = `"${sha256}"`
  const more = {
    ...attachment(name.replace(/[^\w.-]+/g, '-')),
    'accept-ranges': 'bytes',
    etag: tag,
  }
  const isSame = headers['if-range'] === undefined || headers['if-range'] === tag
  const range = headers.range === undefined || !isSame ? null : rangeIn(headers.range, data.length)
  if (range === null) return { status: 200, raw: { type: BYTES, data }, headers: more }
  if (range === 'beyond')
    return problem(416, 'invalid', `the artifact has ${data.length} bytes`, {
      headers: { 'content-range': `bytes */${data.length}` },
    })
  const [from, to] = range
  return {
    status: 206,
    raw: { type: BYTES, data: data.subarray(from, to + 1) },
    headers: { ...more, 'content-range': `bytes ${from}-${to}/${data.length}` },
  }
}

/** The first and last byte; null for what is not understood, which is answered with the whole (RFC 9110, 14.2). */
export function rangeIn(text: string, size: number): readonly [number, number] | 'beyond' | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text.trim()) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < from) return null
  return from > to ? 'beyond' : [from, to]
}
