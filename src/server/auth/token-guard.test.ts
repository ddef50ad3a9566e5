// A connection that shows a token again and again: what was good a moment ago is not good for ever, nor for anybody else.

import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { isProblem } from '../problem.ts'
import { type Bearer, type Guarded, guarded } from './guard.fixture.ts'

/** Asks over one connection; who was seen, or why nobody was. */
function connection(house: Guarded): (token: Bearer) => string {
  const socket = { localPort: 8_011, remoteAddress: '127.0.0.1' }
  return ({ authorization }) => {
    const headers = { host: '127.0.0.1:8011', authorization }
    const request = { method: 'GET', url: '/auth', headers, rawHeaders: [], socket }
    const who = house.guard.admit(request as unknown as IncomingMessage, 'token')
    return isProblem(who) ? who.problem.type.slice('urn:planfold:problem:'.length) : who.actor
  }
}

describe('over one connection', () => {
  test('each token is its own actor, whichever was shown before', () => {
    const house = guarded()
    const [ada, bob, eve] = [house.token('ada', 'admin'), house.token('bob', 'operator'), house.token('eve', 'viewer')]
    const ask = connection(house)
    const almost = { authorization: ada.authorization.replace(/.$/, last => (last === 'A' ? 'B' : 'A')) }
    const longer = { authorization: `${ada.authorization}A` }
    expect([ada, ada, bob, ada, almost, ada, longer, eve, ada].map(ask)).toEqual([
      'ada',
      'ada',
      'bob',
      'ada',
      'unknown-token',
      'ada',
      'unknown-token',
      'eve',
      'ada',
    ])
  })

  test('a token that was shown is refused as soon as it is revoked, and taken while others come and go', () => {
    const house = guarded()
    const [ada, bob] = [house.token('ada', 'admin'), house.token('bob', 'operator')]
    const ask = connection(house)
    expect([ask(ada), ask(ada)]).toEqual(['ada', 'ada'])
    house.revoke('bob')
    expect([ask(ada), ask(bob), ask(ada)]).toEqual(['ada', 'unknown-token', 'ada'])
    house.revoke('ada')
    expect([ask(ada), ask(ada)]).toEqual(['unknown-token', 'unknown-token'])
    const again = house.token('ada', 'admin')
    expect([ask(ada), ask(again)]).toEqual(['unknown-token', 'ada'])
  })

  test('a token that was shown is refused as soon as it expires', () => {
    const house = guarded()
    const short = house.token('short', 'operator', { expiresAt: house.now() + 1_000 })
    const ask = connection(house)
    expect([ask(short), ask(short)]).toEqual(['short', 'short'])
    house.advance(1_000)
    expect([ask(short), ask(short)]).toEqual(['expired-token', 'expired-token'])
  })
})
