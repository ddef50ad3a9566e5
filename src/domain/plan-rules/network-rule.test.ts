import { describe, expect, it } from 'vitest'
import { covers, coversRule, type NetworkRule, parseNetworkRule, plainHost, ruleFor } from './network-rule.ts'

const rule = (text: string): NetworkRule => {
  const parsed = parseNetworkRule(text)
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.rule
}
const tunnel = (host: string, port: number) => ({ host, port, request: null })
const get = (host: string, path = '/', port = 80, method = 'GET') => ({ host, port, request: { method, path } })

describe('a host has one spelling', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['127.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['①②⑦.⓪.⓪.①', '127.0.0.1'],
    ['127。0。0。1', '127.0.0.1'],
    ['2852039166', '169.254.169.254'],
    ['LOCALHOST.', 'localhost'],
    ['Bücher.Example', 'xn--bcher-kva.example'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]'],
  ])('%s is %s', (text, host) => expect(plainHost(text)).toBe(host))

  it.each([
    '',
    '.',
    'a..b',
    'a b',
    'a\0.example',
    'a\u200b.example',
    'user@host',
    'a/b',
    'a%2eb',
    '1.2.3.4.5',
    '::1',
    'a*b',
    '[::1',
    'host:80',
  ])('%j is no host', text => expect(plainHost(text)).toBe(null))
})

describe('a rule', () => {
  it.each([
    ['example.org', [tunnel('example.org', 443), get('example.org'), tunnel('example.org', 80)]],
    ['example.org:8443', [tunnel('example.org', 8443), get('example.org', '/', 8443)]],
    ['https://example.org', [tunnel('example.org', 443)]],
    ['https://example.org/any/path', [tunnel('example.org', 443)]],
    ['http://example.org', [get('example.org'), get('example.org', '/x', 80, 'POST')]],
    ['http://example.org/a/*', [get('example.org', '/a/b')]],
    ['GET http://example.org/a', [get('example.org', '/a'), get('example.org', '/a', 80, 'HEAD')]],
    ['tcp://127.0.0.1:5432', [tunnel('127.0.0.1', 5432)]],
    ['*.example.org', [tunnel('a.example.org', 443), tunnel('a.b.example.org', 443)]],
    ['*', [tunnel('example.org', 22), get('example.org', '/', 8080)]],
    ['*:8443', [tunnel('example.org', 8443)]],
    ['0x7f.1:80', [tunnel('127.0.0.1', 80)]],
  ])('%s covers what it says', (text, targets) => {
    expect(targets.filter(target => !covers(rule(text), target))).toEqual([])
  })

  it.each([
    ['example.org', [tunnel('example.org', 22), tunnel('a.example.org', 443), tunnel('example.org.evil.org', 443)]],
    ['https://example.org', [tunnel('example.org', 80), get('example.org', '/', 443), get('example.org')]],
    ['http://example.org', [tunnel('example.org', 80), get('example.org', '/', 8080)]],
    ['http://example.org/a/*', [get('example.org', '/b'), get('example.org', '/a/..%2fb'), get('example.org', '/a')]],
    [
      'http://example.org/a/*',
      [get('example.org', '/a/%252e%252e/b'), get('example.org', '/a//b'), get('example.org', '/a/..;/b')],
    ],
    ['GET http://example.org/a', [get('example.org', '/a', 80, 'POST'), get('example.org', '/ab')]],
    ['*.example.org', [tunnel('example.org', 443), tunnel('evilexample.org', 443), tunnel('1.2.3.4', 443)]],
    ['tcp://127.0.0.1:5432', [tunnel('127.0.0.1', 5433), tunnel('localhost', 5432)]],
    ['*:8443', [tunnel('example.org', 443)]],
  ])('%s covers nothing else', (text, targets) => {
    expect(targets.filter(target => covers(rule(text), target))).toEqual([])
  })

  it.each([
    ['', "'' is not a host"],
    ['ftp://example.org', "the scheme 'ftp' is not known here"],
    ['file:///etc/passwd', "the scheme 'file' is not known here"],
    ['https://user:pass@example.org', 'names a user'],
    ['example.org/path', 'a path can be told only of plain HTTP'],
    ['GET https://example.org', 'a method can be told only of plain HTTP'],
    ['http://example.org/?q=1', 'contains more than host, port and path'],
    ['example.org:0', '0 is not a port'],
    ['example.org:65536', '65536 is not a port'],
    ['example.org:', 'is not an address'],
    ['tcp://db.example.org', 'names no port'],
    ['tcp://*:5432', 'names no single host'],
    ['ex*mple.org', 'is not a host'],
    ['*.10.0.0.1', 'is not a host'],
    ['a\nb', 'an invisible character'],
    ['exa\u200bmple.org', 'an invisible character'],
    ['the internet', 'is not a host'],
  ])('%j is refused with a reason and a hint', (text, message) => {
    const parsed = parseNetworkRule(text)
    expect(parsed).toMatchObject({
      ok: false,
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/./),
    })
  })
})

describe('a rule within another', () => {
  it.each([
    ['*', 'tcp://a.example:1'],
    ['*.example.org', 'https://a.example.org'],
    ['*.example.org', '*.a.example.org'],
    ['example.org', 'https://example.org'],
    ['example.org', 'GET http://example.org/a'],
    ['https://example.org', 'example.org:443'],
    ['https://example.org/x', 'example.org:443'],
    ['http://example.org', 'http://example.org/a*'],
    ['http://example.org/a*', 'http://example.org/ab'],
    ['LOCALHOST.:80', 'localhost:80'],
  ])('%s allows all of %s', (wide, narrow) => expect(coversRule(rule(wide), rule(narrow))).toBe(true))

  it.each([
    ['tcp://a.example:1', '*'],
    ['*.example.org', 'example.org'],
    ['https://example.org', 'example.org'],
    ['https://example.org', 'http://example.org'],
    ['example.org', 'example.org:22'],
    ['http://example.org/a*', 'http://example.org'],
    ['http://example.org/a', 'http://example.org/a*'],
    ['GET http://example.org', 'POST http://example.org'],
    ['GET http://example.org', 'http://example.org'],
    ['http://example.org', 'example.org:80'],
  ])('%s does not allow all of %s', (wide, narrow) => expect(coversRule(rule(wide), rule(narrow))).toBe(false))
})

it('the rule that is proposed for a target covers it', () => {
  for (const target of [tunnel('a.example', 443), tunnel('a.example', 22), get('a.example'), get('[::1]', '/x', 8080)])
    expect(covers(rule(ruleFor(target)), target), ruleFor(target)).toBe(true)
})
