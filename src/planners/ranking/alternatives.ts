// Folders with the same parent that hold the same (`adapter/bun/conninfo.ts`, `adapter/deno/conninfo.ts`) are alternatives. Where the goal
// names one of them ("the vercel adapter"), its files are meant, and what the others have in common is not, whatever words it shares.

import { type GoalWords, wordParts } from '../goal.ts'

/** `among`: the parent of the alternatives. */
export type Alternative = { readonly among: string; readonly isMeant: boolean } | null

export function alternativesIn(goal: GoalWords, paths: readonly string[]): (path: string) => Alternative {
  const names = namesIn(goal)
  const isNamed = remembered(child => names.has(plain(child)))
  const named = new Map<string, Set<string>>()
  const shared = new Map<string, number>()
  for (const path of paths)
    eachFolder(path, (parent, child) => {
      if (isNamed(child)) named.set(parent, (named.get(parent) ?? new Set()).add(child))
    })
  if (named.size === 0) return () => null
  for (const path of paths)
    eachFolder(path, (parent, child, rest) => {
      if (!named.has(parent) || named.get(parent)!.has(child)) return
      shared.set(`${parent}*/${rest}`, (shared.get(`${parent}*/${rest}`) ?? 0) + 1)
    })
  return path => {
    let found: Alternative = null
    eachFolder(path, (parent, child, rest) => {
      if (named.get(parent)?.has(child) === true) found = { among: parent, isMeant: true }
      else if (named.has(parent))
        found = shared.get(`${parent}*/${rest}`)! >= ALIKE_MIN ? { among: parent, isMeant: false } : null
    })
    return found
  }
}

const ALIKE_MIN = 2

/** Thousands of files lie in the same few folders. */
function remembered(ask: (text: string) => boolean): (text: string) => boolean {
  const known = new Map<string, boolean>()
  return text => {
    const answer = known.get(text) ?? ask(text)
    known.set(text, answer)
    return answer
  }
}

/** `a/b/c.ts` lies in `a`, as `b/c.ts`, and in the folder `b` of `a/`, as `c.ts`. */
function eachFolder(path: string, found: (parent: string, child: string, rest: string) => void): void {
  for (let from = 0, to = path.indexOf('/'); to >= 0; from = to + 1, to = path.indexOf('/', from))
    found(path.slice(0, from), path.slice(from, to), path.slice(to + 1))
}

/** `Foo-bars` and `foo_bar` are `foobar`. */
const plain = (part: string): string =>
  part
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/(?<=\p{L}{4})s$/u, '')

/** The words of the goal, and those that stand side by side, as one: "lambda edge" is also `lambdaedge`. */
function namesIn({ terms, wanted }: GoalWords): ReadonlySet<string> {
  const known = new Set(terms.map(({ word }) => word))
  const words = (wanted.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap(wordParts).map(word => word.toLowerCase())
  return new Set(
    words.flatMap((word, at) =>
      known.has(word) && word.length >= 3 ? [plain(word), plain(`${words[at - 1] ?? ''}${word}`)] : [],
    ),
  )
}
