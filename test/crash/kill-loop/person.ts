// A person who edits files while plans run and while nobody runs them. She keeps her own record of every byte she wrote, and
// notices, before each edit, whether what she left there is still there.

import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Random } from '../../../sim/random.ts'

export interface Version {
  readonly path: string
  /** Null: she deleted it. */
  readonly text: string | null
  /** A line that stands nowhere else. */
  readonly token: string
  readonly sha256: string | null
  readonly at: number
  /** Made more than three seconds after the last owner whose scope holds the path had died, and before the next began. */
  readonly late: boolean
}

export class Person {
  /** What she left at each path. */
  readonly left = new Map<string, Version>()
  /** Versions she found gone, or deletions she found taken back, when she came to the path again. */
  readonly missed: Version[] = []
  readonly #workspace: string
  readonly #aside: string
  readonly #random: Random
  #count = 0

  constructor(workspace: string, aside: string, random: Random) {
    this.#workspace = workspace
    this.#aside = aside
    this.#random = random
  }

  get touched(): ReadonlySet<string> {
    return new Set([...this.left.keys()])
  }

  edit(area: string, late: boolean): Version {
    const random = this.#random
    const kind = random.pick(['append', 'append', 'replace', 'create', 'create', 'delete'] as const)
    const count = ++this.#count
    const path =
      kind === 'create'
        ? `${area}/person-${random.between(1, 4)}.txt`
        : kind === 'delete'
          ? `${area}/old.md`
          : `${area}/mine.md`
    const token = `the person, ${count}, ${random.u32().toString(36)}\n`
    const before = this.read(path)
    this.#notice(path, before)
    const target = join(this.#workspace, path)
    let text: string | null = token
    if (kind === 'delete' && before !== null) {
      rmSync(target, { force: true })
      text = null
    } else if (kind === 'append' && before !== null) {
      // As `echo fix >> file` does.
      appendFileSync(target, token)
      text = before + token
    } else {
      // As most editors do: a file of its own, renamed over the old one.
      const draft = join(this.#aside, `draft-${count}`)
      writeFileSync(draft, token)
      mkdirSync(dirname(target), { recursive: true })
      renameSync(draft, target)
    }
    const sha256 = text === null ? null : createHash('sha256').update(text).digest('hex')
    const version = { path, text, token, sha256, at: Date.now(), late }
    this.left.set(path, version)
    return version
  }

  read(path: string): string | null {
    try {
      return readFileSync(join(this.#workspace, path), 'utf8')
    } catch {
      return null
    }
  }

  #notice(path: string, now: string | null): void {
    const last = this.left.get(path)
    if (last !== undefined && !standsAs(last, now)) this.missed.push(last)
  }
}

/** Is what she left there still there? */
export const standsAs = (version: Version, now: string | null): boolean =>
  version.text === null ? now === null : now?.includes(version.token) === true
