// An entry in somebody's settings, written the way the file is written.

import { expect, test } from 'vitest'
import { type JsonEntry, removeEntry, setEntry } from './json-entry.ts'
import { removeBlock, setBlock } from './toml-block.ts'

const KEY: JsonEntry = { path: ['servers', 'ours'], value: { command: 'x' } }
const ITEM: JsonEntry = { path: ['hooks', 'Start'], value: { run: 'x' }, item: true }

test.each<readonly [string, JsonEntry, string, string]>([
  ['a file of one line stays one', KEY, '{"a":1}', '{"a":1,"servers":{"ours":{"command":"x"}}}'],
  ['spaces are kept', KEY, '{ "servers": { "b": 2 } }', '{ "servers": { "b": 2, "ours": {"command":"x"} } }'],
  [
    'a comment stays with its line',
    KEY,
    '{\n  "a": 1 // one\n}\n',
    '{\n  "a": 1, // one\n  "servers": {\n    "ours": {\n      "command": "x"\n    }\n  }\n}\n',
  ],
  [
    'tabs, line ends and trailing commas are those of the file',
    KEY,
    '\ufeff{\r\n\t"servers": {\r\n\t\t"b": 2,\r\n\t},\r\n}',
    '\ufeff{\r\n\t"servers": {\r\n\t\t"b": 2,\r\n\t\t"ours": {\r\n\t\t\t"command": "x"\r\n\t\t},\r\n\t},\r\n}',
  ],
  ['an item comes last', ITEM, '{"hooks":{"Start":[{"run":"y"}]}}', '{"hooks":{"Start":[{"run":"y"},{"run":"x"}]}}'],
  [
    'a list is made where there is none',
    ITEM,
    '{\n "hooks": {}\n}',
    '{\n "hooks": {\n  "Start": [\n   {\n    "run": "x"\n   }\n  ]\n }\n}',
  ],
])('%s', (_, entry, before, after) => {
  const set = setEntry(before, entry)
  expect(set).toMatchObject({ ok: true, text: after })
  const removed = removeEntry(after, entry, set.ok ? set : { made: 0 })
  if (!before.includes('{}')) expect(removed).toMatchObject({ ok: true, text: before })
})

test('what stands on the line of a removed entry stays, and is not drawn into a comment', () => {
  const removed = removeEntry('{ // one\n"servers": { "ours": 1 }, "b": 2 }', KEY, { made: 1 })
  expect(removed).toMatchObject({ ok: true, text: '{ // one\n"b": 2 }' })
})

test('a table is added at the end, under its mark, in the line ends of the file', () => {
  const block = { table: ['servers', 'ours'], lines: ['command = "x"'] } as const
  const set = setBlock('a = 1 # one\r\n', block)
  const mark = '# planfold: added by its installer, which can remove it again'
  const text = `a = 1 # one\r\n\r\n${mark}\r\n[servers.ours]\r\ncommand = "x"\r\n`
  expect(set).toMatchObject({ ok: true, text })
  expect(removeBlock(text, block)).toMatchObject({ ok: true, text: 'a = 1 # one\r\n' })
  expect(removeBlock(`${mark}\n[other]\n`, block)).toMatchObject({ ok: false })
  expect(setBlock('servers = 1', block)).toMatchObject({ ok: false })
})
