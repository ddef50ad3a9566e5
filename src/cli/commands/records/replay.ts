// `planfold audit replay PLAN`: verifies the hash chain, decides every entry again, and runs the loop again with the recorded
// results only. Writes nothing, runs no task.

import type { Json } from '../../../domain/json.ts'
import { programWords } from '../../../domain/result.ts'
import type { Replay, ReplayFault } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { cut } from '../../terminal/table.ts'

const VALUE_MAX = 400

export async function replay(context: Context, word: string): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await findPlan(engine, word, { looking: true })
    const began = performance.now()
    const replayed = await engine.ask({ type: 'replay', plan })
    if (replayed === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const durationMs = Math.round(performance.now() - began)
    answer(context, { ...replayed, durationMs }, () => lines(context, replayed, durationMs))
    return replayed.ok ? EXIT.done : EXIT.failed
  })
}

function lines(context: Context, replayed: Replay, durationMs: number): readonly string[] {
  const { paint } = context
  const { fault, reenacted } = replayed
  const name = escapeForTerminal(replayed.name)
  const head =
    fault === null
      ? `${paint.green('✔ replay matches')}: ${count(replayed.entries, 'entry', 'entries')} of ${name} lead to the same state again (${durationMs} ms).`
      : `${paint.red(`✖ ${HEADS[fault.type]}`)} at entry ${fault.version} of ${name}${fault.position === null ? '' : ` (position ${fault.position})`}`
  return [
    head,
    ...(fault === null ? [] : faultLines(context, fault, replayed)),
    ...(reenacted.entries === 0
      ? []
      : [`  ${count(reenacted.attempts, 'recorded attempt was', 'recorded attempts were')} reused; nothing was run.`]),
    ...replayed.programs.map(({ name: program, recorded, now }) => {
      const words = `on this machine now: ${programWords(program, now)}; recorded: ${programWords(program, recorded)}`
      return `  ${paint.yellow('note')}: ${escapeForTerminal(words)}`
    }),
    paint.dim(`  trace ${replayed.trace}`),
  ]
}

const HEADS: Readonly<Record<ReplayFault['type'], string>> = {
  chain: 'the event log was altered',
  unknown: 'the event log is newer than this program',
  diverged: 'replay differs',
}

function faultLines({ paint }: Context, fault: ReplayFault, { entries }: Replay): readonly string[] {
  const line = (word: string, text: string) => `  ${paint.dim(word.padEnd(8))} ${escapeForTerminal(text)}`
  return [
    line('what', fault.type === 'chain' ? `${fault.kind}: ${fault.message}` : fault.message),
    ...(fault.type === 'diverged'
      ? [
          line('by', fault.by === 'loop' ? 'the loop, run again' : 'the rules, applied again'),
          line('path', fault.path),
          line('expected', shown(fault.expected)),
          line('actual', shown(fault.actual)),
        ]
      : []),
    line('before', `${count(entries, 'entry', 'entries')} correct`),
    `  ${paint.cyan('hint')}: ${HINTS[fault.type]}`,
  ]
}

const HINTS: Readonly<Record<ReplayFault['type'], string>> = {
  chain: 'keep this data folder as it is, and compare it with a copy; `planfold doctor store` looks at all plans',
  unknown: 'use the Planfold version that wrote it; entries from here on were not checked',
  diverged: 'the event log was altered with valid hashes, or the rules changed: keep it and report it',
}

const shown = (value: Json | undefined): string =>
  value === undefined ? 'nothing' : cut(JSON.stringify(value), VALUE_MAX)

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`
