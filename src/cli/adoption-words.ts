// An adoption as lines for a person: what would become of each file, where something changed here since the fork was made, the
// commands that go on, and what was done.

import { numberOf } from '../domain/number-of.ts'
import type { AdoptionPreview, FilePreview } from '../engine/engine.ts'
import type { ForkAdoption } from '../operations/adopt-fork.ts'
import { escapeForTerminal, shellWord } from '../safety/terminal.ts'
import type { Choice } from '../workspace/workspace.ts'
import type { Context } from './context.ts'
import { shownPath } from './path-words.ts'

export type Foreseen = Extract<AdoptionPreview, { ok: true }>
export type ChoiceOf = (path: string) => Choice | null

export const undecidedIn = ({ files }: Foreseen, choiceOf: ChoiceOf): readonly FilePreview[] =>
  files.filter(({ path, conflict }) => conflict !== undefined && choiceOf(path) === null)

const FILES_MAX = 200

const SEEN: Readonly<Record<Foreseen['seen'], string>> = {
  folder: 'its folder as it stands now',
  end: 'as its files were stored when it ended or was last adopted; its folder is gone',
  journal: 'only what its tasks were seen to write; its folder is gone',
}

const WORDS: Readonly<Record<FilePreview['will'], string>> = {
  restore: 'change',
  create: 'create',
  delete: 'delete',
  chmod: 'mode',
  leave: 'leave',
}

const CONFLICTS: Readonly<Record<NonNullable<FilePreview['conflict']>, string>> = {
  'edited since': 'also changed here since the fork was made',
  appeared: 'also made here since the fork was made',
  gone: 'removed here since the fork was made',
}

export function adoptionLines({ paint }: Context, preview: Foreseen, choiceOf: ChoiceOf): readonly string[] {
  const { fork, into, files, seen, left } = preview
  const line = (word: string, text: string): string => `  ${paint.dim(word.padEnd(9))} ${escapeForTerminal(text)}`
  const same = files.filter(
    ({ will, why, conflict }) => will === 'leave' && why === undefined && conflict === undefined,
  )
  const open = undecidedIn(preview, choiceOf).length
  const counts = [
    ...(files.length > same.length ? [numberOf(files.length - same.length, 'path')] : []),
    ...(open === 0 ? [] : [`${open} changed here as well`]),
    ...(same.length === 0 ? [] : [`${same.length} the same here already`]),
  ]
  const told = files.filter(file => !same.includes(file))
  return [
    paint.bold(`adopt the work of ${escapeForTerminal(fork.name)} into ${escapeForTerminal(into.name)}`),
    line('from', SEEN[seen]),
    line('files', counts.length === 0 ? 'it changed nothing' : counts.join(', ')),
    ...told.slice(0, FILES_MAX).map(file => fileLine(paint, file, choiceOf)),
    ...(told.length > FILES_MAX ? [line('', `and ${numberOf(told.length - FILES_MAX, 'path')} more`)] : []),
    ...left.map(({ path, reason }) => line('missing', `${shownPath(path)}: ${reason}`)),
  ]
}

function fileLine(paint: Context['paint'], { path, will, conflict, why }: FilePreview, choiceOf: ChoiceOf): string {
  const choice = choiceOf(path)
  const isOpen = conflict !== undefined && choice === null
  const word =
    conflict === undefined || choice === null || choice === 'theirs'
      ? WORDS[will]
      : choice === 'mine'
        ? 'keep'
        : 'merge'
  const notes = [why, conflict === undefined ? undefined : CONFLICTS[conflict]].filter(note => note !== undefined)
  const note = notes.length === 0 ? '' : paint.dim(`  ${escapeForTerminal(notes.join('; '))}`)
  return `  ${isOpen ? paint.yellow('!') : ' '} ${(isOpen ? paint.yellow : paint.cyan)(word.padEnd(8))} ${shownPath(path)}${note}`
}

/** The commands that go on where something changed here as well. */
export function adoptionWays(command: string, undecided: readonly FilePreview[]) {
  const [first, second] = undecided
  const each = second === undefined && first !== undefined ? shellWord(first.path) : 'all'
  return [
    { run: `${command} --keep-mine ${each}`, means: 'leave what stands here' },
    { run: `${command} --take-theirs ${each}`, means: "take the fork's; what stands here is stored first" },
    { run: `${command} --merge ${each}`, means: 'join both, where the text joins cleanly' },
  ]
}

type Say = (words: string) => string

export function adoptedLines(
  { paint }: Context,
  fork: string,
  adopted: Extract<ForkAdoption, { readonly status: 'adopted' | 'stopped' }>,
  say: Say,
): readonly string[] {
  const { into } = adopted
  const line = (word: string, text: string, tint = paint.dim): string => `  ${tint(word.padEnd(9))} ${text}`
  if (adopted.status === 'stopped') {
    const { failure, conflicts = [] } = adopted.end
    return [
      `${paint.red('✖')} ${paint.bold(fork)} was not adopted: ${escapeForTerminal(failure.message)}`,
      ...conflicts.map(path => line('changed', shownPath(path), paint.yellow)),
      `  no file was changed${failure.hint === undefined ? '' : `; ${escapeForTerminal(failure.hint)}`}`,
    ]
  }
  const { end, folder, why } = adopted
  const left = (end?.left ?? []).map(({ path, reason }) =>
    line('left', `${shownPath(path)}: ${escapeForTerminal(reason)}`, paint.yellow),
  )
  const kept = (end?.kept ?? []).flatMap(({ path, sha256 }) => [
    line('stored', `${shownPath(path)}, as it was here, is stored as ${sha256}`, paint.yellow),
    line('', say(`checkpoints cat ${into.name} ${sha256} > ${shellWord(`${path.replaceAll('/', '-')}.kept`)}`)),
  ])
  const what =
    end === null ? 'nothing was left to adopt' : `adopted into ${into.name}; ${numberOf(end.paths, 'path')} changed`
  return [
    `${left.length === 0 ? paint.green('✔') : paint.yellow('!')} ${paint.bold(fork)}: ${escapeForTerminal(what)}`,
    ...left,
    ...kept,
    line(
      'folder',
      folder === 'removed'
        ? 'gone; everything that Planfold found in it is stored'
        : `kept: ${escapeForTerminal(why ?? '')}`,
    ),
    ...(end === null ? [] : [`  take it back with: ${paint.bold(say(`undo ${into.name}`))}`]),
  ]
}
