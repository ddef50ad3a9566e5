// Where the service may listen, and under which conditions.

import { describe, expect, test } from 'vitest'
import { isProblem } from '../problem.ts'
import { type Binding, checkBinding } from './listen-address.ts'
import { openOrigins } from './origins.ts'

const check = (binding: Partial<Binding>) =>
  checkBinding({ host: '127.0.0.1', auth: true, tls: false, proxy: null, hosts: [], ...binding })

describe('listening', () => {
  test('its own address is a name only together with the port', () => {
    expect(check({ host: '127.8.9.10' })).toMatchObject({ hosts: [], addresses: ['127.8.9.10'] })
    const { check: from } = openOrigins({ tls: false, hosts: [], addresses: ['127.8.9.10'], proxy: null })
    const asked = (host: string, port: number) =>
      isProblem(from({ url: '/', headers: { host }, rawHeaders: ['Host', host], socket: { localPort: port } } as never))
    expect(asked('127.8.9.10:8011', 8011)).toBe(false)
    for (const host of ['127.8.9.10', '127.0.0.1', 'localhost']) {
      expect(asked(host, 8011)).toBe(true)
      expect(asked(host, 80)).toBe(false)
    }
  })

  test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])(
    'on %s needs nothing more, with tokens or without',
    host => {
      expect(check({ host })).toMatchObject({ ok: true })
      expect(check({ host, auth: false })).toMatchObject({ ok: true })
    },
  )

  test.each([
    '0.0.0.0',
    '::',
    '192.0.2.7',
    '2001:db8::1',
    '128.0.0.1',
    '10.0.0.1',
    'plans.example.org',
    '::ffff:127.0.0.1',
  ])('on %s is refused without TLS or a proxy that is named (A62)', host => {
    expect(check({ host })).toMatchObject({ ok: false, is: 'refused', hint: expect.stringContaining('--tls-cert') })
    expect(check({ host, tls: true })).toMatchObject({ ok: true })
    expect(check({ host, proxy: 'https://plans.example.org' })).toMatchObject({ ok: true })
  })

  test('without tokens is refused wherever others could come in', () => {
    for (const host of ['0.0.0.0', '192.0.2.7', '::'])
      expect(check({ host, auth: false, tls: true })).toMatchObject({ ok: false, is: 'refused' })
    expect(check({ auth: false, proxy: 'https://plans.example.org' })).toMatchObject({ ok: false, is: 'refused' })
  })

  test('a proxy is named by its origin, under https', () => {
    expect(check({ proxy: 'https://plans.example.org' })).toMatchObject({
      ok: true,
      proxy: 'https://plans.example.org',
    })
    expect(check({ proxy: 'https://plans.example.org:8443/' })).toMatchObject({
      ok: true,
      proxy: 'https://plans.example.org:8443',
    })
    for (const proxy of [
      'http://plans.example.org',
      'plans.example.org',
      'https://plans.example.org/x',
      'https://u:p@plans.example.org',
      'https://plans.example.org/?x',
      '*',
      '',
    ])
      expect([proxy, check({ proxy })]).toMatchObject([proxy, { ok: false, is: 'usage' }])
  })

  test('names are names', () => {
    expect(check({ hosts: ['plans.example.org', 'box:8011', '[2001:db8::1]:8011'] })).toMatchObject({ ok: true })
    for (const host of ['*', 'a b', 'http://x', 'x/y', '', '-x', 'x:port'])
      expect([host, check({ hosts: [host] })]).toMatchObject([host, { ok: false, is: 'usage' }])
    expect(check({ host: '1.2.3.4.5 ', tls: true })).toMatchObject({ ok: false, is: 'usage' })
  })
})
