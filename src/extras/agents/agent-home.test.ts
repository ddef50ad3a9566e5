import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openHome, setAside } from './agent-home.ts'
import { stockRows } from './known-agents.ts'

test('conversations that Gemini would write over are renamed, in its home and nowhere else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pf-home-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  const chats = join(home, '.gemini/tmp/work/chats')
  const outside = join(folder, 'outside')
  for (const at of [chats, outside, join(home, '.gemini/tmp/linked')]) mkdirSync(at, { recursive: true })
  const begun = 'session-2026-11-17T21-09-54eff380.jsonl'
  for (const at of [chats, outside]) writeFileSync(join(at, begun), 'said')
  writeFileSync(join(chats, 'notes.txt'), '')
  symlinkSync(outside, join(home, '.gemini/tmp/linked/chats'))
  const { aside } = stockRows().find(({ name }) => name === 'gemini')!.acp!
  setAside(home, aside!)
  setAside(home, aside!)
  expect(readdirSync(chats).sort()).toEqual(['notes.txt', 'session-kept-2026-11-17T21-09-54eff380.jsonl'])
  expect(readFileSync(join(chats, 'session-kept-2026-11-17T21-09-54eff380.jsonl'), 'utf8')).toBe('said')
  expect(readdirSync(outside)).toEqual([begun])
  setAside(outside, aside!)
})

test('a run that was reviewed is continued in the home of its conversation; any other has a home of its own', () => {
  const state = mkdtempSync(join(tmpdir(), 'pf-home-'))
  onTestFinished(() => rmSync(state, { recursive: true, force: true }))
  const of = (visit: number, more = {}) => openHome(state, { plan: 'p', task: 'a/b', visit, ...more } as never)
  of(1).keepSession('grok', 's1')
  expect(of(2).session('grok')).toBe(null)
  expect(of(3, { conversation: 1 }).session('grok')).toBe('s1')
  expect(of(3, { conversation: 1 }).session('claude')).toBe(null)
})
