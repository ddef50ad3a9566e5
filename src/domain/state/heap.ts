// A binary heap with lazy deletion: the reader passes a test, and stale entries are dropped when they come up, so that removal costs
// nothing and every operation is logarithmic.

export class Heap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  push(item: T): void {
    const items = this.#items
    let at = items.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(item, items[parent]!)) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  /** The first item for which `live` holds; drops those before it. */
  peek(live: (item: T) => boolean): T | undefined {
    while (this.#items.length > 0) {
      const first = this.#items[0]!
      if (live(first)) return first
      this.#removeFirst()
    }
    return undefined
  }

  pop(live: (item: T) => boolean): T | undefined {
    const first = this.peek(live)
    if (first !== undefined) this.#removeFirst()
    return first
  }

  /** Drops a stale first item at once, because a fold of a long journal never peeks. */
  stale(item: T): void {
    if (this.#items[0] === item) this.#removeFirst()
  }

  clear(): void {
    this.#items.length = 0
  }

  #removeFirst(): void {
    const items = this.#items
    const last = items.pop()!
    if (items.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child++
      if (!this.#before(items[child]!, last)) break
      items[at] = items[child]!
      at = child
    }
    items[at] = last
  }
}
