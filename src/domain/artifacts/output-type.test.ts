import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { readOutputType, typeFault } from './output-type.ts'

const faultOf = (type: string, value: Json) => typeFault(readOutputType(type)!, value)
const stored = { artifact: 'a'.repeat(64), bytes: 3 }

test('every type says what is wrong, and where in a list', () => {
  expect(faultOf('list[url]', ['not a url', 7])).toBe('item 1 is not an absolute URL: "not a url"')
  expect(faultOf('list[url]', ['https://a.example/ü', 7])).toBe('item 2 is not an absolute URL: 7')
  expect(faultOf('list[list[number]]', [[1], [2, '3']])).toBe('item 2 2 is not a number: "3"')
  expect(faultOf('list[url]', {})).toBe('it is not a list: {}')
  expect(faultOf('number', '7')).toBe('it is not a number: "7"')
  expect(faultOf('boolean', 0)).toBe('it is not true or false: 0')
  expect(faultOf('text', null)).toBe('it is not text: null')
  expect(faultOf('text', 'x'.repeat(70) as Json)).toBeNull()
  expect(faultOf('number', 'x'.repeat(70))).toContain('…')
})

test('what has its type is accepted', () => {
  const good: readonly (readonly [string, Json])[] = [
    ['list[url]', ['https://a.example/x?y=ü#z', 'ftp://b.example']],
    ['list[url]', []],
    ['number', -0.5],
    ['boolean', false],
    ['json', null],
    ['text', ''],
    ['text', stored],
    ['file', stored],
    ['file', 'out/übersicht.txt'],
    ['path', 'a/..b/c'],
  ]
  for (const [type, value] of good) expect([type, value, faultOf(type, value)]).toEqual([type, value, null])
})

test('no path leads out of the workspace, and no link runs a script', () => {
  for (const path of ['', '/etc/passwd', '../x', 'a/../../x', 'a\\..\\x', 'C:\\x', 'a\0b', 'a\nb'])
    expect([path, faultOf('path', path)]).not.toEqual([path, null])
  for (const url of ['javascript:alert(1)', 'mailto:a@b.example', '//a.example', 'https://', 'https://a b'])
    expect([url, faultOf('url', url)]).not.toEqual([url, null])
})

test('other words are not checked, however they are nested', () => {
  for (const word of [
    'integer',
    'list',
    'list[]',
    'list[any]',
    'List[url]',
    'url]',
    `${'list['.repeat(9)}url${']'.repeat(9)}`,
  ])
    expect([word, readOutputType(word)]).toEqual([word, null])
})
