// Tokens, managed by an admin. Not available under `--no-auth`: an open service must not hand out tokens that are valid for a
// protected one.

import type { Scope } from '../../engine/roles.ts'
import { code, newToken } from '../../format/wire/health.ts'
import type { Browsers } from '../auth/browser-sign-in.ts'
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

// Browser sign-in and sign-out, and who is signed in.

export const authRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/auth',
    right: 'read',
    about: 'Who you are here, and what you may do.',
    answers: { 200: { about: 'name, role and scope', body: 'Identity' } },
    handle: async ({ who: { actor, role, scope } }) =>
      ok({ actor, role, scope: scope === null ? null : { plans: scope.plans ?? [], sessions: scope.sessions ?? [] } }),
  }),
  route({
    method: 'POST',
    path: '/auth/code',
    once: false,
    right: 'nothing',
    about: 'The code of a link for a session cookie; it works once, and only for a page of this service.',
    body: code,
    answers: { 204: { about: 'signed in; the cookie is set' } },
    handle: async call => {
      const browsers = browsersOf(call)
      if (isProblem(browsers)) return browsers
      const { from } = call.who
      if (from?.isOurPage !== true)
        return problem(403, 'cross-site', 'only the page of this service may send a code', {
          hint: 'open the link in a browser; programs use a token',
        })
      const entered = await browsers.enter(call.body.code, from)
      return 'cookie' in entered ? { status: 204, headers: { 'set-cookie': entered.cookie } } : entered
    },
  }),
  route({
    method: 'POST',
    path: '/auth/logout',
    once: false,
    right: 'nothing',
    about: 'Ends the session of this browser.',
    answers: { 204: { about: 'signed out; the cookie is gone' } },
    handle: async call => {
      const browsers = browsersOf(call)
      if (isProblem(browsers)) return browsers
      return { status: 204, headers: { 'set-cookie': browsers.leave(call.headers, call.who.from!) } }
    },
  }),
  route({
    method: 'POST',
    path: '/auth/codes',
    once: false,
    right: 'read',
    about: 'A new code, to open the service in a browser with what you may do.',
    answers: { 201: { about: 'the code, and a link with it', body: 'Invitation' } },
    handle: async call => {
      const browsers = browsersOf(call)
      if (isProblem(browsers)) return browsers
      const { code: made, expiresAt } = browsers.invite(call.who.token)
      const link = `${call.who.from!.origin}/#code=${made}`
      return created({ code: made, link, expires_at: iso(expiresAt) }, '/')
    },
  }),
]

function browsersOf({ rooms }: Pick<Call, 'rooms'>): Browsers | Problem {
  return (
    rooms.guard.browsers ??
    problem(404, 'not-found', 'nobody is asked for a token here', { hint: 'the service runs with --no-auth' })
  )
}
