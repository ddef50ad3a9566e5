// `planfold fork adopt FORK`: shows what a fork changed, brings it into the plan it was made from, and lets its folder go when
// everything was taken or kept. `planfold undo` of that plan takes it back.

import type { Composed } from '../../../compose.ts'
import type { EventOf } from '../../../domain/event.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { AdoptAsk, AdoptionPreview, FilePreview } from '../../../engine/engine.ts'
import { adoptFork, type ForkAdoption } from '../../../operations/adopt-fork.ts'
import { choiceFor, undecidedFiles } from '../../../operations/rollback-plan.ts'
import { escapeForTerminal, shellWord } from '../../../safety/text/terminal.ts'
import type { Choice } from '../../../workspace/workspace.ts'
import { answer, CliError, type Context, EXIT, print, printNote, refused, withState } from '../../command.ts'
import { carryOut } from '../../drive.ts'
import { findPlan } from '../../find-target.ts'
import { hintText } from '../../text/hint-text.ts'
import { shownPath } from '../../text/path-text.ts'
import { shareOf } from '../../text/rollback-preview.ts'
import { patchFor, patchLines } from './checkpoints.ts'
import { type ChoiceOptions, choicesOf, commandWriter } from './go-back.ts'

// An adoption as lines for a person: what would become of each file, where something changed here since the fork was made, the
// commands that go on, and what was done.

type Foreseen = Extract<AdoptionPreview, { ok: true }>
type ChoiceOf = (path: string) => Choice | null

const FILES_MAX = 200

const SEEN: Readonly<Record<Foreseen['seen'], string>> = {
  folder: 'its folder as it is now',
  end: 'its files as stored when it finished or was last adopted; its folder is gone',
  journal: 'only the files its tasks are known to have written; its folder is gone',
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
  appeared: 'also created here since the fork was made',
  gone: 'removed here since the fork was made',
}

const KEPT: typeof CONFLICTS = {
  'edited since': 'your version is kept, because both sides changed it and you chose so',
  appeared: 'your version is kept, because both sides created it and you chose so',
  gone: 'it stays removed, because you chose so',
}

function adoptionLines({ paint }: Context, preview: Foreseen, choiceOf: ChoiceOf): readonly string[] {
  const { fork, into, files, seen, left } = preview
  const line = (word: string, text: string): string => `  ${paint.dim(word.padEnd(9))} ${escapeForTerminal(text)}`
  const same = files.filter(
    ({ will, why, conflict }) => will === 'leave' && why === undefined && conflict === undefined,
  )
  const open = preview.files.filter(({ path, conflict }) => conflict !== undefined && choiceOf(path) === null).length
  const counts = [
    ...(files.length > same.length ? [numberOf(files.length - same.length, 'path')] : []),
    ...(open === 0 ? [] : [`${shareOf(open, files.length - same.length)}changed here as well`]),
    ...(same.length === 0 ? [] : [`${same.length} already the same here`]),
  ]
  const listed = files.filter(file => !same.includes(file))
  return [
    paint.bold(`adopt the work of ${escapeForTerminal(fork.name)} into ${escapeForTerminal(into.name)}`),
    line('from', SEEN[seen]),
    line('files', counts.length === 0 ? 'it changed nothing' : counts.join(', ')),
    ...listed.slice(0, FILES_MAX).map(file => fileLine(paint, file, choiceOf)),
    ...(listed.length > FILES_MAX ? [line('', `and ${numberOf(listed.length - FILES_MAX, 'path')} more`)] : []),
    ...left.map(({ path, reason }) => line('missing', `${shownPath(path)}: ${reason}`)),
  ]
}

function fileLine(paint: Context['paint'], { path, will, conflict, why }: FilePreview, choiceOf: ChoiceOf): string {
  const choice = choiceOf(path)
  const isOpen = conflict !== undefined && choice === null
  const word =
    conflict === undefined || choice === null || choice === 'take' ? WORDS[will] : choice === 'keep' ? 'keep' : 'merge'
  const notes = [why, conflict === undefined ? undefined : CONFLICTS[conflict]].filter(note => note !== undefined)
  const note = notes.length === 0 ? '' : paint.dim(`  ${escapeForTerminal(notes.join('; '))}`)
  return `  ${isOpen ? paint.yellow('!') : ' '} ${(isOpen ? paint.yellow : paint.cyan)(word.padEnd(8))} ${shownPath(path)}${note}`
}

