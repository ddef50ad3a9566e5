// Runs edits of files. All are computed in memory first, so that a failing one changes nothing; then each file is replaced atomically, if
// its content is still the one that was read.

import { plainHint } from '../../domain/hint.ts'
import type { Json } from '../../domain/json.ts'
import type { Edit } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import { openGate, type PathGate } from '../../safety/files/path-gate.ts'
import { type Answer, answering } from '../../safety/safety-refusal.ts'
import type { Attempt, Runner, RunnerTools } from '../runner.ts'
import { type Change, draftEdits, type FileState, same } from './edited-files.ts'

// Writes drafted changes to disk, each by one rename after its precondition was verified. Files are written before any is deleted, so that
// moved content always exists somewhere. If one step fails, the earlier ones are undone.

/** Null when everything is on disk; otherwise nothing has changed, or the message names what could not be undone. */
async function commitChanges(changes: readonly Change[], gate: PathGate): Promise<Failure | null> {
  const real = changes.filter(change => !same(change.before, change.after))
  const ordered = [...real.filter(change => change.after !== null), ...real.filter(change => change.after === null)]
  const made: Change[] = []
  for (const change of ordered) {
    const answer = await turn(gate, change.path, change.before, change.after)
    if (!answer.ok) return await undone(made, gate, answer.failure)
    made.push(change)
  }
  const settled = await gate.settle()
  return settled.ok ? null : await undone(made, gate, settled.failure)
}

async function undone(made: readonly Change[], gate: PathGate, why: Failure): Promise<Failure> {
  const stuck: string[] = []
  for (const { path, before, after } of made.toReversed()) {
    const back = await turn(gate, path, after, before)
    if (!back.ok) stuck.push(path)
  }
  await gate.settle()
  if (stuck.length === 0) return why
  return { ...why, message: `${why.message}; changed before that and not undone: ${stuck.join(', ')}` }
}

async function turn(gate: PathGate, path: string, from: FileState | null, to: FileState | null): Promise<Answer<void>> {
  if (to === null)
    return from === null ? { ok: true, value: undefined } : await gate.remove(path, { expect: from.sha256 })
  if (from?.sha256 === to.sha256 && to.mode !== undefined) return await gate.chmod(path, to.mode)
  const mode = to.mode === undefined ? {} : { mode: to.mode & 0o777 }
  return await gate.write(path, to.bytes, { expect: from?.sha256 ?? null, ...mode })
}

// Drafted changes as a unified diff, for dry runs and gates. Modes are shown as in git; binary files, and files too different to compare
// quickly, are shown with their sizes.

const EDIT_LENGTH_MAX = 20_000

async function shownChanges(changes: readonly Change[]): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
  const parts: string[] = []
  for (const { path, before, after } of changes) {
    if (same(before, after)) continue
    if (before !== null && after !== null && before.mode !== after.mode) {
      parts.push(`mode ${octal(before)} => ${octal(after)} ${path}\n`)
    }
    if (before?.sha256 === after?.sha256) continue
    const names = [before === null ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`] as const
    const diff =
      isText(before) && isText(after)
        ? createTwoFilesPatch(...names, text(before), text(after), undefined, undefined, {
            context: 3,
            headerOptions: FILE_HEADERS_ONLY,
            maxEditLength: EDIT_LENGTH_MAX,
          })
        : undefined
    parts.push(diff ?? `--- ${names[0]}\n+++ ${names[1]}\n${size(before)} => ${size(after)} bytes, not shown\n`)
  }
  return parts.join('')
}

const text = (state: FileState | null): string => state?.bytes.toString('utf8') ?? ''
const isText = (state: FileState | null): boolean => state === null || !state.bytes.includes(0)
const size = (state: FileState | null): number => state?.bytes.length ?? 0
const octal = (state: FileState): string => (state.mode ?? 0).toString(8)

export function editRunner(): Runner {
  return {
    action: 'edit',
    about: {
      does: 'edits files',
      effects: ['workspace'],
      risks: ['a file changes; the previous version is kept, and a rollback restores it'],
      dryRun: 'the changes as a diff',
    },
    async preview(attempt, tools) {
      const drafted = await drafting(attempt, tools, async changes => await shownChanges(changes))
      return {
        text: drafted.ok ? drafted.value : `${drafted.failure.message} ${plainHint(drafted.failure.hint ?? '')}`,
      }
    },
    async attempt(attempt, tools, stop) {
      if (stop.aborted) return { type: 'interrupted' }
      const edited = await drafting(attempt, tools, async (changes, gate) => {
        if (stop.aborted) return 'interrupted'
        return { changes, failure: await commitChanges(changes, gate) }
      })
      if (!edited.ok) return { type: 'failed', failure: edited.failure }
      if (edited.value === 'interrupted') return { type: 'interrupted' }
      const { changes, failure } = edited.value
      return failure === null
        ? { type: 'done', outputs: { files: changes.map(asOutput) } }
        : { type: 'failed', failure }
    },
  }
}

async function drafting<T>(
  attempt: Attempt,
  tools: RunnerTools,
  use: (changes: readonly Change[], gate: PathGate) => Promise<T>,
): Promise<Answer<T>> {
  const gate = await openGate(tools)
  if (!gate.ok) return gate
  try {
    return await answering('editing', async () => {
      return await use(await draftEdits(editsOf(attempt), gate.value, tools.write, tools.imagined), gate.value)
    })
  } finally {
    await gate.value.close()
  }
}

function editsOf({ action }: Attempt): readonly Edit[] {
  if (action.type !== 'edit') throw new TypeError(`not an edit: ${action.type}`)
  return action.edits
}

/** Hashes before and after; null for no file. */
const asOutput = ({ path, before, after }: Change): Json => ({
  path,
  before: before?.sha256 ?? null,
  after: after?.sha256 ?? null,
})
