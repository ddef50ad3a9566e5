// The files of an edit task after its edits: read once through the gate, changed only in memory. A failing step throws Refused before
// anything on disk has changed.

import type { StructuredPatch } from 'diff'
import type { Sha256 } from '../../domain/id.ts'
import { isA, orElse } from '../../domain/json.ts'
import type { Edit } from '../../domain/plan.ts'
import type { PathGate } from '../../safety/files/path-gate.ts'
import { sha256Of } from '../../safety/files/regular-file.ts'
import { type Answer, failure, orElseAsync, Refused, refuse } from '../../safety/safety-refusal.ts'
import { inScope, type Patterns } from '../../safety/scope.ts'

// Finds and replaces exact bytes in a file. Exactly one match is required unless the edit says all; a failure shows the nearest line,
// because most mismatches are white space.

interface Replacing {
  readonly file: string
  readonly find: string
  readonly replace: string
  readonly all?: true
}

/** Already done when `find` is missing and a non-empty `replace` is present. If one contains the other, pin with `sha256`. */
function replaceText(edit: Replacing, bytes: Buffer): Answer<Buffer> {
  if (edit.find === '') return no(`the text to find in ${shown(edit.file)} is empty`, 'say what to replace')
  const find = Buffer.from(edit.find)
  const replacement = Buffer.from(edit.replace)
  const places = placesOf(find, bytes)
  if (places.length === 0) {
    if (replacement.length > 0 && bytes.includes(replacement)) return { ok: true, value: bytes }
    return no(`the text to find does not occur in ${shown(edit.file)}`, nearestHint(edit.find, bytes))
  }
  if (places.length > 1 && edit.all !== true) {
    const lines = places.slice(0, 5).map(place => lineAt(bytes, place))
    const hint = `it is on lines ${lines.join(', ')}${places.length > 5 ? ' and more' : ''}; find more of the text, or write all: true`
    return no(`the text to find occurs ${places.length} times in ${shown(edit.file)}`, hint)
  }
  const parts: Buffer[] = []
  let from = 0
  for (const place of places) {
    parts.push(bytes.subarray(from, place), replacement)
    from = place + find.length
  }
  return { ok: true, value: Buffer.concat([...parts, bytes.subarray(from)]) }
}

function placesOf(find: Buffer, bytes: Buffer): readonly number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(find); at >= 0; at = bytes.indexOf(find, at + find.length)) places.push(at)
  return places
}

function nearestHint(find: string, bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (text.includes('\r\n') && text.replaceAll('\r\n', '\n').includes(find)) {
    return 'the file ends its lines with CR LF; the text to find must too'
  }
  const wanted = (find.split('\n').find(line => line.trim() !== '') ?? find).trim()
  let nearest = { line: 0, length: 7, text: '' }
  for (const [at, line] of text.split('\n').entries()) {
    const length = commonPrefix(squeezed(line), squeezed(wanted))
    if (length > nearest.length) nearest = { line: at + 1, length, text: line.trim() }
  }
  if (nearest.line === 0) return 'read the file again and copy the text exactly'
  return `nearest is line ${nearest.line}: ${shown(nearest.text.slice(0, 120))}; white space counts`
}

const squeezed = (line: string): string => line.replace(/\s+/g, ' ').trim()

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

const lineAt = (bytes: Buffer, place: number): number => {
  let line = 1
  for (let at = bytes.indexOf(10); at >= 0 && at < place; at = bytes.indexOf(10, at + 1)) line++
  return line
}
const shown = (text: string): string => JSON.stringify(text)
const no = (message: string, hint: string): Answer<Buffer> => ({ ok: false, failure: failure('logic', message, hint) })

// Applies a unified diff to one file. The file's name comes from the edit, not from the diff. The stated position is preferred to others,
// and a diff whose result is present already is done.

type Hunk = StructuredPatch['hunks'][number]

/** The new content; null on either side means no file. */
async function patchText(file: string, diff: string, bytes: Buffer | null): Promise<Answer<Buffer | null>> {
  const no = (message: string, hint: string): Answer<null> => ({ ok: false, failure: failure('logic', message, hint) })
  const { applyPatch, parsePatch, reversePatch } = await import('diff')
  let patches: StructuredPatch[]
  try {
    patches = parsePatch(diff)
  } catch (error) {
    return no(
      `the diff for ${JSON.stringify(file)} cannot be read: ${(error as Error).message}`,
      'write a unified diff',
    )
  }
  const [patch, ...others] = patches.filter(one => one.hunks.length > 0)
  if (patch === undefined) return no(`the diff for ${JSON.stringify(file)} has no hunks`, 'write a unified diff')
  if (others.length > 0) return no('the diff is about several files', 'write one edit for each file')

  const creates = patch.oldFileName === '/dev/null'
  const deletes = patch.newFileName === '/dev/null'
  if (bytes === null) {
    if (deletes) return { ok: true, value: null }
    if (!creates) return no(`there is no file ${JSON.stringify(file)} to patch`, 'check the path, or create it first')
  }
  const text = decoded(bytes ?? Buffer.alloc(0))
  if (text === null) return no(`${JSON.stringify(file)} is not UTF-8 text`, 'only text can be patched')

  if (creates && bytes !== null) {
    if (applyPatch('', patch) === text) return { ok: true, value: bytes }
    return no(`${JSON.stringify(file)} exists with other content`, 'make a diff against the present content')
  }

  const lines = text.split('\n')
  const isOld = patch.hunks.every(hunk => standsAt(lines, hunk, 'old'))
  const isNew = patch.hunks.every(hunk => standsAt(lines, hunk, 'new'))
  if (isNew && !isOld && bytes !== null) return { ok: true, value: bytes }
  const after = applyPatch(text, patch)
  if (after !== false) return { ok: true, value: deletes && after === '' ? null : Buffer.from(after) }
  if (bytes !== null && applyPatch(text, reversePatch(patch)) !== false) return { ok: true, value: bytes }
  return no(`the diff does not fit ${JSON.stringify(file)}`, 'read the file again and make the diff again')
}

