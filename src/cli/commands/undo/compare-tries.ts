// `planfold compare PLAN TASK`: the tries of a task side by side, and what those changed that were not taken.

import type { Race, Tried } from '../../../domain/tries/race.ts'
import { inOrder, placeOf, triedAt, tryName, WHY_BEST } from '../../../domain/tries/race.ts'
import type { ChangesShown, Engine } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context } from '../../command.ts'
import { elapsed } from '../../terminal/elapsed-time.ts'
import { table } from '../../terminal/table.ts'
import type { CompareOptions } from './compare.ts'

const COLUMNS = 100
const LINES_MAX = 60

/** False if it has had no tries. */
export async function compareTries(
  context: Context,
  engine: Pick<Engine, 'ask'>,
  plan: string,
  task: string,
  options: CompareOptions,
): Promise<boolean> {
  const race = (await engine.ask({ type: 'taskPage', plan, task }))?.race ?? null
  if (race === null) return false
  const changes = new Map<string, ChangesShown | null>()
  for (const one of race.tried) {
    const tried = tryName(one)
    changes.set(tried, await engine.ask({ type: 'taskChanges', plan, task, tried }))
  }
  answer(context, { ...race, changes: Object.fromEntries(changes) }, () => lines(context, race, changes, options))
  return true
}

function lines(
  { paint, terminal }: Context,
  race: Race,
  changes: ReadonlyMap<string, ChangesShown | null>,
  { all }: CompareOptions,
): readonly string[] {
  const { judged } = race
  const tried = inOrder(race.tried)
  const best = triedAt(race, judged?.best ?? null)
  const said = judged?.judge === undefined ? [] : [`${judged.judge.by}: ${judged.judge.says}`]
  const why = best === undefined ? 'no try passed' : `try ${tryName(best)} is the best: ${WHY_BEST[judged!.why]}`
  const fewer = race.left === undefined ? [] : [`${race.left.tries} left out: ${race.left.why}`]
  return [
    ...table(
      paint,
      ['try', 'by', 'ended', 'paths', 'lines', 'took', 'cost', 'why'],
      tried.map(one => rowOf(one)),
      Math.min(COLUMNS, terminal?.columns() ?? COLUMNS),
    ),
    '',
    ...(judged === undefined ? ['not decided yet'] : [why, ...said]).map(line => escapeForTerminal(line)),
    ...fewer,
    ...tried.flatMap(one => (one === best && all !== true ? [] : diffLines(paint, one, changes.get(tryName(one))))),
  ]
}

const rowOf = (one: Tried): readonly string[] => [
  tryName(one),
  one.by,
  one.ended,
  String(one.paths),
  String(one.lines),
  one.durationMs === undefined ? '' : elapsed(one.durationMs),
  one.model?.cost.known === true ? `${one.model.cost.usd} USD` : '',
  one.reason ?? '',
]

function diffLines(paint: Context['paint'], one: Tried, changes: ChangesShown | null | undefined): readonly string[] {
  const files = changes?.files ?? []
  const shown = files.flatMap(({ path, patch, why }) => [
    paint.dim(`--- ${escapeForTerminal(path)}`),
    ...(patch ?? [why ?? '']),
  ])
  const tint = (line: string): string =>
    line.startsWith('+')
      ? paint.green(escapeForTerminal(line))
      : line.startsWith('-')
        ? paint.red(escapeForTerminal(line))
        : line
  const cut = shown.length > LINES_MAX ? [paint.dim(`… and ${shown.length - LINES_MAX} more lines; see --json`)] : []
  return [
    '',
    paint.bold(`try ${tryName(placeOf(one))} (${escapeForTerminal(one.by)}) changed`),
    ...shown.slice(0, LINES_MAX).map(tint),
    ...cut,
  ]
}
