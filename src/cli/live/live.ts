// The live view at work: keeps the cards current by asking for those an entry names, redraws at most ten times a second,
// and puts gates to the person one after the other.

import type { Composed } from '../../compose.ts'
import type { Event } from '../../domain/event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Card } from '../../domain/views/board.ts'
import type { Summary } from '../../domain/views/summary.ts'
import type { Entry } from '../../stores/store.ts'
import type { Context, Terminal } from '../context.ts'
import { OutputLines } from './output-lines.ts'
import { press, type Question, questionLines } from './question.ts'
import type { Reporter } from './reporter.ts'
import { Screen } from './screen.ts'
import { view } from './view.ts'

const REDRAW_MS = 100
/** Above this many touched tasks the whole board is asked for at once. */
const TOUCHED_MAX = 50

export class LiveReporter implements Reporter {
  readonly asks = true
  readonly #context: Context
  readonly #terminal: Terminal
  readonly #composed: Composed
  readonly #plan: PlanId
  /** Called when everything waits for the person and the person has put everything off. */
  readonly #onLeft: () => void
  readonly #screen: Screen
  readonly #lines = new OutputLines()
  readonly #lastLine = new Map<string, string>()
  readonly #index = new Map<TaskName, number>()
  #cards: Card[] = []
  #summary: Summary | null = null
  #touched: Set<TaskName> | 'all' = 'all'
  #stale = true
  #question: Question | null = null
  readonly #putOff = new Set<string>()
  #notice: string | null = null
  #frame = 0
  #busy: Promise<void> | null = null
  readonly #cleanups: (() => void)[] = []

  constructor(context: Context, terminal: Terminal, composed: Composed, plan: PlanId, onLeft: () => void) {
    this.#context = context
    this.#terminal = terminal
    this.#composed = composed
    this.#plan = plan
    this.#onLeft = onLeft
    this.#screen = new Screen(context.stdout, terminal)
    const timer = setInterval(() => this.#tick(), REDRAW_MS)
    this.#cleanups.push(
      () => clearInterval(timer),
      terminal.onResize(() => this.#draw()),
      terminal.onKey(key => this.#key(key)),
    )
  }

  entry(entry: Entry): void {
    this.#stale = true
    for (const event of entry.events) this.#touch(event)
  }

  output(task: TaskName, text: string): void {
    const line = this.#lines.push(task, text).findLast(each => each.trim() !== '') ?? this.#lines.current(task)
    if (line.trim() !== '') this.#lastLine.set(task, line)
  }

  say(line: string | null): void {
    this.#notice = line
    this.#draw()
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0)) cleanup()
    await this.#busy
    this.#screen.close()
  }

  #touch(event: Event): void {
    if (this.#touched === 'all') return
    const names = 'tasks' in event ? event.tasks : 'task' in event && event.task !== undefined ? [event.task] : []
    if (event.type === 'plan.revised' || event.type === 'task.blocked') this.#touched = 'all'
    else for (const name of names) this.#touched.add(name)
    if (event.type === 'attempt.started') this.#lastLine.delete(event.task)
    if (this.#touched !== 'all' && this.#touched.size > TOUCHED_MAX) this.#touched = 'all'
  }

  #tick(): void {
    this.#frame++
    if (this.#stale && this.#busy === null) {
      this.#busy = this.#refresh()
        // What went wrong here goes wrong in the drive too, and is told there.
        .catch(() => {})
        .finally(() => {
          this.#busy = null
        })
    }
    this.#draw()
  }

  async #refresh(): Promise<void> {
    const { engine } = this.#composed
    const touched = this.#touched
    this.#stale = false
    this.#touched = new Set()
    if (touched === 'all') {
      this.#cards = [...((await engine.ask({ type: 'board', plan: this.#plan })) ?? [])]
      this.#index.clear()
      for (const [at, card] of this.#cards.entries()) this.#index.set(card.name, at)
    } else {
      for (const task of touched) {
        const card = await engine.ask({ type: 'task', plan: this.#plan, task })
        const at = this.#index.get(task)
        if (card !== null && at !== undefined) this.#cards[at] = card
      }
    }
    this.#summary = await engine.ask({ type: 'summary', plan: this.#plan })
    await this.#ask()
  }

  /** Keeps the question that is being asked while its gate is open; else takes the next one. */
  async #ask(): Promise<void> {
    const waiting = this.#summary?.waiting ?? []
    if (this.#question !== null && waiting.some(each => isSame(each, this.#question!.waiting))) return
    const next = waiting.find(each => !this.#putOff.has(gateKey(each)))
    if (next === undefined) {
      this.#question = null
      if (this.#summary?.status === 'blocked' && waiting.length > 0) this.#onLeft()
      return
    }
    const card = this.#cards[this.#index.get(next.task) ?? -1]
    this.#question = {
      waiting: next,
      title: card?.title ?? null,
      details: await this.#details(next.task),
      reason: null,
    }
  }

  /** What an approval lets happen, as it would run. */
  async #details(gate: TaskName): Promise<readonly string[]> {
    const lines: string[] = []
    for (const card of this.#cards.filter(each => each.needs.includes(gate)).slice(0, 3)) {
      const preview = await this.#composed.engine
        .ask({ type: 'preview', plan: this.#plan, task: card.name })
        .catch(() => null)
      const text = preview?.text.trimEnd().split('\n') ?? []
      lines.push(`then ${card.name}${text.length === 0 ? '' : ':'}`, ...text.map(line => `  ${line}`))
    }
    return lines
  }

  #key(key: string): void {
    if (this.#question === null) return
    const pressed = press(this.#question, key)
    if (pressed.type === 'asking') this.#question = pressed.question
    else {
      this.#putOff.add(gateKey(this.#question.waiting))
      this.#question = null
      this.#stale = true
      if (pressed.type === 'answered') {
        const { task, verdict, rationale } = pressed
        this.#composed.engine
          .submit(this.#plan, { type: 'decide', task, verdict, rationale }, this.#composed.actor)
          .then(submitted => {
            if (!submitted.ok) this.say(submitted.refusal.message)
          })
          .catch((error: unknown) => this.say(error instanceof Error ? error.message : String(error)))
      }
    }
    this.#draw()
  }

  #draw(): void {
    if (this.#summary === null || this.#cleanups.length === 0) return
    const { name, title, status, startedAt, progress } = this.#summary
    const window = {
      columns: this.#terminal.columns(),
      rows: this.#terminal.rows() - 1,
      now: this.#context.now(),
      frame: this.#frame,
    }
    const question =
      this.#question === null ? [] : questionLines(this.#question, window.columns - 1, this.#context.paint)
    const sight = {
      name,
      title,
      status,
      startedAt,
      progress,
      cards: this.#cards,
      lastLine: this.#lastLine,
      question,
      notice: this.#notice,
    }
    this.#screen.draw(view(sight, window, this.#context.paint))
  }
}

const gateKey = (waiting: { readonly task: TaskName; readonly since: number }): string =>
  `${waiting.task}\n${waiting.since}`
const isSame = (a: Parameters<typeof gateKey>[0], b: Parameters<typeof gateKey>[0]): boolean =>
  gateKey(a) === gateKey(b)