/** Is one side of the hunk exactly at the position in its header? A hunk without lines on that side proves nothing. */
function standsAt(lines: readonly string[], hunk: Hunk, side: 'old' | 'new'): boolean {
  const sign = side === 'old' ? '-' : '+'
  const wanted = hunk.lines.filter(line => line[0] === ' ' || line[0] === sign).map(line => line.slice(1))
  const start = (side === 'old' ? hunk.oldStart : hunk.newStart) - 1
  return wanted.length > 0 && wanted.every((line, at) => lines[start + at] === line)
}

const decoded = (bytes: Buffer): string | null =>
  orElse(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), null)

const EDIT_MAX_BYTES = 16 * 1024 * 1024

export interface FileState {
  readonly bytes: Buffer
  readonly sha256: Sha256
  /** Undefined for a new file: by umask. */
  readonly mode: number | undefined
}

export interface Change {
  readonly path: string
  readonly before: FileState | null
  readonly after: FileState | null
}

/** All files of the edits in order of first use, including unchanged ones. */
export async function draftEdits(
  edits: readonly Edit[],
  gate: PathGate,
  write: Patterns,
  /** Edits of earlier tasks, assumed as done; one that fails is skipped. */
  imagined: readonly Edit[] = [],
): Promise<readonly Change[]> {
  const draft = new EditedFiles(gate, write)
  for (const edit of imagined) await draft.imagine(edit)
  for (const edit of edits) await draft.make(edit)
  return draft.changes()
}

class EditedFiles {
  readonly #gate: PathGate
  readonly #write: Patterns
  readonly #before = new Map<string, FileState | null>()
  readonly #now = new Map<string, FileState | null>()
  readonly #imagined = new Map<string, FileState | null>()

  constructor(gate: PathGate, write: Patterns) {
    this.#gate = gate
    this.#write = write
  }

  async imagine(edit: Edit): Promise<void> {
    await orElseAsync(() => this.make(edit), undefined, isA(Refused))
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
      // A pin is the hash of the content before the edit; a finished edit needs none.
      if (!same(state, now)) expectPin(edit, now)
      this.#now.set(path, state)
    }
    switch (edit.type) {
      case 'create': {
        const next = state(Buffer.from(edit.content), edit.mode ?? now?.mode)
        const isOther = now !== null && now.sha256 !== next.sha256
        if (isOther && edit.overwrite !== true && edit.sha256 === undefined)
          refuse(
            'logic',
            `${JSON.stringify(path)} exists with other content`,
            'replace text in it, pin its sha256, or say overwrite: true',
          )
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
          refuse('policy', `the mode ${edit.mode.toString(8)} is not allowed`, 'at most 777')
        return put({ ...existing(path, now), mode: edit.mode })
      case 'move':
        return await this.#move(edit, path, now, put)
      default:
        edit satisfies never
    }
  }

  /** A move is done when its source is missing and its target exists; a pin must match. */
  async #move(
    edit: Edit & { readonly type: 'move' },
    path: string,
    now: FileState | null,
    put: (state: null) => void,
  ): Promise<void> {
    const to = await this.#open(edit.to)
    const target = this.#now.get(to) ?? null
    if (to === path) refuse('logic', `${JSON.stringify(path)} cannot be moved onto itself`, 'name another target')
    if (now === null) {
      if (target !== null) return expectPin(edit, target)
      refuse('logic', `there is no file ${JSON.stringify(path)} to move`, 'check the path')
    }
    if (target !== null && target.sha256 !== now.sha256) {
      refuse('logic', `${JSON.stringify(to)} exists already, with other content`, 'move or delete it first')
    }
    put(null)
    this.#now.set(to, now)
  }

  async #open(text: string): Promise<string> {
    const path = given(await this.#gate.check(text, 'write'))
    if (!inScope(this.#write, path)) {
      const scope = this.#write?.length === 0 ? 'nothing' : this.#write?.join(', ')
      refuse('policy', `${JSON.stringify(path)} is outside the write scope (${scope})`, 'add it to `write` of the task')
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
        refuse('policy', `${JSON.stringify(path)} is a hard link`, 'copy it to a file of its own first')
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
  return now ?? refuse('logic', `there is no file ${JSON.stringify(path)}`, 'check the path, or create it first')
}

function expectPin(edit: Edit, now: FileState | null): void {
  if (edit.sha256 === undefined || edit.sha256 === now?.sha256) return
  const hint = 'read it again and write the edit again'
  refuse('logic', `${JSON.stringify(edit.file)} has changed since the edit was written`, hint)
}

function given<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value
  throw new Refused(answer.failure)
}
