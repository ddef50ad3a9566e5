// The outline of a Markdown plan: its sections, and in them entries, each of which will be a task, with the lines that belong
// to it and the entries inside it. Which headings and items begin an entry is what tells the kinds of Markdown plans apart; the
// rest is the same for all of them.

import { dedent, type Item, type Line, trimmed } from './markdown-lines.ts'

export interface BodyLine {
  readonly at: number
  readonly text: string
  readonly code: boolean
}

export interface Entry {
  readonly at: number
  readonly number: string | null
  readonly box: string | null
  readonly text: string
  readonly body: BodyLine[]
  readonly criteria: BodyLine[]
  readonly children: Entry[]
}

export interface Section {
  readonly at: number
  /** 0 before the first heading. */
  readonly level: number
  readonly title: string
  readonly body: BodyLine[]
  readonly entries: Entry[]
  /** Items of a section that lists what must be true in the end. */
  readonly criteria: BodyLine[]
}

export interface Style {
  /** The entry that a heading begins; null when it begins none. */
  headed(
    text: string,
    level: number,
  ): { readonly number: string | null; readonly box: string | null; readonly text: string } | null
  /** Does a heading begin a section? Else it is text of the one around it. */
  sectioned(text: string, level: number): boolean
  /** Does an item that stands in no other begin an entry? */
  listed(item: Item, section: Section): boolean
}

export const NESTED_MAX = 16

export const DONE_TITLE = /^(?:definition of done|done when|acceptance criteria|success criteria)\b:?$/i
/** What introduces the criteria of an entry. */
export const CRITERIA_LINE =
  /^(?:[-*+] +)?(?:\*\*|__)?(?:acceptance criteria|acceptance|accept|success criteria|done when)(?:\*\*|__)? *: *(?:\*\*|__)?$/i

interface Open {
  readonly entry: Entry
  /** Where it stands; -1 for one that a heading began, which holds everything below it. */
  readonly indent: number
  readonly content: number
  readonly level: number
}

export interface Outline {
  readonly sections: readonly Section[]
  /** The first line that is nested deeper than anybody could mean. */
  readonly tooDeep: number | null
}

export function outlineOf(lines: readonly Line[], style: Style): Outline {
  return new Reader(style).read(lines)
}

class Reader {
  readonly #style: Style
  #section: Section = section(1, 0, '')
  readonly #sections: Section[] = [this.#section]
  #open: Open[] = []
  /** The criterion list that is going on, and where its items stand. */
  #criteria: { readonly list: BodyLine[]; indent: number | null; boxed?: boolean } | null = null
  #afterBlank = false
  #tooDeep: number | null = null

  constructor(style: Style) {
    this.#style = style
  }

  read(lines: readonly Line[]): Outline {
    for (const line of lines) {
      const { form } = line
      if (form.type === 'heading') this.#heading(line, form.level, form.text)
      else if (form.type === 'rule') this.#rule(line)
      else if (form.type === 'item') this.#item(line, form)
      else this.#text(line)
      this.#afterBlank = form.type === 'blank'
    }
    return { sections: this.#sections, tooDeep: this.#tooDeep }
  }

  #heading(line: Line, level: number, text: string): void {
    const entry = this.#style.headed(text, level)
    if (entry !== null) {
      while (this.#open.length > 0 && !(this.#open.at(-1)!.indent < 0 && this.#open.at(-1)!.level < level))
        this.#open.pop()
      this.#begin({ ...entry, at: line.at, body: [], criteria: [], children: [] }, -1, 0, level)
      return
    }
    const top = this.#open.find(({ indent }) => indent < 0)
    if (top !== undefined && level > top.level && CRITERIA_LINE.test(`${text}:`)) {
      this.#open = this.#open.slice(0, this.#open.indexOf(top) + 1)
      this.#criteria = { list: top.entry.criteria, indent: null }
      return
    }
    if (!this.#style.sectioned(text, level)) {
      this.#text(line)
      return
    }
    this.#section = section(line.at, level, text)
    this.#sections.push(this.#section)
    this.#open = []
    this.#criteria = level > 1 && DONE_TITLE.test(text) ? { list: this.#section.criteria, indent: null } : null
  }

  /** A line across the page ends the section. What comes before the first heading is not ended by it. */
  #rule(line: Line): void {
    if (this.#section.level === 0 || this.#open.some(({ indent }) => indent < 0)) {
      this.#text(line)
      return
    }
    this.#section = section(line.at, this.#section.level, '')
    this.#sections.push(this.#section)
    this.#open = []
    this.#criteria = null
  }

  #item(line: Line, item: Item): void {
    if (this.#criteria !== null && this.#isCriterion(line, item)) {
      this.#criteria.indent ??= line.indent
      this.#criteria.boxed ??= item.box !== null
      this.#criteria.list.push({ at: line.at, text: item.text, code: false })
      return
    }
    this.#criteria = null
    const around = this.#open.findLastIndex(({ indent }) => indent < line.indent)
    const nested = around !== -1
    if (!(nested ? item.box !== null : this.#style.listed(item, this.#section))) {
      this.#text(line)
      return
    }
    this.#open = this.#open.slice(0, around + 1)
    const { number, box, text } = item
    this.#begin({ at: line.at, number, box, text, body: [], criteria: [], children: [] }, line.indent, item.content, 7)
  }

  /** Criteria all have boxes, or none has; a box behind plain criteria is a task again. */
  #isCriterion(line: Line, item: Item): boolean {
    const { indent, boxed } = this.#criteria!
    if (boxed === false && item.box !== null) return false
    if (indent !== null) return line.indent >= indent
    const top = this.#open.at(-1)
    return top === undefined || line.indent >= top.content || line.indent > top.indent
  }

  #begin(entry: Entry, indent: number, content: number, level: number): void {
    const around = this.#open.at(-1)
    if (this.#open.length >= NESTED_MAX) this.#tooDeep ??= entry.at
    ;(around === undefined ? this.#section.entries : around.entry.children).push(entry)
    this.#open.push({ entry, indent, content, level })
    this.#criteria = null
  }

  #text(line: Line): void {
    const { form, at, raw, indent } = line
    const blank = form.type === 'blank'
    if (this.#criteria !== null) {
      if (blank) return
      const last = this.#criteria.list.at(-1)
      if (last !== undefined && indent > (this.#criteria.indent ?? 0) && form.type === 'text') {
        this.#criteria.list[this.#criteria.list.length - 1] = { ...last, text: `${last.text} ${trimmed(raw)}` }
        return
      }
      this.#criteria = null
    }
    // Text further left, after a blank line, has left the list; without one it still goes on.
    if (!blank && this.#afterBlank)
      while (this.#open.length > 0 && this.#open.at(-1)!.indent >= indent) this.#open.pop()
    const top = this.#open.at(-1)
    const text = dedent(raw, top?.content ?? 0)
    if (top !== undefined && form.type !== 'code' && CRITERIA_LINE.test(trimmed(text))) {
      this.#criteria = { list: top.entry.criteria, indent: null }
      return
    }
    const body = top === undefined ? this.#section.body : top.entry.body
    body.push({ at, text: blank ? '' : text, code: form.type === 'code' })
  }
}

function section(at: number, level: number, title: string): Section {
  return { at, level, title, body: [], entries: [], criteria: [] }
}
