// Memory over HTTP.

import type { TaskName } from '../../domain/id.ts'
import type { MemoryItem } from '../../domain/memory/memory-items.ts'
import * as wire from '../../format/wire/health.ts'
import { refused } from '../../server/problem.ts'
import { type AnyRoute, ok, route, under } from '../../server/route.ts'
import { iso } from '../../server/wire-names.ts'
import { FORGOTTEN } from './forgotten.ts'

const memoryRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/memory',
    right: 'read',
    about:
      'What is remembered: under these keys, or found by words, or by meaning where a model for vectors is configured.',
    query: wire.memoryQuery,
    answers: { 200: { about: 'the items, and how they were found', body: 'MemoryPage' } },
    handle: async ({ engine, query: { keys, q, plan_id: plan, scope, limit, cursor } }) => {
      const named = keys === undefined ? null : await engine.memory.recall({ keys, plan, scope })
      if (named?.refusal !== undefined) return refused(named.refusal)
      const searched =
        keys !== undefined && q === undefined
          ? null
          : await engine.memory.recall({ text: q, plan, scope, limit, before: cursor })
      if (searched?.refusal !== undefined) return refused(searched.refusal)
      const known = named?.items ?? []
      const isKnown = (item: MemoryItem) => known.some(({ key, scope }) => key === item.key && scope === item.scope)
      return ok({
        items: [...known, ...(searched?.items ?? []).filter(item => !isKnown(item))].map(onWire),
        next: searched?.next ?? null,
        found_by: searched?.by ?? 'words',
        model: searched?.model ?? null,
        note: searched?.note ?? null,
      })
    },
  }),
  route({
    method: 'PUT',
    path: '/memory',
    right: 'operate',
    about:
      'Remembers a value under a key. Who may not decide can only change what a plan remembers: beyond it, a person is asked in the inbox of the plan.',
    body: wire.memoryBody,
    answers: {
      200: { about: 'it is kept', body: 'MemoryKept' },
      202: { about: 'a person is asked', body: 'MemoryKept' },
    },
    handle: async ({ engine, body, once }) => {
      const { plan_id: plan, task, expires_in_seconds: seconds, ...item } = body
      const done = await engine.memory.remember({
        ...item,
        ...{ plan, submit: once === undefined ? {} : { once }, task: task as TaskName | undefined },
        expiresInMs: seconds === undefined ? undefined : seconds * 1_000,
      })
      if (!done.ok) return refused(done.refusal)
      if (done.status === 'kept')
        return ok({ status: 'kept', key: done.item.key, scope: done.item.scope, plan_id: null, question: null })
      const asked = { plan_id: done.plan, question: done.id }
      return { status: 202, body: { status: 'proposed', key: body.key, scope: body.scope ?? 'project', ...asked } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/memory',
    right: 'operate',
    about: 'Forgets what is remembered under a key, with its words and its vectors.',
    query: wire.forgetQuery,
    answers: { 200: { about: 'whether there was something, and what stays elsewhere', body: 'MemoryForgotten' } },
    handle: async ({ engine, query: { key, scope, plan_id: plan } }) => {
      const done = await engine.memory.forget({ key, scope, plan })
      return done.ok ? ok({ removed: done.removed, note: FORGOTTEN }) : refused(done.refusal)
    },
  }),
]

function onWire({
  key,
  scope,
  value,
  trust,
  source,
  at,
  expiresAt,
  ...rest
}: MemoryItem & { readonly score?: number }) {
  const { by, plan = null, task = null, artifact = null, file = null, claims = null } = source
  return {
    ...{ key, scope, value, trust },
    source: { by, plan, task, artifact, file, claims },
    at: iso(at),
    expires_at: expiresAt === null ? null : iso(expiresAt),
    ...(rest.score === undefined ? {} : { score: rest.score }),
  }
}

export const ROUTES = under('memory', memoryRoutes)
