import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPageFiles } from './page-files.ts'
import { type Served, served } from './server.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'planfold-page-'))
let service: Served

beforeAll(async () => {
  mkdirSync(join(folder, 'assets'))
  for (const [name, text] of [
    ['index.html', '<!doctype html>page'],
    ['index.html.br', 'page as br'],
    ['secret.txt', 'not a part of the page'],
    ['assets/main-abc.js', 'script'],
    ['assets/main-abc.js.gz', 'script as gzip'],
  ] as const)
    writeFileSync(join(folder, name), text)
  service = await served({ page: openPageFiles(folder) })
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

/** With the bytes as they are sent: `fetch` would unpack them. */
const files = () => openPageFiles(folder)!
const text = (data: Uint8Array): string => new TextDecoder().decode(data)

describe('the files of the page', () => {
  test('are sent as they were compressed, when whoever asks takes that', () => {
    const { data, encoding } = files().index('gzip, deflate, br')
    expect([text(data), encoding]).toEqual(['page as br', 'br'])
    expect(files().index('br;q=0').encoding).toBeUndefined()
    expect(files().asset('main-abc.js', 'br, gzip')?.encoding).toBe('gzip')
    expect(text(files().asset('main-abc.js', null)!.data)).toBe('script')
  })

  test('are only those of the page, whatever is asked for', async () => {
    for (const name of ['..%2fsecret.txt', '..%5csecret.txt', 'main-abc.js.gz', 'none.js'])
      expect([name, (await service.ask('GET', `/ui/assets/${name}`)).status]).toEqual([name, 404])
  })

  test('every place of the page is the same document, with a policy that loads nothing from elsewhere', async () => {
    for (const path of ['/ui', '/ui/', '/ui/inbox', '/ui/plans/some%20plan?view=graph&task=a']) {
      const { status, headers, body } = await service.ask('GET', path, undefined, { 'accept-encoding': 'identity' })
      expect([status, body, headers.get('cache-control')]).toEqual([200, '<!doctype html>page', 'no-cache'])
      const policy = headers.get('content-security-policy')!
      expect(policy).toContain("default-src 'none'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      expect(headers.get('x-frame-options')).toBe('DENY')
    }
  })

  test('what has a hash in its name is kept for good, and the root leads to the page', async () => {
    const { status, headers } = await service.ask('GET', '/ui/assets/main-abc.js', undefined, {
      'accept-encoding': 'identity',
    })
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
    const home = await fetch(`${service.url}/`, { redirect: 'manual' })
    expect([home.status, home.headers.get('location')]).toEqual([302, '/ui/'])
  })

  test('where it was not built, that is said, and the root still signs people in', async () => {
    expect(openPageFiles(join(folder, 'assets'))).toBeNull()
    const bare = await served()
    try {
      expect((await bare.ask('GET', '/ui')).body).toMatchObject({ status: 404, detail: 'the page was not built' })
      expect((await bare.ask('GET', '/')).status).toBe(200)
    } finally {
      await bare.close()
    }
  })
})
