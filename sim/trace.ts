// What happened in a simulation, line by line: the last lines to read, and one hash over all of them to compare.

const KEPT = 50

export class Trace {
  readonly #lines: string[] = []
  readonly #keepAll: boolean
  #high = 0xdeadbeef
  #low = 0x41c6ce57
  count = 0

  constructor(options: { readonly keepAll?: boolean } = {}) {
    this.#keepAll = options.keepAll === true
  }

  add(line: string): void {
    this.count++
    for (let at = 0; at < line.length; at++) {
      const code = line.charCodeAt(at)
      this.#high = Math.imul(this.#high ^ code, 2654435761)
      this.#low = Math.imul(this.#low ^ code, 1597334677)
    }
    this.#high = (this.#high ^ (this.#low >>> 15)) | 0
    this.#lines.push(line)
    if (!this.#keepAll && this.#lines.length >= 4 * KEPT) this.#lines.splice(0, this.#lines.length - KEPT)
  }

  last(): readonly string[] {
    return this.#lines.slice(-KEPT)
  }

  all(): readonly string[] {
    return this.#lines
  }

  get hash(): string {
    return `${(this.#high >>> 0).toString(16).padStart(8, '0')}${(this.#low >>> 0).toString(16).padStart(8, '0')}`
  }
}
