// The interface of memory by key. `MemoryRoom` is implemented by `extras/memory` and knows no callers; `Memory` is what a caller has of it,
// see permissions/own-memory.ts.

import type { Actor, Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { MemoryItem, MemoryScope } from '../domain/memory/memory-items.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Models } from '../runners/models.ts'
import type { Memories, MemoryPlace } from '../stores/store.ts'
import type { SubmitOptions } from './engine.ts'

export interface MemoryRoom {
  /** Replaces the item of its key; but what is not trusted never replaces what is. Null, or why not. */
  put(owner: string, item: Omit<MemoryItem, 'at'>): Promise<Refusal | null>
  /** In the order of the places. Expired items are not there. */
  get(places: readonly MemoryPlace[], keys: readonly string[]): Promise<readonly MemoryItem[]>
  search(places: readonly MemoryPlace[], query: MemorySearch): Promise<FoundMemory>
  /** False if there was none; with `question`, only what was proposed in it. */
  forget(place: MemoryPlace, key: string, question?: string): Promise<boolean>
  close(): Promise<void>
}

export interface MemoryExtra {
  openMemory(options: {
    readonly store: Memories
    /** That of people. Null: nothing was ever written there. */
    readonly user: (
      create: boolean,
    ) => Promise<{ readonly memories: Memories; readonly close?: () => Promise<void> } | null>
    readonly models: Pick<Models, 'list' | 'open'>
    readonly now: () => Millis
    /** Of the workspace, with `kb/`. */
    readonly root: string
  }): MemoryRoom
}

export interface MemorySearch {
  /** Absent: all items, newest first. */
  readonly text?: string | undefined
  readonly limit?: number | undefined
  /** From the page before. */
  readonly before?: string | undefined
  /** Only by words, also where a model for vectors is configured. */
  readonly wordsOnly?: true | undefined
}

export interface FoundMemory {
  readonly items: readonly (MemoryItem & { readonly score?: number })[]
  /** `words`: they hold these words. `meaning`: their vectors are near, nearest first. */
  readonly by: 'words' | 'meaning'
  readonly model?: string
  /** What the answer lacks, in a sentence. */
  readonly note?: string
  readonly next: string | null
}

export interface Memory {
  remember(item: NewMemory): Promise<Remembered>
  recall(
    query: MemoryRecall,
  ): Promise<(FoundMemory & { readonly refusal?: never }) | { readonly refusal: Refusal; readonly items?: undefined }>
  forget(
    item: Pick<NewMemory, 'scope' | 'plan' | 'key'>,
  ): Promise<{ readonly ok: true; readonly removed: boolean } | { readonly ok: false; readonly refusal: Refusal }>
}

export interface NewMemory {
  readonly key: string
  readonly value: Json
  /** Absent: of the plan if one is named, else of the project. */
  readonly scope?: MemoryScope | undefined
  /** Whose memory it is, or where it comes from. */
  readonly plan?: string | undefined
  readonly task?: TaskName | undefined
  readonly artifact?: Sha256 | undefined
  readonly expiresInMs?: number | undefined
  /** For a proposal. */
  readonly submit?: Pick<SubmitOptions, 'once' | 'asked'> | undefined
}

export type Remembered =
  | { readonly ok: true; readonly status: 'kept'; readonly item: Omit<MemoryItem, 'at'> }
  /** A person is asked in the inbox of the plan. */
  | {
      readonly ok: true
      readonly status: 'proposed'
      readonly plan: PlanId
      readonly name: string
      readonly id: string
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface MemoryRecall extends MemorySearch {
  readonly keys?: readonly string[] | undefined
  readonly plan?: string | undefined
  readonly scope?: MemoryScope | undefined
}

/** Whose user memory a caller has: an agent has that of the person whom it works for. */
export const personOf = ({ actor, person }: { readonly actor: Actor; readonly person?: Actor | undefined }): Actor =>
  person ?? actor

/** The project of these rooms: on a store that several workspaces share, that of this one. */
export const projectOf = ({
  store,
}: {
  readonly store: { readonly shared?: { readonly here: { readonly workspace: string } } }
}): MemoryPlace => ({ scope: 'project', owner: store.shared?.here.workspace ?? '' })
