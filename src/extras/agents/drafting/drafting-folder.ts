// The folder of a drafting: the agent's home with its session, and the plans it submitted. A drafting that was interrupted, by
// its limits or a crash, leaves the folder behind, and the next drafting of the same goal by the same agent takes it over. Its
// name shows the owner: `<draft key>.<process>`, or `.kept` without one. Taking over is a single rename, so no two draftings
// share a folder.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Failure } from '../../../domain/result.ts'
import { codeOf } from '../../../safety/safety-refusal.ts'

export interface DraftingFolder {
  readonly folder: string
  /** Key of its model calls, the same for all attempts. */
  readonly key: string
  /** How many attempts were made before. */
  readonly attempts: number
  begin(): void
  /** Kept if the same agent could continue later. `null`: the outcome is unknown. */
  end(how: { readonly ok: true } | { readonly ok: false; readonly failure: Failure } | null): void
}

interface Noted {
  readonly key: string
  readonly attempts: number
}

interface Wanted {
  readonly stateDir: string
  readonly agent: string
  readonly model?: string
  readonly what: readonly string[]
  readonly now: number
  /** A new id, for the key. */
  readonly id: string
}

const CUT_SHORT: ReadonlySet<string> = new Set(['model:cap', 'model:cancelled', 'agent:ended', 'timeout'])

/** Abandoned folders are removed after this time. */
const KEPT_MS = 7 * 24 * 60 * 60_000

export function openDraftingFolder({ stateDir, agent, model = '', what, now, id }: Wanted): DraftingFolder {
  const place = join(stateDir, 'drafting')
  mkdirSync(place, { recursive: true, mode: 0o700 })
  const name = createHash('sha256')
    .update(JSON.stringify([agent, model, ...what]))
    .digest('hex')
    .slice(0, 16)
  const folder = join(place, `${name}.${process.pid}`)
  const left = readdirSync(place).filter(each => !isAtWork(each))
  for (const each of left)
    if (isOld(join(place, each), now)) rmSync(join(place, each), { recursive: true, force: true })
  // If this process drafts the same goal already, this drafting starts from scratch in a folder of its own.
  const isAlone = statSync(folder, { throwIfNoEntry: false }) === undefined
  const own = isAlone ? folder : join(place, `${id}.${process.pid}`)
  const found = left.find(each => each.startsWith(`${name}.`) && isAlone && take(join(place, each), own))
  if (found === undefined) mkdirSync(own, { mode: 0o700 })
  const file = join(own, 'drafting.json')
  const noted = (found === undefined ? null : read(file)) ?? { key: `draft/${id}`, attempts: 0 }
  let { attempts } = noted
  return {
    ...{ folder: own, key: noted.key, attempts: noted.attempts },
    begin() {
      attempts += 1
      writeFileSync(file, JSON.stringify({ key: noted.key, attempts } satisfies Noted), { mode: 0o600 })
    },
    end(how) {
      const isOver = how !== null && (how.ok || !CUT_SHORT.has(how.failure.code ?? ''))
      if (isOver) return rmSync(own, { recursive: true, force: true })
      const kept = join(place, `${name}.kept`)
      rmSync(kept, { recursive: true, force: true })
      renameSync(own, kept)
    },
  }
}

function isAtWork(name: string): boolean {
  const pid = Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)
  if (pid === 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function isOld(folder: string, now: number): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false })
  return stat !== undefined && stat.mtimeMs < now - KEPT_MS
}

function take(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

function read(file: string): Noted | null {
  try {
    const { key, attempts } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Noted>
    return typeof key === 'string' && typeof attempts === 'number' ? { key, attempts } : null
  } catch {
    return null
  }
}
