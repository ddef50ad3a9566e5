import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readModelSettings } from './model-settings.ts'

test('the settings in the guide are read as they are meant', () => {
  const guide = readFileSync(new URL('../../../docs/guide/models.md', import.meta.url), 'utf8')
  const text = /```text\n(default: [\s\S]*?)```/.exec(guide)?.[1] ?? ''
  expect(readModelSettings(text)).toEqual({
    ok: true,
    settings: {
      default: 'work/big-model',
      embedding: 'lab/vectors',
      providers: {
        work: { type: 'anthropic', url: 'https://gateway.example.com', key: { env: 'WORK_KEY' } },
        lab: { type: 'openai-compatible', url: 'http://10.0.0.7:8000/v1', key: { file: '/home/ana/.keys/lab' } },
      },
      models: {
        'work/big-model': {
          price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, checked: '2026-11-16' },
          rate: { requests: 50, tokens: 40_000 },
          outputTokens: 4000,
        },
      },
      caps: { calls: 20, tokens: 400_000, usd: 2 },
    },
  })
})

test.each([
  ['an address with a password', 'providers: { x: { url: "http://me:secret@example.com/v1" } }'],
  ['an address that is none', 'providers: { x: { url: "example.com" } }'],
  ['a model without a provider', 'models: { llama3: {} }'],
  ['a price below zero', 'models: { x/y: { price: { input: -1, output: 1 } } }'],
  ['a limit in another currency', 'caps: { cost: 2 EUR }'],
  ['an unknown key', 'keys: {}'],
])('%s is refused, with its place', (_, text) => {
  const read = readModelSettings(text)
  expect(read).toMatchObject({ ok: false, diagnostics: [{ severity: 'error', line: 1 }] })
})

test('an empty file says nothing', () => {
  expect(readModelSettings('\n')).toEqual({ ok: true, settings: { providers: {}, models: {}, caps: {} } })
})
