// The page people open.

import { homePage } from '../home-page.ts'
import { type AnyRoute, route } from '../route.ts'

export const homeRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/',
    right: 'nothing',
    noun: 'auth',
    about: 'The page of the service: signs a browser in with the code of a link.',
    answers: { 200: { about: 'the page', type: 'text/html' } },
    handle: async () => ({
      status: 200,
      raw: { type: 'text/html; charset=utf-8', data: homePage.text },
      headers: { 'content-security-policy': homePage.policy },
    }),
  }),
]
