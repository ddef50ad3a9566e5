// `planfold adopt FORK`: shows what a fork changed, brings it into the plan it was made from, and lets its folder go when
// everything was taken or kept. `planfold undo` of that plan takes it back.

import type { Composed } from '../../compose.ts'
import { numberOf } from '../../domain/number-of.ts'
import type { AdoptAsk } from '../../engine/engine.ts'
import { adoptFork } from '../../operations/adopt-fork.ts'
import { shellWord } from '../../safety/terminal.ts'
import { adoptedLines, adoptionLines, adoptionWays, type Foreseen, undecidedIn } from '../adoption-words.ts'
import { answer, print, remark } from '../answer.ts'
import { carryOut } from '../carry-out.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT, refused } from '../exit.ts'
import { type ChoiceOptions, choicesOf, sayer } from '../go-back.ts'
import { meantPlan } from '../meant.ts'
import { patchFor, patchLines } from './checkpoints-diff.ts'

export interface AdoptOptions extends Omit<ChoiceOptions, 'force'> {
  readonly into?: string
  readonly patch?: boolean
  readonly keepFolder?: boolean
  readonly removeIgnored?: boolean
}

/** So many lines of the diff are shown unless all are asked for. */
const PATCH_LINES_MAX = 100

export async function adopt(context: Context, word: string, options: AdoptOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word)
    const into = options.into === undefined ? {} : { into: (await meantPlan(composed.engine, options.into)).plan }
    const preview = await composed.engine.ask({ type: 'adoption', plan, ...into })
    if (preview === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    if (!preview.ok) throw refused(preview.refusal)
    const chosen = choicesOf({ root: composed.root, cwd: context.cwd }, options, preview.files)
    const choiceOf = (path: string) => chosen.choices?.[path] ?? chosen.every ?? null
    const conflicts = undecidedIn(preview, choiceOf)
    const say = sayer(context)
    const ways = conflicts.length === 0 ? [] : adoptionWays(say(commandOf(name, options)), conflicts)
    if (!context.settings.json) await show(context, composed, { name, preview, options }, choiceOf)
    if (options.dryRun === true) {
      answer(context, { plan, name, dryRun: true, preview, ...chosen, conflicts, ways }, () => wayLines(context, ways))
      remark(context, 'nothing was changed: this was a dry run')
      return EXIT.done
    }
    if (conflicts.length > 0) {
      if (!context.settings.json) print(context, [...wayLines(context, ways), ''])
      throw new Complaint(
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
    return await carriedOut(context, composed, { plan, name, preview, ask })
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
  }: {
    readonly plan: Foreseen['fork']['plan']
    readonly name: string
    readonly preview: Foreseen
    readonly ask: AdoptAsk
  },
): Promise<number> {
  const { engine, actor } = composed
  const say = sayer(context)
  const room = {
    engine,
    actor,
    carryOut: async (at: Parameters<typeof carryOut>[2]) => (await carryOut(context, composed, at)).ended,
  }
  const done = await adoptFork(room, plan, ask)
  if (done.status === 'refused') throw refused(done.refusal)
  if (done.status === 'interrupted')
    throw new Complaint(
      EXIT.interrupted,
      'interrupted',
      `the adoption of '${name}' was interrupted and is still under way`,
      `finish it with: ${say(`adopt ${name}`)}`,
    )
  const { status, into, end } = done
  const folder = status === 'adopted' ? { folder: done.folder, why: done.why } : {}
  answer(context, { plan, name, dryRun: false, preview, status, into, outcome: end, ...folder }, () => [
    '',
    ...adoptedLines(context, name, done, say),
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
    print(
      context,
      `  ${context.paint.dim('diff'.padEnd(9))} what the fork changed since it was made, whatever stands here by now`,
    )
  const max = options.patch === true ? Number.POSITIVE_INFINITY : PATCH_LINES_MAX
  let shown = 0
  for (const change of preview.changes) {
    const patch = await patchFor(composed, change)
    if (patch === null) continue
    const lines = [`  ${context.paint.bold(shellWord(change.path))}`, ...patchLines(context.paint, patch)]
    if (shown + lines.length > max) {
      print(context, [
        ...lines.slice(0, Math.max(0, max - shown)),
        context.paint.dim(`  … the whole diff: planfold adopt ${name} --dry-run --patch`),
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
    `adopt ${name}`,
    ...(into === undefined ? [] : ['--into', shellWord(into)]),
    ...(keepFolder === true ? ['--keep-folder'] : []),
    ...(removeIgnored === true ? ['--remove-ignored'] : []),
  ].join(' ')