function adoptionWays(command: string, undecided: readonly FilePreview[], isMergeTried = false) {
  const [first, second] = undecided
  const each = second === undefined && first !== undefined ? shellWord(first.path) : 'all'
  return [
    { run: `${command} --keep ${each}`, means: 'keep the current file' },
    { run: `${command} --take ${each}`, means: "take the fork's version; the current one is backed up" },
    ...(isMergeTried ? [] : [{ run: `${command} --merge ${each}`, means: 'merge both where there is no conflict' }]),
  ]
}

function unmergedWays(command: string, { files }: Foreseen, left: EventOf<'rollback.finished'>['left'] = []) {
  const open = files.filter(
    ({ path, conflict }) => conflict !== undefined && left.some(one => one.path === path && one.kept !== true),
  )
  return open.length === 0 ? [] : adoptionWays(command, open, true)
}

type Say = (words: string) => string

function adoptedLines(
  { paint }: Context,
  fork: string,
  adopted: Extract<ForkAdoption, { readonly status: 'adopted' | 'stopped' }>,
  { files }: Foreseen,
  say: Say,
): readonly string[] {
  const { into } = adopted
  const line = (word: string, text: string, tint = paint.dim): string => `  ${tint(word.padEnd(9))} ${text}`
  if (adopted.status === 'stopped') {
    const { failure, conflicts = [] } = adopted.end
    return [
      `${paint.red('✖')} ${paint.bold(fork)} was not adopted: ${escapeForTerminal(failure.message)}`,
      ...conflicts.map(path => line('changed', shownPath(path), paint.yellow)),
      `  no file was changed${failure.hint === undefined ? '' : `; ${escapeForTerminal(hintText(failure.hint))}`}`,
    ]
  }
  const { end, folder, why } = adopted
  const left = (end?.left ?? []).map(({ path, reason, kept }) => {
    const conflict = kept === true ? files.find(file => file.path === path)?.conflict : undefined
    const why = conflict === undefined ? reason : KEPT[conflict]
    return line('kept', `${shownPath(path)}: ${escapeForTerminal(why)}`, paint.yellow)
  })
  const kept = (end?.kept ?? []).flatMap(({ path, sha256 }) => [
    line('backup', `the previous version of ${shownPath(path)} is stored as ${sha256}`, paint.yellow),
    line('', say(`checkpoint cat ${into.name} ${sha256} > ${shellWord(`${path.replaceAll('/', '-')}.kept`)}`)),
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
        ? 'worktree removed; its files are stored'
        : `worktree kept: ${escapeForTerminal(why ?? '')}`,
    ),
    ...(end === null || end.changes === null ? [] : [`  Undo: ${paint.bold(say(`undo ${into.name}`))}`]),
  ]
}

export interface AdoptOptions extends Omit<ChoiceOptions, 'force'> {
  readonly into?: string
  readonly patch?: boolean
  readonly keepFolder?: boolean
  readonly removeIgnored?: boolean
}

const PATCH_LINES_MAX = 100

export async function adopt(context: Context, word: string, options: AdoptOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await findPlan(composed.engine, word)
    const into = options.into === undefined ? {} : { into: (await findPlan(composed.engine, options.into)).plan }
    const preview = await composed.engine.ask({ type: 'adoption', plan, ...into })
    if (preview === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    if (!preview.ok) throw refused(preview.refusal)
    const chosen = choicesOf({ root: composed.root, cwd: context.cwd }, options, preview.files)
    const choiceOf = (path: string) => choiceFor(chosen, path)
    const conflicts = undecidedFiles(preview.files, chosen)
    const say = commandWriter(context)
    const ways = conflicts.length === 0 ? [] : adoptionWays(say(commandOf(name, options)), conflicts)
    if (!context.settings.json) await show(context, composed, { name, preview, options }, choiceOf)
    if (options.dryRun === true) {
      answer(context, { plan, name, dryRun: true, preview, ...chosen, conflicts, ways }, () => wayLines(context, ways))
      printNote(context, 'dry run: nothing was changed')
      return EXIT.done
    }
    if (conflicts.length > 0) {
      if (!context.settings.json) print(context, [...wayLines(context, ways), ''])
      throw new CliError(
        EXIT.refused,
        'conflict',
        `nothing was changed: ${numberOf(conflicts.length, 'path')} changed here since '${name}' was forked`,
        'choose with one of the commands above',
        [],
        { preview, conflicts, ways },
      )
    }
    const ask: AdoptAsk = {
      ...into,
      ...chosen,
      ...(options.keepFolder === true ? { keepFolder: true } : {}),
      ...(options.removeIgnored === true ? { removeIgnored: true } : {}),
    }
    return await carriedOut(context, composed, { plan, name, preview, ask, command: commandOf(name, options) })
  })
}

