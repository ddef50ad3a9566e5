// Artifacts over HTTP. They are always sent as an attachment of unspecific type (octet-stream), so that no browser executes them.

import { isSha256, type Sha256 } from '../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { notFound } from '../problem.ts'
import { type Answer, type AnyRoute, ok, route } from '../route.ts'
import { type Asking, gone, planRoute } from '../submit-order.ts'

const BYTES = 'application/octet-stream'

export const artifactRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/artifacts',
    right: 'read',
    about: 'What the tasks of the plan left in the content store, by task and name.',
    answers: { 200: { about: 'the artifacts', body: 'ArtifactPage' } },
    handle: async (call, { plan }) => {
      const items = await artifactsOf(call, plan)
      return items === null ? gone() : ok({ items, next: null })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/artifacts/:sha256',
    right: 'read',
    about: 'The bytes of an artifact of this plan.',
    answers: { 200: { about: 'its bytes, as an attachment', type: BYTES } },
    handle: async (call, { plan, name }) => {
      const found = (await artifactsOf(call, plan))?.find(({ sha256 }) => sha256 === call.params.sha256)
      if (found !== undefined)
        return bytes(found.sha256, await call.engine.ask({ type: 'artifact', plan, sha256: found.sha256 }))
      return notFound(`'${name}' left no such artifact`, `list them: GET /plans/${name}/artifacts`)
    },
  }),
  route({
    method: 'GET',
    path: '/blobs/:sha256',
    right: 'inspect',
    about: 'Stored bytes by their hash, files of the workspace too. Artifacts of a plan: /plans/:plan/artifacts.',
    answers: { 200: { about: 'the bytes, as an attachment', type: BYTES } },
    handle: async call => {
      const { sha256 } = call.params
      if (call.who.scope !== null || !isSha256(sha256!)) return noBytes()
      return bytes(sha256, await call.engine.ask({ type: 'blob', sha256 }))
    },
  }),
]

const noBytes = () => notFound('there are no such bytes', 'artifacts of a plan: GET /plans/…/artifacts')

function bytes(sha256: Sha256, data: Uint8Array | null): Answer {
  if (data === null) return noBytes()
  return {
    status: 200,
    raw: { type: BYTES, data },
    headers: {
      'content-disposition': `attachment; filename="${sha256}"`,
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    },
  }
}

async function artifactsOf({ engine }: Asking, plan: string) {
  const [board, current] = [await engine.ask({ type: 'board', plan }), await engine.ask({ type: 'definition', plan })]
  if (board === null || current === null) return null
  const declared = declaredIn(current.definition.artifacts)
  return board.flatMap(({ name: task, outputs }) =>
    Object.entries(isMap(outputs) ? outputs : {}).flatMap(([output, value]) => {
      if (!isMap(value) || typeof value.artifact !== 'string' || !isSha256(value.artifact)) return []
      const { artifact: sha256, bytes, file } = value
      return {
        task,
        output,
        sha256,
        bytes: typeof bytes === 'number' ? bytes : null,
        file: typeof file === 'string' ? file : null,
        href: `/plans/${plan}/artifacts/${sha256}`,
        declared: declared.find(one => one.name === output && (one.from === undefined || one.from === task)) ?? null,
      }
    }),
  )
}

/** A plan may declare artifacts by output: `[{name, from}]`. */
const declaredIn = (artifacts: Json | undefined): readonly JsonObject[] =>
  Array.isArray(artifacts) ? (artifacts as readonly Json[]).filter(isMap) : []
