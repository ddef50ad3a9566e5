// What tasks printed, from the store; with `follow` until the plan or the task has ended.

import type { Composed } from '../compose.ts'
import type { Millis, PlanId, TaskName } from '../domain/id.ts'
import { ENDED } from '../domain/status.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import type { StoredLog } from '../stores/store.ts'
import { envelope } from './answer.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit.ts'
import { OutputLines } from './live/output-lines.ts'
import { stopping } from './stopping.ts'

export interface OutputOf {
  readonly plan: PlanId
  /** Null for the output of all tasks, each line with its task's name. */
  readonly task: TaskName | null
  readonly after: number
  readonly follow: boolean
  /** Only lines that hold it, in any case. */
  readonly grep?: string
  readonly since?: Millis
}

const PAGE = 200
const POLL_MS = 250

export async function output(
  context: Context,
  { engine }: Composed,
  { plan, task, after: from, follow, grep, since = 0 }: OutputOf,
): Promise<number> {
  const stop = stopping(context)
  const write = writer(context, task, grep?.toLowerCase())
  const all: StoredLog[] = []
  let after = from
  for (let last = false; ; ) {
    const chunks =
      (await engine.ask({ type: 'logs', plan, after, limit: PAGE, ...(task === null ? {} : { task }) })) ?? []
    for (const chunk of chunks) {
      after = chunk.seq
      if (chunk.at < since) continue
      if (!context.settings.json) write(chunk)
      else if (grep !== undefined && !chunk.text.toLowerCase().includes(grep.toLowerCase())) continue
      else if (follow) context.stdout.write(envelope({ data: chunk }))
      else all.push(chunk)
    }
    if (stop.signal.aborted) break
    if (chunks.length === PAGE) continue
    if (!follow || last) break
    // Once more after the end: what was written last may have come between the two questions.
    last = await isOver()
    if (!last) await Promise.race([new Promise(resolve => setTimeout(resolve, POLL_MS)), stop.stopped])
  }
  stop.close()
  write(null)
  if (context.settings.json && !follow) context.stdout.write(envelope({ data: { items: all } }))
  return EXIT.done

  async function isOver(): Promise<boolean> {
    if (task !== null) {
      const card = await engine.ask({ type: 'task', plan, task })
      if (card === null || ENDED.has(card.status)) return true
    }
    const summary = await engine.ask({ type: 'summary', plan })
    return summary === null || summary.endedAt !== null
  }
}

/** Prints chunks as whole, escaped lines; null prints what is left. */
function writer(context: Context, only: TaskName | null, grep: string | undefined): (chunk: StoredLog | null) => void {
  const lines = new OutputLines()
  const tasks = new Set<TaskName>()
  const print = (task: TaskName, line: string): void => {
    if (grep !== undefined && !line.toLowerCase().includes(grep)) return
    const shown = escapeForTerminal(line, { keepLines: true })
    context.stdout.write(only === null ? `${context.paint.dim(`${task} │`)} ${shown}\n` : `${shown}\n`)
  }
  return chunk => {
    if (chunk !== null) {
      tasks.add(chunk.task)
      for (const line of lines.push(chunk.task, chunk.text)) print(chunk.task, line)
    } else {
      for (const task of tasks) {
        const rest = lines.end(task)
        if (rest !== '') print(task, rest)
      }
    }
  }
}
