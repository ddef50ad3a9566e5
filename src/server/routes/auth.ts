// Browser sign-in and sign-out, and who is signed in.

import { code } from '../../format/wire/health.ts'
import type { Browsers } from '../auth/browser-sign-in.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import type { Call } from '../request.ts'
import { type AnyRoute, created, ok, route } from '../route.ts'
import { iso } from '../wire-names.ts'

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