async function carriedOut(
  context: Context,
  composed: Composed,
  {
    plan,
    name,
    preview,
    ask,
    command,
  }: {
    readonly plan: Foreseen['fork']['plan']
    readonly name: string
    readonly preview: Foreseen
    readonly ask: AdoptAsk
    readonly command: string
  },
): Promise<number> {
  const { engine } = composed
  const say = commandWriter(context)
  const room = {
    engine,
    carryOut: async (at: Parameters<typeof carryOut>[2]) => (await carryOut(context, composed, at)).ended,
  }
  const done = await adoptFork(room, plan, ask)
  if (done.status === 'refused') throw refused(done.refusal)
  if (done.status === 'interrupted')
    throw new CliError(
      EXIT.interrupted,
      'interrupted',
      `the adoption of '${name}' was interrupted and is not finished`,
      `Next: ${say(`fork adopt ${name}`)}`,
    )
  const { status, into, end } = done
  const folder = status === 'adopted' ? { folder: done.folder, why: done.why } : {}
  answer(context, { plan, name, dryRun: false, preview, status, into, outcome: end, ...folder }, () => [
    '',
    ...adoptedLines(context, name, done, preview, say),
    ...wayLines(context, unmergedWays(say(command), preview, end?.left)),
  ])
  if (done.status === 'stopped') return done.end.conflicts === undefined ? EXIT.failed : EXIT.refused
  return (end?.left ?? []).every(({ kept }) => kept === true) ? EXIT.done : EXIT.failed
}

async function show(
  context: Context,
  composed: Composed,
  { name, preview, options }: { readonly name: string; readonly preview: Foreseen; readonly options: AdoptOptions },
  choiceOf: Parameters<typeof adoptionLines>[2],
): Promise<void> {
  print(context, adoptionLines(context, preview, choiceOf))
  if (preview.changes.length > 0)
    print(context, `  ${context.paint.dim('diff'.padEnd(9))} what the fork changed since it was made`)
  const max = options.patch === true ? Number.POSITIVE_INFINITY : PATCH_LINES_MAX
  let shown = 0
  for (const change of preview.changes) {
    const patch = await patchFor(composed, change)
    if (patch === null) continue
    const lines = [`  ${context.paint.bold(shellWord(change.path))}`, ...patchLines(context.paint, patch)]
    if (shown + lines.length > max) {
      print(context, [
        ...lines.slice(0, Math.max(0, max - shown)),
        context.paint.dim(`  … the whole diff: planfold fork adopt ${name} --dry-run --patch`),
      ])
      return
    }
    print(context, lines)
    shown += lines.length
  }
}

function wayLines({ paint }: Context, ways: ReturnType<typeof adoptionWays>): readonly string[] {
  if (ways.length === 0) return []
  return ['', 'choose:', ...ways.flatMap(({ run, means }) => [`  ${paint.bold(run)}`, paint.dim(`      ${means}`)])]
}

const commandOf = (name: string, { into, keepFolder, removeIgnored }: AdoptOptions): string =>
  [
    `fork adopt ${name}`,
    ...(into === undefined ? [] : ['--into', shellWord(into)]),
    ...(keepFolder === true ? ['--keep-folder'] : []),
    ...(removeIgnored === true ? ['--remove-ignored'] : []),
  ].join(' ')
