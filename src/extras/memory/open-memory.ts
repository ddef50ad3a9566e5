// Memory by key: items in the store of the project and in that of the person, and claims in `kb/` of the workspace. Found by words; by
// meaning where the user's settings name a model for vectors.

import { MEMORY_SCOPES, type MemoryItem } from '../../domain/memory/memory-items.ts'
import { refuse } from '../../domain/refusal.ts'
import type { FoundMemory, MemoryExtra, MemoryRoom, MemorySearch } from '../../engine/memory.ts'
import type { Memories, MemoryPlace, StoredMemory } from '../../stores/memories.ts'
import { holdsWords, wordsOf } from '../../stores/search/words.ts'
import { readClaims } from './claims.ts'
import { Meanings, type Near } from './meanings.ts'

type Options = Parameters<MemoryExtra['openMemory']>[0]

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000

/** Numbers of items are those of their store. */
interface Part {
  readonly store: Memories
  readonly places: readonly MemoryPlace[]
}

export function openMemory({ store, user, models, now, root }: Options): MemoryRoom {
  let opened: Awaited<ReturnType<Options['user']>> = null
  const users = async (create: boolean): Promise<Memories | null> => {
    opened ??= await user(create)
    return opened?.memories ?? null
  }
  const storeOf = async ({ scope }: Pick<MemoryPlace, 'scope'>, create: boolean): Promise<Memories | null> =>
    scope === 'user' ? await users(create) : store
  const partsOf = async (places: readonly MemoryPlace[]): Promise<readonly Part[]> => {
    const [own, ours] = [places.filter(({ scope }) => scope === 'user'), places.filter(({ scope }) => scope !== 'user')]
    const theirs = own.length === 0 ? null : await users(false)
    return [{ store, places: ours }, ...(theirs === null ? [] : [{ store: theirs, places: own }])]
  }
  const meanings = new Meanings(models)
  const claims = (places: readonly MemoryPlace[]) =>
    places.some(({ scope }) => scope === 'project') ? readClaims(root) : []

  return {
    async put(owner, item) {
      const { scope, key, value, source, trust, expiresAt } = item
      const record = { scope, owner, key, at: now(), expiresAt, body: JSON.stringify({ value, source, trust }) }
      return await (await storeOf(item, true))!.put(record, textOf(item), before => {
        const isKept = before !== null && (before.expiresAt === null || before.expiresAt > now())
        if (trust === 'trusted' || !isKept || itemOf(before).trust === 'untrusted') return null
        return refuse(
          'not-allowed',
          `a person said what '${key}' is, and an agent does not change that`,
          'use another key, or ask the person',
        )
      })
    },

    async get(places, keys) {
      const found = (await Promise.all((await partsOf(places)).map(part => part.store.get(part.places, keys)))).flat()
      const there = found.filter(({ expiresAt }) => expiresAt === null || expiresAt > now()).map(itemOf)
      return [...there, ...claims(places).filter(({ key }) => keys.includes(key))].sort(
        (a, b) => MEMORY_SCOPES.indexOf(a.scope) - MEMORY_SCOPES.indexOf(b.scope),
      )
    },

    async search(places, query) {
      const parts = await partsOf(places)
      const words = query.text === undefined ? undefined : wordsOf(query.text)
      const limit = Math.min(Math.max(1, query.limit ?? LIMIT_DEFAULT), LIMIT_MAX)
      const claimed =
        query.before === undefined
          ? claims(places).filter(item => words === undefined || holdsWords(textOf(item), words))
          : []
      const near = query.before !== undefined || query.wordsOnly === true ? null : await byMeaning(parts, query, limit)
      if (near !== null && 'items' in near)
        return { ...near, items: [...near.items, ...claimed].slice(0, limit), by: 'meaning', next: null }
      // Characters that are no words find nothing.
      const isNone = words?.length === 0
      const page = isNone ? NOTHING : await pageOf(parts, words, { ...query, limit })
      return { ...page, items: [...page.items, ...claimed].slice(0, LIMIT_MAX), by: 'words', ...near }
    },

    async forget(place, key, question) {
      const kept = await storeOf(place, false)
      const isThat = (item: StoredMemory) => question === undefined || itemOf(item).source.question === question
      return (await kept?.remove(place, key, isThat)) === true
    },

    async close() {
      await opened?.close?.()
    },
  }

  /** Nearest first. Null: no model is configured; a note says why it could not be asked. */
  async function byMeaning(
    parts: readonly Part[],
    { text }: MemorySearch,
    limit: number,
  ): Promise<Pick<FoundMemory, 'items' | 'model' | 'note'> | { readonly note: string } | null> {
    if (text === undefined || text.trim() === '') return null
    const asked = await meanings.ask(parts, { text, limit, now: now(), textOf: item => textOf(itemOf(item)) })
    if (asked === null || !('near' in asked)) return asked
    const items = asked.near
      .toSorted((a: Near, b: Near) => b.score - a.score)
      .slice(0, limit)
      .map(({ item, score }) => ({ ...itemOf(item), score: Math.round(score * 1e4) / 1e4 }))
    return { items, model: asked.model, ...(asked.note === undefined ? {} : { note: asked.note }) }
  }

  async function pageOf(
    parts: readonly Part[],
    words: readonly string[] | undefined,
    { before, limit }: MemorySearch & { readonly limit: number },
  ): Promise<Pick<FoundMemory, 'items' | 'next'>> {
    const from = before?.split('.').map(Number) ?? []
    const rows = await Promise.all(
      parts.map(async (part, at) =>
        (await part.store.find({ places: part.places, words, before: from[at], now: now(), limit: limit + 1 })).map(
          row => ({ row, at }),
        ),
      ),
    )
    const all = rows.flat().sort((a, b) => b.row.at - a.row.at || b.row.no - a.row.no)
    const shown = all.slice(0, limit)
    const next = parts.map(
      (_, at) => shown.findLast(one => one.at === at)?.row.no ?? from[at] ?? Number.MAX_SAFE_INTEGER,
    )
    return { items: shown.map(({ row }) => itemOf(row)), next: all.length > limit ? next.join('.') : null }
  }
}

const NOTHING = { items: [], next: null }

function itemOf({ scope, key, at, expiresAt, body }: StoredMemory): MemoryItem {
  const { value, source, trust } = JSON.parse(body) as Pick<MemoryItem, 'value' | 'source' | 'trust'>
  return { scope, key, value, source, trust, at, expiresAt }
}

/** What an item is found by. */
const textOf = ({ key, value }: Pick<MemoryItem, 'key' | 'value'>): string =>
  `${key}\n${typeof value === 'string' ? value : JSON.stringify(value)}`
