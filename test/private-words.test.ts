// Comments and identifiers are written in the words of the field. The words counted here mark this project's old private language, such as
// `told` for "reported" or `whoever` for "the caller". They may be used less, never more. Text in strings is not counted: it is for users.

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type SourceFile, sourceFiles } from './source-files.ts'

const WORDS = 'whoever|whatever|told|stood|meant|lent|somebody|nobody|hands|road|luck|breathe'
const CAPITALISED = WORDS.replace(/\b[a-z]/g, first => first.toUpperCase())
const UPPER = WORDS.toUpperCase()
/** As a word of a sentence, or of a name in camel case: `told`, `toldAt`, `isTold`, `HANDS`. */
const PRIVATE = new RegExp(
  `(?<![A-Za-z])(?:${WORDS}|shut[- ]in)(?![a-z])|(?<![A-Z])(?:${CAPITALISED}|Shut[- ]?[Ii]n)(?![a-z])|(?<![A-Za-z])(?:${UPPER})(?![A-Za-z])`,
  'g',
)
const COUNTS = join(import.meta.dirname, 'private-words.json')
const SLACK_MAX = 5
const SHOWN_MAX = 20
const HOW =
  'Use the word of the field: reported, message, sandboxed, borrowed, another person, the caller. When a count fell, write the new ones: PLANFOLD_WRITE_DOCS=1 npx vitest run test/private-words.test.ts'

interface Place {
  readonly file: SourceFile
  readonly line: number
  readonly text: string
}

test('no room uses more private words in its comments and names than before', () => {
  const places = new Map<string, Place[]>()
  let sum = 0
  for (const file of sourceFiles()) {
    const source = readFileSync(file.path, 'utf8')
    const all = source.match(PRIVATE)?.length ?? 0
    sum += all
    places.set(file.room, [...(places.get(file.room) ?? []), ...(all === 0 ? [] : privateWords(file, source))])
  }
  console.log(`${sum} private words in src and web, messages included`)
  const counts = [...places].map(([room, { length }]) => [room, length] as const).sort(([a], [b]) => (a < b ? -1 : 1))
  if (process.env.PLANFOLD_WRITE_DOCS === '1')
    writeFileSync(COUNTS, `${JSON.stringify(Object.fromEntries(counts), null, 2)}\n`)
  const allowed: Record<string, number> = JSON.parse(readFileSync(COUNTS, 'utf8'))
  const faults = [...new Set([...places.keys(), ...Object.keys(allowed)])].flatMap(room => {
    const [there, most] = [places.get(room) ?? [], allowed[room] ?? 0]
    if (there.length > most) return [`${room} has ${there.length}, ${there.length - most} too many:`, ...latest(there)]
    return most - there.length > SLACK_MAX ? [`${room} has only ${there.length} of ${most}`] : []
  })
  expect(faults, HOW).toEqual([])
})

test('strings, templates and patterns are not counted; comments, names and what a template calculates are', () => {
  const file: SourceFile = { room: 'src', name: 'src/a.ts', path: 'a.ts' }
  const words = (source: string) => privateWords(file, source).map(({ text }) => text)
  expect(words(`const a = 'told' + "who's told" // told\n`)).toEqual(['told'])
  expect(words('const b = `told ${toldAt(`${meant} lent`)} told`')).toEqual(['toldAt', 'meant'])
  expect(words("const c = /'told/.test(x) ? isTold : attemptTold / 2 / stood")).toEqual([
    'isTold',
    'attemptTold',
    'stood',
  ])
  expect(words('/** Nobody, shut in. */ <p>you were told</p>')).toEqual(['Nobody', 'shut in'])
  expect(words('silent + broad + Road + handshake + #hands')).toEqual(['Road', 'hands'])
})

/** The newest first: the word that is too many is probably in the file that was edited last. */
function latest(places: readonly Place[]): readonly string[] {
  const age = new Map([...new Set(places.map(({ file }) => file))].map(file => [file, statSync(file.path).mtimeMs]))
  return [...places]
    .sort((a, b) => age.get(b.file)! - age.get(a.file)!)
    .slice(0, SHOWN_MAX)
    .map(({ file, line, text }) => `${file.name}:${line}: ${text}`)
}

function privateWords(file: SourceFile, source: string): readonly Place[] {
  const text = withoutMessages(source)
  return [...text.matchAll(PRIVATE)].map(({ 0: word, index }) => ({
    file,
    line: text.slice(0, index).split('\n').length,
    text:
      /[\w$]*$/.exec(text.slice(Math.max(0, index - 80), index))![0] +
      word +
      /^\w*/.exec(text.slice(index + word.length))![0],
  }))
}

const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=(?:[(,=:[!&|?{};>]|\breturn)\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|(?<=>)[^<>{}()=;]+(?=<\/))|[`{}]/g

/** The source with its strings, templates, patterns and texts of elements as blanks. What `${…}` holds in a template stays. */
function withoutMessages(source: string): string {
  const kept: string[] = []
  // For each open brace: does it end inside a template?
  const braces: boolean[] = []
  let from = 0
  const blank = (start: number, end: number) => {
    kept.push(source.slice(from, start), source.slice(start, end).replace(/[^\n]/g, ' '))
    from = end
  }
  const scan = new RegExp(TOKEN)
  const passTemplate = (start: number) => {
    const rest = /(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)/sy
    rest.lastIndex = start
    const text = rest.exec(source)?.[0] ?? source.slice(start)
    if (text.endsWith('${')) braces.push(true)
    blank(start, start + text.length)
    scan.lastIndex = start + text.length
  }
  for (let found = scan.exec(source); found !== null; found = scan.exec(source)) {
    if (found[1] !== undefined) blank(found.index, found.index + found[0].length)
    else if (found[0] === '`') passTemplate(found.index + 1)
    else if (found[0] === '{') braces.push(false)
    else if (found[0] === '}' && braces.pop() === true) passTemplate(found.index + 1)
  }
  return [...kept, source.slice(from)].join('')
}
