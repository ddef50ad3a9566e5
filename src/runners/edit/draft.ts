// The files of one edit task as they would be: read once through the gate, changed only in memory. A step that cannot be
// made throws Refused, and nothing on disk has changed.

import type { Sha256 } from '../../domain/id.ts'
import type { Edit } from '../../domain/plan.ts'
import type { PathGate } from '../../safety/path-gate.ts'
import { type Answer, Refused, refuse } from '../../safety/refused.ts'
import { sha256Of } from '../../safety/regular-file.ts'
import { inScope, type Patterns } from '../../safety/scope.ts'
import { patchText } from './patch-text.ts'
import { replaceText } from './replace-text.ts'

const EDIT_MAX_BYTES = 16 * 1024 * 1024

export interface FileState {
  readonly bytes: Buffer
  readonly sha256: Sha256
  /** Undefined for a new file: as the umask says. */
  readonly mode: number | undefined
}

export interface Change {
  readonly path: string
  readonly before: FileState | null
  readonly after: FileState | null
}

/** All files the edits touch, in the order they were first touched, also those that stay as they are. */
export async function draftEdits(
  edits: readonly Edit[],
  gate: PathGate,
  write: Patterns,
  /** Edits of others that are taken for made; one that does not fit is left out. */
  imagined: readonly Edit[] = [],
): Promise<readonly Change[]> {
  const draft = new Draft(gate, write)
  for (const edit of imagined) await draft.imagine(edit)
  for (const edit of edits) await draft.make(edit)
  return draft.changes()
}

class Draft {
  readonly #gate: PathGate
  readonly #write: Patterns
  readonly #before = new Map<string, FileState | null>()
  readonly #now = new Map<string, FileState | null>()
  /** Files as earlier tasks would leave them. */
  readonly #imagined = new Map<string, FileState | null>()

  constructor(gate: PathGate, write: Patterns) {
    this.#gate = gate
    this.#write = write
  }

  async imagine(edit: Edit): Promise<void> {
    try {
      await this.make(edit)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
    }
    for (const [path, now] of this.#now) this.#imagined.set(path, now)
    this.#before.clear()
    this.#now.clear()
  }

  changes(): readonly Change[] {
    return [...this.#before].map(([path, before]) => ({ path, before, after: this.#now.get(path) ?? null }))
  }

  async make(edit: Edit): Promise<void> {
    const path = await this.#open(edit.file)
    const now = this.#now.get(path) ?? null
    const put = (state: FileState | null) => {
      // A pin speaks about the content the edit was written against; an edit already made needs none.
      if (!same(state, now)) expectPin(edit, now)
      this.#now.set(path, state)
    }
    switch (edit.type) {
      case 'create': {
        const next = state(Buffer.from(edit.content), edit.mode ?? now?.mode)
        if (now !== null && now.sha256 !== next.sha256 && edit.sha256 === undefined) {
          refuse(
            'logic',
            `${JSON.stringify(path)} exists with other content.`,
            'Replace text in it, or pin its sha256.',
          )
        }
        return put(next)
      }
      case 'replace': {
        const there = existing(path, now)
        return put(state(given(replaceText(edit, there.bytes)), there.mode))
      }
      case 'patch': {
        const bytes = given(await patchText(path, edit.diff, now?.bytes ?? null))
        return put(bytes === null ? null : state(bytes, now?.mode))
      }
      case 'delete':
        return put(null)
      case 'chmod':
        if ((edit.mode & ~0o777) !== 0)
          refuse('policy', `The mode ${edit.mode.toString(8)} is not allowed.`, 'At most 777.')
        return put({ ...existing(path, now), mode: edit.mode })
      case 'move':
        return await this.#move(edit, path, now, put)
      default:
        edit satisfies never
    }
  }

  /** A move whose source is gone and whose target stands there is done; a pin, if there is one, must agree. */
  async #move(
    edit: Edit & { readonly type: 'move' },
    path: string,
    now: FileState | null,
    put: (state: null) => void,
  ): Promise<void> {
    const to = await this.#open(edit.to)
    const target = this.#now.get(to) ?? null
    if (to === path) refuse('logic', `${JSON.stringify(path)} cannot be moved onto itself.`, 'Name another target.')
    if (now === null) {
      if (target !== null) return expectPin(edit, target)
      refuse('logic', `There is no file ${JSON.stringify(path)} to move.`, 'Check the path.')
    }
    if (target !== null && target.sha256 !== now.sha256) {
      refuse('logic', `${JSON.stringify(to)} exists already, with other content.`, 'Move or delete it first.')
    }
    put(null)
    this.#now.set(to, now)
  }

  /** The path in its one form, read at most once. */
  async #open(text: string): Promise<string> {
    const path = given(await this.#gate.check(text, 'write'))
    if (!inScope(this.#write, path)) {
      const scope = this.#write?.length === 0 ? 'nothing' : this.#write?.join(', ')
      refuse(
        'policy',
        `${JSON.stringify(path)} is outside the write scope (${scope}).`,
        'Add it to `write` of the task.',
      )
    }
    if (!this.#before.has(path)) {
      const imagined = this.#imagined.get(path)
      if (imagined !== undefined) {
        this.#before.set(path, imagined)
        this.#now.set(path, imagined)
        return path
      }
      const found = given(await this.#gate.read(path, { maxBytes: EDIT_MAX_BYTES }))
      if (found !== null && found.links > 1) {
        refuse('policy', `${JSON.stringify(path)} is a hard link.`, 'Copy it to a file of its own first.')
      }
      const before = found === null ? null : state(found.bytes, found.mode)
      this.#before.set(path, before)
      this.#now.set(path, before)
    }
    return path
  }
}

export const same = (a: FileState | null, b: FileState | null): boolean =>
  a?.sha256 === b?.sha256 && a?.mode === b?.mode

const state = (bytes: Buffer, mode: number | undefined): FileState => ({ bytes, sha256: sha256Of(bytes), mode })

function existing(path: string, now: FileState | null): FileState {
  return now ?? refuse('logic', `There is no file ${JSON.stringify(path)}.`, 'Check the path, or create it first.')
}

function expectPin(edit: Edit, now: FileState | null): void {
  if (edit.sha256 === undefined || edit.sha256 === now?.sha256) return
  const hint = 'Read it again and write the edit anew.'
  refuse('logic', `${JSON.stringify(edit.file)} has changed since the edit was written.`, hint)
}

function given<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value
  throw new Refused(answer.failure)
}
