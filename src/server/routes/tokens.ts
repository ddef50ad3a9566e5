// Tokens, managed by an admin. Not available under `--no-auth`: an open service must not hand out tokens that are valid for a
// protected one.

import type { Scope } from '../../engine/roles.ts'
import { newToken } from '../../format/wire/health.ts'
import { listTokens, makeToken, revokeToken, type Token } from '../auth/token-file.ts'
import { findPlan } from '../find-plan.ts'
import { isProblem, notFound, type Problem, problem } from '../problem.ts'
import type { Call } from '../request.ts'
import { type AnyRoute, created, nothing, ok, route } from '../route.ts'
import { iso } from '../wire-names.ts'

export const tokenRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/tokens',
    right: 'administer',
    about: 'Who has a token, besides the owner.',
    answers: { 200: { about: 'all of them, without the tokens themselves', body: 'Tokens' } },
    handle: async ({ rooms }) => ok({ items: listTokens(rooms.stateDir).map(shown), next: null }),
  }),
  route({
    method: 'POST',
    path: '/tokens',
    once: false,
    right: 'administer',
    about: 'Creates a token for a user. It is shown only once.',
    body: newToken,
    answers: { 201: { about: 'the token', body: 'TokenMade' } },
    handle: async call => {
      const { rooms, body } = call
      if (!isGuarded(call)) return UNGUARDED
      const scope = await scopeOf(call, body.plans, body.sessions)
      if (scope !== null && isProblem(scope)) return scope
      const createdAt = rooms.now()
      const expiresAt = body.expires_in_seconds === undefined ? null : createdAt + body.expires_in_seconds * 1_000
      const { name, role } = body
      const { owner } = rooms
      const made = await makeToken(rooms.stateDir, { name, role, scope, createdAt, expiresAt, owner }, rooms.random)
      if (!made.ok)
        return problem(made.exists ? 409 : 422, made.exists ? 'exists' : 'invalid', made.message, { hint: made.hint })
      return created({ ...shown(made.token), token: made.secret }, `/tokens/${encodeURIComponent(name)}`)
    },
  }),
  route({
    method: 'DELETE',
    path: '/tokens/:name',
    right: 'administer',
    about: 'Revokes a token; from now on it opens nothing.',
    answers: { 204: { about: 'revoked' } },
    handle: async call => {
      if (!isGuarded(call)) return UNGUARDED
      return (await revokeToken(call.rooms.stateDir, call.params.name!))
        ? nothing
        : notFound(`there is no token '${call.params.name!.slice(0, 100)}'`, 'list them: GET /tokens')
    },
  }),
]

const isGuarded = ({ rooms }: Pick<Call, 'rooms'>): boolean => rooms.guard.browsers != null
const UNGUARDED = problem(403, 'not-allowed', 'this service asks nobody for a token, and makes none', {
  hint: 'make it on the command line, where the service runs',
})

async function scopeOf(
  call: Pick<Call<unknown, unknown>, 'rooms' | 'engine' | 'who'>,
  plans: readonly string[] | undefined,
  sessions: readonly string[] | undefined,
): Promise<Scope | null | Problem> {
  if (plans === undefined && sessions === undefined) return null
  const found = []
  for (const reference of plans ?? []) {
    const plan = await findPlan(call, reference)
    if (isProblem(plan)) return plan
    found.push(plan.plan)
  }
  return { plans: found, sessions: sessions ?? [] }
}

const shown = ({ name, role, scope, createdAt, expiresAt }: Token) => ({
  name,
  role,
  scope: scope === null ? null : { plans: scope.plans ?? [], sessions: scope.sessions ?? [] },
  created_at: iso(createdAt),
  expires_at: expiresAt === null ? null : iso(expiresAt),
})
