// Chooses the files and folders of a write scope. Each file has a likelihood, from its rank and from past changes together with
// the best files. The most likely ones are merged into folders until the list is short enough for a person, and widened to
// folders that probably contain missed or new files, within a budget of open files.

import { asksFirst } from '../../../domain/plan-rules/instruction-file.ts'
import type { PastChange, RankedFile } from '../planner.ts'
import { type FileRole, isAside, isMetadata, roleOf } from './file-role.ts'

export interface EntryInput {
  readonly ranked: readonly RankedFile[]
  readonly paths: readonly string[]
  readonly history: readonly PastChange[]
  /** Files that no entry may include. */
  readonly closed: ReadonlySet<string>
  /** Files that are no reason for an entry; a folder may hold them. */
  readonly unlikely?: ReadonlySet<string>
  /** The role to include: files of other roles that changed together with the best get no entries. */
  readonly role: FileRole
  /** Files whose co-changes count; by default the best ranked ones. */
  readonly leads?: readonly string[]
  /** Likelihood of a file that does not exist yet. */
  readonly unseen: number
  /** How many files the entries may include. */
  readonly budget: number
  readonly entries: number
}

/** Files, and folders as `dir/**`. */
export function scopeEntries(input: EntryInput): readonly string[] {
  const { paths, closed, budget, entries } = input
  const likely = likelihoods(input)
  const all = foldersOf([...likely.keys()], paths, closed)
  const folders = new Map([...all].filter(([, files]) => files.length <= budget))
  const beside = shareByFolder(likely, input.unseen)
  const order = [...likely].filter(([, share]) => share >= GAIN_MIN).sort((a, b) => b[1] - a[1])
  let chosen: readonly string[] = order.slice(0, Math.min(TAKEN_MAX, budget)).map(([file]) => file)
  const openBy = (some: readonly string[]): ReadonlySet<string> =>
    new Set(some.flatMap(entry => folders.get(entry) ?? [entry]))
  const joined = (folder: string): readonly string[] => [...chosen.filter(entry => !holds(folder, entry)), folder]
  while (chosen.length > entries) {
    const open = openBy(chosen)
    let best: { readonly next: readonly string[]; readonly price: number } | null = null
    for (const [folder, files] of folders) {
      const next = joined(folder)
      if (next.length >= chosen.length) continue
      const more = files.filter(file => !open.has(file)).length
      const price = more / (chosen.length - next.length)
      if (open.size + more <= budget && (best === null || price < best.price)) best = { next, price }
    }
    // The least likely is last.
    const last = chosen.findLast(entry => !entry.endsWith('/**')) ?? chosen.at(-1)
    chosen = best?.next ?? chosen.filter(entry => entry !== last)
  }
  for (let round = 0; round < entries; round++) {
    const open = openBy(chosen)
    let best: { readonly next: readonly string[]; readonly worth: number } | null = null
    for (const [folder, files] of folders) {
      const next = joined(folder)
      const more = files.filter(file => !open.has(file))
      if (chosen.includes(folder) || next.length > entries || open.size + more.length > budget) continue
      const gain = more.reduce((sum, file) => sum + (likely.get(file) ?? 0), unseenIn(folder, beside, chosen))
      const worth = gain / (1 + (COST * more.length) / budget)
      if (gain >= GAIN_MIN && (best === null || worth > best.worth)) best = { next, worth }
    }
    if (best === null) break
    chosen = best.next
  }
  return chosen
}

/** An entry that adds less likelihood than this is not worth a line. */
const GAIN_MIN = 0.008
/** Number of files before merging. */
const TAKEN_MAX = 12
/** Cost of the whole budget, as a divisor of the gain. */
const COST = 1.5
const FIRST = 0.65
/** Weight of the files that changed together with the leads. */
const TOGETHER = 1
const LOOKED_AT = 2
const WIDE_CHANGE = 20

function likelihoods({
  ranked,
  paths,
  history,
  closed,
  unlikely,
  role,
  leads,
}: EntryInput): ReadonlyMap<string, number> {
  const known = new Set(paths)
  const top = ranked[0]?.score ?? 1
  const likely = new Map<string, number>()
  const isOpen = (path: string): boolean =>
    known.has(path) && !closed.has(path) && unlikely?.has(path) !== true && !asksFirst(path)
  ranked.forEach(({ path, score, reason }, place) => {
    if (!isOpen(path) || score <= 0) return
    const plain = place === 0 ? FIRST : (0.3 * (score / top) ** 3) / (place < 3 ? 1 : place < 6 ? 1.5 : 2.5)
    likely.set(path, isMetadata(path) && !reason.includes('the goal names it') ? plain / 5 : plain)
  })
  const first = (leads ?? ranked.map(({ path }) => path)).slice(0, LOOKED_AT)
  first.forEach((path, place) => {
    const share = leads === undefined ? (likely.get(path) ?? 0) : FIRST / (1 + 2 * place)
    for (const [other, together] of partnersOf(path, history)) {
      if (!isOpen(other) || roleOf(other) !== role || isMetadata(other) || isAside(other)) continue
      const before = likely.get(other) ?? 0
      likely.set(other, before + (1 - before) * share * together * TOGETHER)
    }
  })
  return likely
}

/** How often others changed with a file, relative to its changes; small changes weigh more. */
function partnersOf(path: string, history: readonly PastChange[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  let changes = 0
  for (const { files } of history) {
    if (files.length > WIDE_CHANGE || !files.includes(path)) continue
    changes++
    for (const file of files) if (file !== path) counts.set(file, (counts.get(file) ?? 0) + 1 / Math.sqrt(files.length))
  }
  return new Map([...counts].map(([file, count]) => [file, count / (changes + 3)]))
}

/** Folders around likely files that may be included, as `dir/**`, with their contents. */
function foldersOf(
  likely: readonly string[],
  paths: readonly string[],
  closed: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const folders = new Map<string, string[]>()
  for (const path of likely) for (const folder of around(path)) folders.set(folder, [])
  for (const path of paths) {
    const own = around(path).filter(folder => folders.has(folder))
    const isClosed = own.length > 0 && (closed.has(path) || asksFirst(path) || /(^|\/)\.[^/]+\//.test(path))
    for (const folder of own) {
      if (isClosed) folders.delete(folder)
      else folders.get(folder)!.push(path)
    }
  }
  return new Map([...folders].map(([folder, files]) => [`${folder}/**`, files]))
}

/** `a/b/c.ts` is in `a/b` and in `a`. */
export function around(path: string): readonly string[] {
  const folders: string[] = []
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at))
  return folders
}

/** New files are most likely beside the likely ones. */
function shareByFolder(likely: ReadonlyMap<string, number>, mass: number): ReadonlyMap<string, number> {
  const shares = new Map<string, number>()
  let total = 0
  for (const [path, share] of likely) {
    total += share
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    shares.set(folder, (shares.get(folder) ?? 0) + share)
  }
  return new Map([...shares].map(([folder, share]) => [folder, (mass * share) / Math.max(total, FIRST)]))
}

function unseenIn(folder: string, beside: ReadonlyMap<string, number>, chosen: readonly string[]): number {
  let sum = 0
  for (const [own, share] of beside) {
    const file = `${own}/new`
    if (holds(folder, file) && !chosen.some(entry => holds(entry, file))) sum += share
  }
  return sum
}

/** Does the folder include the other entry? */
export const holds = (folder: string, entry: string): boolean =>
  folder.endsWith('/**') && folder !== entry && entry.startsWith(folder.slice(0, -2))
