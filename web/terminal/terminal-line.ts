// A printed line as a terminal shows it: colours, text that a carriage return or backspace wrote over, and links. Everything else that
// a terminal would obey (clearing the screen, moving up, the clipboard, the title) has no effect, and an incomplete sequence stays visible.

import { shownText } from '../data/shown.ts'

/** What SGR sequences have switched on. It lasts until they switch it off, also on the lines that follow. */
export interface Style {
  readonly colour: Colour | null
  readonly ground: Colour | null
  readonly marks: readonly Mark[]
}
export interface Piece {
  readonly text: string
  /** Names of classes in terminal.css. */
  readonly look: string
  /** Only `http:` and `https:`. */
  readonly href: string | null
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const
type Colour = (typeof COLOURS)[number] | 'grey'
type Mark = 'bold' | 'dim' | 'italic' | 'underline' | 'inverse' | 'strike'
const MARKS: { readonly [code: number]: Mark } = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
}
/** Hidden text (8) and blinking (5) are shown like any other. */
const UNMARKS: { readonly [code: number]: readonly Mark[] } = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
}

export const PLAIN: Style = { colour: null, ground: null, marks: [] }
/** Longer lines are cut, because a browser lays out a line as a whole. */
export const LINE_MAX = 10_000

// In order: a control sequence, an operating system command such as a link, other strings, other escapes, and single controls.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is controlled by them.
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|(?:\u001b\]|\u009d)([^\u0007\u001b\u009c]*)(?:\u0007|\u001b\\|\u009c)|\u001b[PX^_][^\u001b]*\u001b\\|\u001b[ -/]*[0-OQ-WYZ\\`-~]|[\0\u0007\u000e\u000f\u007f]|\r|[\b]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

/** `style`: as the line before left it. Returns the pieces of the line, and the style that it leaves. */
export function readTerminalLine(
  line: string,
  style: Style = PLAIN,
  max: number = LINE_MAX,
): { readonly pieces: Piece[]; readonly style: Style } {
  const text = cut(line, max)
  if (!CONTROL.test(text)) {
    return { pieces: text === '' ? [] : [{ text: shownText(text), look: lookOf(style), href: null }], style }
  }
  const screen = new Screen(style)
  let at = 0
  for (const found of text.matchAll(SEQUENCE)) {
    screen.write(text.slice(at, found.index))
    at = found.index + found[0].length
    if (found[2] !== undefined) screen.control(found[2], found[1] ?? '')
    else if (found[3] !== undefined) screen.link(found[3])
    else if (found[0] === '\r') screen.column = 0
    else if (found[0] === '\b') screen.column = Math.max(0, screen.column - 1)
  }
  screen.write(text.slice(at))
  return { pieces: screen.pieces(), style: screen.style }
}

/** Without colours, for searching and for files. */
export const plainLine = (line: string, max: number = LINE_MAX): string =>
  CONTROL.test(line)
    ? readTerminalLine(line, PLAIN, max)
        .pieces.map(({ text }) => text)
        .join('')
    : line

// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const MOVES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*(?!m)[@-~]|[\b]/g

/**
 * A sentence that quotes a program: with its colours and links, but nothing in it writes over the words before it. It may have been
 * escaped where it arrived (`data/shown.ts`).
 */
export function readTerminalText(text: string): readonly (readonly Piece[])[] {
  const printed = text
    .replace(/\\u\{(1b|d|7|8|9b|9c|9d)\}/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(MOVES, '')
  let style = PLAIN
  return printed.split(/\r*\n|\r+/).map(line => {
    const read = readTerminalLine(line, style)
    style = read.style
    return read.pieces
  })
}

/** Of a progress bar the end counts: what came before was written over. */
function cut(line: string, max: number): string {
  if (line.length <= max) return line
  const from = line.indexOf('\r', line.length - max)
  return from === -1 || from === line.length - 1 ? line.slice(0, max) : line.slice(from)
}

interface Cell {
  readonly char: string
  readonly look: string
  readonly href: string | null
}
const BLANK: Cell = { char: ' ', look: '', href: null }

class Screen {
  style: Style
  column = 0
  #cells: Cell[] = []
  #href: string | null = null

  constructor(style: Style) {
    this.style = style
  }

  write(text: string): void {
    if (text === '') return
    const look = lookOf(this.style)
    for (const char of text) this.#cells[this.column++] = { char, look, href: this.#href }
  }

  control(final: string, parameters: string): void {
    const first = Math.min(LINE_MAX, Math.max(1, Number.parseInt(parameters, 10) || 1))
    switch (final) {
      case 'm':
        if (/^[\d;:]*$/.test(parameters)) this.style = styled(this.style, parameters)
        break
      case 'C':
        this.#moveTo(this.column + first)
        break
      case 'D':
        this.#moveTo(this.column - first)
        break
      case 'G':
        this.#moveTo(first - 1)
        break
      case 'K':
        if (parameters === '' || parameters === '0') this.#cells.length = Math.min(this.#cells.length, this.column)
        else this.#cells.fill(BLANK, 0, parameters === '1' ? this.column : undefined)
        break
      default:
    }
  }

  /** `8;PARAMETERS;ADDRESS`; other commands have no effect. */
  link(command: string): void {
    const found = /^8;[^;]*;(.*)$/s.exec(command)
    if (found !== null) this.#href = safeAddress(found[1]!)
  }

  #moveTo(column: number): void {
    this.column = Math.min(LINE_MAX, Math.max(0, column))
    while (this.#cells.length < this.column) this.#cells.push(BLANK)
  }

  pieces(): Piece[] {
    const pieces: { text: string; look: string; href: string | null }[] = []
    for (const { char, look, href } of this.#cells) {
      const last = pieces.at(-1)
      if (last !== undefined && last.look === look && last.href === href) last.text += char
      else pieces.push({ text: char, look, href })
    }
    return pieces.map(piece => ({ ...piece, text: shownText(piece.text) }))
  }
}

function safeAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  // With a user name, an address can look like that of another host.
  return url.username === '' && url.password === '' ? url.href : null
}

function styled(style: Style, parameters: string): Style {
  let { colour, ground, marks } = style
  const codes = parameters.split(';')
  for (let at = 0; at < codes.length; at++) {
    const [code = 0, ...more] = codes[at]!.split(':').map(Number)
    const mark = MARKS[code]
    if (code === 0) [colour, ground, marks] = [null, null, []]
    else if (mark !== undefined && more[0] !== 0) marks = [...marks.filter(one => one !== mark), mark]
    else if (mark !== undefined) marks = marks.filter(one => one !== mark)
    else if (UNMARKS[code] !== undefined) marks = marks.filter(one => !UNMARKS[code]!.includes(one))
    else if (code === 39) colour = null
    else if (code === 49) ground = null
    else if (code === 38 || code === 48) {
      // `38;5;N` and `38;2;R;G;B`, or the same with colons.
      const values = more.length > 0 ? more : codes.slice(at + 1).map(Number)
      const size = values[0] === 5 ? 2 : values[0] === 2 ? 4 : 1
      if (more.length === 0) at += size
      const found = values[0] === 5 ? ofPalette(values[1] ?? 0) : ofRgb(values.filter(Number.isFinite).slice(-3))
      if (code === 38) colour = found
      else ground = found
    } else if (code >= 30 && code <= 37) colour = COLOURS[code - 30]!
    else if (code >= 40 && code <= 47) ground = COLOURS[code - 40]!
    else if (code >= 90 && code <= 97) colour = code === 90 ? 'grey' : COLOURS[code - 90]!
    else if (code >= 100 && code <= 107) ground = code === 100 ? 'grey' : COLOURS[code - 100]!
  }
  return { colour, ground, marks }
}

// The nearest of the named colours, because only those are readable on light and on dark paper.

function ofPalette(number: number): Colour {
  if (number < 16) return number === 8 ? 'grey' : COLOURS[number % 8]!
  if (number >= 232) return ofRgb(Array(3).fill(8 + 10 * (number - 232)))
  const at = number - 16
  return ofRgb([Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map(level => level * 51))
}

function ofRgb([red = 0, green = 0, blue = 0]: readonly number[]): Colour {
  const [low, high] = [Math.min(red, green, blue), Math.max(red, green, blue)]
  if (high - low < 40) return high < 60 ? 'black' : high < 170 ? 'grey' : 'white'
  const middle = (low + high) / 2
  return COLOURS[Number(red > middle) + 2 * Number(green > middle) + 4 * Number(blue > middle)]!
}

const looks = new WeakMap<Style, string>()

/** Black and white are ink, as neither is readable on both papers. */
function lookOf(style: Style): string {
  const known = looks.get(style)
  if (known !== undefined) return known
  const isInverse = style.marks.includes('inverse')
  const [colour, ground] = isInverse ? [style.ground, style.colour ?? 'white'] : [style.colour, style.ground]
  const names = [
    ...(colour === null || colour === 'black' || colour === 'white' || ground !== null ? [] : [colour]),
    ...(ground === null ? [] : [`on-${ground}`]),
    ...style.marks.filter(mark => mark !== 'inverse'),
  ]
  const look = names.map(name => `t-${name}`).join(' ')
  looks.set(style, look)
  return look
}
