// Reads the text of an event stream piece by piece, wherever it is cut, as the HTML standard says: lines end with LF, CR or CRLF,
// a blank line ends an event, an id holds until the next one.

export interface StreamEvent {
  /** `message` when it has none. */
  readonly name: string
  /** As it was sent; the service sends JSON. */
  readonly data: string
  /** Where the stream stands behind it, to come back with; null for what is live only, and is never told again. */
  readonly id: string | null
}

/** More than any event of the service; a line without end must not fill the memory. */
const EVENT_MAX_CHARS = 16_000_000

export class EventText {
  #id: string
  /** Did the event that is being read say one of its own? */
  #isNumbered = false
  #rest = ''
  /** Of `#rest`, so much was looked through. */
  #seen = 0
  #endedWithCr = false
  #isFirst = true
  #name = ''
  #data: string[] = []
  #chars = 0
  #retryMs: number | null = null

  constructor(id = '') {
    this.#id = id
  }

  /** What to come back with. Counts only whole events, and ids that came alone. */
  get id(): string {
    return this.#lastId
  }
  #lastId = ''

  /** How long to wait before coming back; null when nobody said. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** The events that are whole now. */
  read(text: string): readonly StreamEvent[] {
    const events: StreamEvent[] = []
    for (const line of this.#lines(text)) {
      if (line === '') this.#dispatch(events)
      else this.#field(line)
    }
    return events
  }

  #lines(text: string): readonly string[] {
    const lines: string[] = []
    let fresh = text
    if (this.#isFirst && fresh !== '') {
      this.#isFirst = false
      if (fresh.startsWith('\uFEFF')) fresh = fresh.slice(1)
    }
    if (this.#endedWithCr && fresh.startsWith('\n')) fresh = fresh.slice(1)
    if (fresh !== '') this.#endedWithCr = false
    const all = this.#rest + fresh
    let from = 0
    const ends = /\r\n|\r|\n/g
    ends.lastIndex = this.#seen
    for (let end = ends.exec(all); end !== null; end = ends.exec(all)) {
      lines.push(all.slice(from, end.index))
      from = end.index + end[0].length
      if (end[0] === '\r' && from === all.length) this.#endedWithCr = true
    }
    this.#rest = all.slice(from)
    this.#seen = this.#rest.length
    if (this.#rest.length + this.#chars > EVENT_MAX_CHARS) throw new EventTooLong()
    return lines
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#name = value
    else if (field === 'id' && !value.includes('\0')) {
      this.#id = value
      this.#isNumbered = true
    } else if (field === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value)
    else if (field === 'data') {
      this.#data.push(value)
      this.#chars += value.length
    }
  }

  #dispatch(events: StreamEvent[]): void {
    this.#lastId = this.#id
    if (this.#data.length > 0) {
      const id = this.#isNumbered ? this.#id : null
      events.push({ name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n'), id })
    }
    this.#isNumbered = false
    this.#name = ''
    this.#data = []
    this.#chars = 0
  }
}

/** Thrown when an event has no end. */
export class EventTooLong extends Error {
  override readonly name = 'EventTooLong'
}
