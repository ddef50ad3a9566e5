// Luck that can be had again: a generator made from a seed and a label. Every component forks its own, so that one more draw
// in one of them does not shift the others.

export class Random {
  readonly #path: string
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(path: string) {
    this.#path = path
    ;[this.#a, this.#b, this.#c, this.#d] = mix(path)
    for (let round = 0; round < 12; round++) this.u32()
  }

  fork(label: string): Random {
    return new Random(`${this.#path}/${label}`)
  }

  /** sfc32. */
  u32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }

  /** In [0, 1). */
  fraction(): number {
    return this.u32() / 4294967296
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1))
  }

  /** Draws only when there is something to draw, so that a fault turned off costs no luck. */
  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.fraction() * list.length)]!
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.u32() & 0xff)
  }
}

/** Four words from text. */
function mix(text: string): [number, number, number, number] {
  const words: [number, number, number, number] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 0xdeadbeef]
  for (let at = 0; at < text.length; at++) {
    for (let word = 0; word < 4; word++) {
      words[word] = Math.imul(words[word]! ^ text.charCodeAt(at), 0x01000193 + word * 2)
      words[word] = (words[word]! ^ (words[word]! >>> 13)) | 0
    }
  }
  return words
}
