// Search by meaning: the vectors of items near that of a question. Items get their vector at the first search that needs it. Only vectors of
// one model and dimension are compared, one by one: of 100,000 items that takes less than asking the model.

import type { Models } from '../../runners/models.ts'
import type { Memories, MemoryPlace, MemoryVector, StoredMemory } from '../../stores/memories.ts'

export interface Near {
  readonly item: StoredMemory
  /** The cosine of the angle between the vectors. */
  readonly score: number
}

interface Part {
  readonly store: Memories
  readonly places: readonly MemoryPlace[]
}

interface Question {
  readonly text: string
  readonly limit: number
  readonly now: number
  readonly textOf: (item: StoredMemory) => string
}

type Asked =
  | { readonly near: readonly Near[]; readonly model: string; readonly note?: string }
  | { readonly note: string }

/** In one request, with the question. */
const TEXTS_MAX = 256
const TEXT_MAX = 8_000
const REQUESTS_MAX = 4
const PAGE = 5_000
/** Places whose vectors stay in the process. */
const PLACES_MAX = 8

export class Meanings {
  readonly #models: Pick<Models, 'list' | 'open'>
  readonly #known = new Map<string, Vectors>()
  /** Up to this number every item of a place has a vector of the model. */
  readonly #whole = new Map<string, number>()

  constructor(models: Pick<Models, 'list' | 'open'>) {
    this.#models = models
  }

  /** Null: the settings name no model for vectors. */
  async ask(parts: readonly Part[], question: Question): Promise<Asked | null> {
    const { embedding: model } = await this.#models.list()
    if (model === null) return null
    const opened = await this.#models.open({ use: model, purpose: 'memory' })
    if (!opened.ok) return wordsInstead(model, opened.failure.message)
    let asked: readonly number[] | null = null
    let lacking = 0
    for (let requests = 0; requests < REQUESTS_MAX && (asked === null || lacking > 0); requests++) {
      const bare = await this.#withoutVector(parts, { ...question, model })
      const texts = [...(asked === null ? [question.text] : []), ...bare.map(({ item }) => question.textOf(item))]
      if (texts.length === 0) break
      const answer = await opened.model.embed({ texts: texts.map(text => text.slice(0, TEXT_MAX)) })
      if (!answer.ok) return wordsInstead(model, answer.failure.message)
      const vectors = answer.value.slice(asked === null ? 1 : 0)
      asked ??= answer.value[0]!
      for (const { store } of parts) {
        const own = bare.flatMap((one, at): readonly MemoryVector[] =>
          one.store === store ? [{ no: one.item.no, vector: unit(vectors[at]!) }] : [],
        )
        if (own.length > 0) await store.putVectors(own, model)
      }
      lacking = bare.length < TEXTS_MAX ? 0 : bare.length
    }
    const near = await this.#nearest(parts, model, unit(asked!), question)
    return lacking === 0 ? { near, model } : { near, model, note: 'some items have no vector yet: search again' }
  }

  /** At most `TEXTS_MAX`. A process looks through all items once, then only through newer ones. */
  async #withoutVector(
    parts: readonly Part[],
    { model, now }: { readonly model: string; readonly now: number },
  ): Promise<readonly { readonly store: Memories; readonly item: StoredMemory }[]> {
    const found: { readonly store: Memories; readonly item: StoredMemory }[] = []
    for (const { store, places } of parts) {
      for (const place of places) {
        const key = JSON.stringify([place.scope, place.owner, model])
        const after = this.#whole.get(key) ?? 0
        const limit = TEXTS_MAX - found.length
        if (limit <= 0) break
        const [newest] = await store.find({ places: [place], after, now, limit: 1 })
        if (newest === undefined) continue
        const items = await store.find({ places: [place], lacks: model, after, now, limit })
        if (items.length === 0) this.#whole.set(key, newest.no)
        for (const item of items) found.push({ store, item })
      }
    }
    return found
  }

  async #nearest(
    parts: readonly Part[],
    model: string,
    asked: Float32Array,
    { limit, now }: Question,
  ): Promise<Near[]> {
    const near: Near[] = []
    for (const [at, { store, places }] of parts.entries()) {
      for (const place of places) {
        const vectors = await this.#vectorsOf(`${at} ${model}`, store, place, model, asked.length)
        // Some of them may have been replaced or have expired.
        for (let most = limit * 2; ; most *= 4) {
          const best = vectors.nearest(asked, most)
          const numbers = best.map(({ no }) => no)
          const items = await store.find({ places: [place], among: numbers, now, limit: numbers.length })
          if (items.length < limit && numbers.length === most && most < AMONG_MAX) continue
          const scores = new Map(best.map(({ no, score }) => [no, score]))
          near.push(...items.map(item => ({ item, score: scores.get(item.no)! })))
          break
        }
      }
    }
    return near
  }

  async #vectorsOf(
    of: string,
    store: Memories,
    place: MemoryPlace,
    model: string,
    dimension: number,
  ): Promise<Vectors> {
    const key = JSON.stringify([of, place.scope, place.owner, dimension])
    const vectors = this.#known.get(key) ?? new Vectors(dimension)
    this.#known.delete(key)
    this.#known.set(key, vectors)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= PLACES_MAX) break
      this.#known.delete(oldest)
    }
    for (;;) {
      const page = await store.vectors({ place, model, dimension, after: vectors.last, limit: PAGE })
      for (const one of page) vectors.add(one.vectorNo, one)
      if (page.length < PAGE) return vectors
    }
  }
}

const AMONG_MAX = 2_000

const wordsInstead = (model: string, why: string): Asked => ({
  note: `found by words, because ${model} was not asked: ${why}`,
})

/** Of length one, so that the product of two of them is the cosine. */
function unit(numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers)
  return Float32Array.from(numbers, number => (length === 0 ? 0 : number / length))
}

const BLOCK = 4_096

/** The vectors of one place in blocks of numbers, which cost a fraction of objects. */
class Vectors {
  readonly #dimension: number
  readonly #blocks: Float32Array[] = []
  readonly #numbers: number[] = []
  last = 0

  constructor(dimension: number) {
    this.#dimension = dimension
  }

  add(vectorNo: number, { no, vector }: MemoryVector): void {
    const at = this.#numbers.length % BLOCK
    if (at === 0) this.#blocks.push(new Float32Array(BLOCK * this.#dimension))
    this.#blocks.at(-1)!.set(vector, at * this.#dimension)
    this.#numbers.push(no)
    this.last = vectorNo
  }

  nearest(asked: Float32Array, most: number): readonly { readonly no: number; readonly score: number }[] {
    const best: { readonly no: number; readonly score: number }[] = []
    for (let index = 0; index < this.#numbers.length; index++) {
      const block = this.#blocks[Math.floor(index / BLOCK)]!
      const score = product(block, (index % BLOCK) * this.#dimension, asked)
      if (best.length === most && score <= best.at(-1)!.score) continue
      const place = best.findIndex(one => one.score < score)
      best.splice(place < 0 ? best.length : place, 0, { no: this.#numbers[index]!, score })
      if (best.length > most) best.pop()
    }
    return best
  }
}

/** A function of its own, so that it is compiled after a few vectors: 192 instead of 480 ms of CPU for 100,000 of 384 numbers. */
function product(block: Float32Array, start: number, asked: Float32Array): number {
  let sum = 0
  for (let at = 0; at < asked.length; at++) sum += block[start + at]! * asked[at]!
  return sum
}
