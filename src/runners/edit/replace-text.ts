// Finding and replacing exact bytes in a file. One match is wanted unless the edit says all; what is found instead is told
// together with the nearest line, because most misses are white space.

import { type Answer, failure } from '../../safety/refused.ts'

export interface Replacing {
  readonly file: string
  readonly find: string
  readonly replace: string
  readonly all?: true
}

/**
 * The new bytes. An edit counts as already made when `find` is gone and `replace`, not empty, stands there. A replacement
 * that holds what it replaces cannot be told apart from one not yet made; pin it with `sha256` to be safe.
 */
export function replaceText(edit: Replacing, bytes: Buffer): Answer<Buffer> {
  if (edit.find === '') return no(`The text to find in ${shown(edit.file)} is empty.`, 'Say what to replace.')
  const find = Buffer.from(edit.find)
  const replacement = Buffer.from(edit.replace)
  const places = placesOf(find, bytes)
  if (places.length === 0) {
    if (replacement.length > 0 && bytes.includes(replacement)) return { ok: true, value: bytes }
    return no(`The text to find does not occur in ${shown(edit.file)}.`, nearestHint(edit.find, bytes))
  }
  if (places.length > 1 && edit.all !== true) {
    const lines = places.slice(0, 5).map(place => lineAt(bytes, place))
    const hint = `It is on lines ${lines.join(', ')}${places.length > 5 ? ' and more' : ''}; find more of the text, or say all: true.`
    return no(`The text to find occurs ${places.length} times in ${shown(edit.file)}.`, hint)
  }
  const parts: Buffer[] = []
  let from = 0
  for (const place of places) {
    parts.push(bytes.subarray(from, place), replacement)
    from = place + find.length
  }
  return { ok: true, value: Buffer.concat([...parts, bytes.subarray(from)]) }
}

function placesOf(find: Buffer, bytes: Buffer): readonly number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(find); at >= 0; at = bytes.indexOf(find, at + find.length)) places.push(at)
  return places
}

function nearestHint(find: string, bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (text.includes('\r\n') && text.replaceAll('\r\n', '\n').includes(find)) {
    return 'The file ends its lines with CR LF; the text to find must too.'
  }
  const wanted = (find.split('\n').find(line => line.trim() !== '') ?? find).trim()
  let nearest = { line: 0, length: 7, text: '' }
  for (const [at, line] of text.split('\n').entries()) {
    const length = commonPrefix(squeezed(line), squeezed(wanted))
    if (length > nearest.length) nearest = { line: at + 1, length, text: line.trim() }
  }
  if (nearest.line === 0) return 'Read the file again and copy the text exactly.'
  return `Nearest is line ${nearest.line}: ${shown(nearest.text.slice(0, 120))}. White space counts.`
}

const squeezed = (line: string): string => line.replace(/\s+/g, ' ').trim()

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

const lineAt = (bytes: Buffer, place: number): number => {
  let line = 1
  for (let at = bytes.indexOf(10); at >= 0 && at < place; at = bytes.indexOf(10, at + 1)) line++
  return line
}
const shown = (text: string): string => JSON.stringify(text)
const no = (message: string, hint: string): Answer<Buffer> => ({ ok: false, failure: failure('logic', message, hint) })
