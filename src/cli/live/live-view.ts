// The live view at work: redraws at most ten times a second, and puts gates to the person one after the other.

import type { Composed } from '../../compose.ts'
import type { Event } from '../../domain/event.ts'
import { tasksOf } from '../../domain/events/event-row.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Field } from '../../domain/plan.ts'
import type { Card } from '../../domain/views/board.ts'
import { agentLineKind, lastSpend, shortSpend } from '../../domain/views/pages/agent-lines.ts'
import type { Summary, Waiting } from '../../domain/views/summary.ts'
import type { Engine } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Entry } from '../../stores/store.ts'
import { withDir } from '../answer.ts'
import type { Context, Sink, Terminal } from '../context.ts'
import { paint } from '../terminal/paint.ts'
import { cut, width } from '../terminal/table.ts'
import { OutputLines } from './plain-lines.ts'
import { type Pressed, pressKey, type Question, questionLines } from './question.ts'
import type { Reporter } from './reporter.ts'
import { view } from './view-lines.ts'

// The cards of a plan, kept current: of the tasks an entry names only those are asked for again, so that a redraw of a plan
// with ten thousand tasks costs what changed.

const TOUCHED_MAX = 50

class LiveCards {
  readonly #engine: Engine
  readonly #plan: PlanId
  readonly #index = new Map<TaskName, number>()
  #cards: Card[] = []
  #touched: Set<TaskName> | 'all' = 'all'

  constructor(engine: Engine, plan: PlanId) {
    this.#engine = engine
    this.#plan = plan
  }

  get all(): readonly Card[] {
    return this.#cards
  }

  get(task: TaskName): Card | undefined {
    return this.#cards[this.#index.get(task) ?? -1]
  }

  touch(event: Event): void {
    if (this.#touched === 'all') return
    for (const name of tasksOf(event)) this.#touched.add(name)
    if (event.type.startsWith('plan.') || this.#touched.size > TOUCHED_MAX) this.#touched = 'all'
  }

  async refresh(): Promise<void> {
    const touched = this.#touched
    this.#touched = new Set()
    if (touched === 'all') {
      this.#cards = [...((await this.#engine.ask({ type: 'board', plan: this.#plan })) ?? [])]
      this.#index.clear()
      for (const [at, card] of this.#cards.entries()) this.#index.set(card.name, at)
      return
    }
    for (const task of touched) {
      const card = await this.#engine.ask({ type: 'task', plan: this.#plan, task })
      const at = this.#index.get(task)
      if (card !== null && at !== undefined) this.#cards[at] = card
    }
  }
}

// Draws lines in place at the bottom of the terminal, leaving what was printed before alone. Hides the cursor while it
// draws and shows it again when closed.

const HIDE = '\u001b[?25l'
const SHOW = '\u001b[?25h'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

class Screen {
  readonly #sink: Sink
  readonly #terminal: Terminal
  #drawn: readonly string[] = []
  #hidden = false

  constructor(sink: Sink, terminal: Terminal) {
    this.#sink = sink
    this.#terminal = terminal
  }

  /** Replaces what was drawn last. The whole frame goes out in one write, so that it never shows half. */
  draw(lines: readonly string[]): void {
    const start = this.#hidden ? '' : HIDE
    this.#hidden = true
    const frame = lines.map(line => `${line}${CLEAR_LINE}\n`).join('')
    this.#sink.write(`${start}${this.#home()}${frame}${CLEAR_BELOW}`)
    this.#drawn = lines
  }

  /** Leaves these lines in place of the drawing and gives the cursor back. */
  close(last: readonly string[] = []): void {
    if (!this.#hidden && last.length === 0) return
    const frame = last.map(line => `${line}${CLEAR_LINE}\n`).join('')
    this.#sink.write(`${this.#home()}${frame}${CLEAR_BELOW}${SHOW}`)
    this.#hidden = false
    this.#drawn = []
  }

  #home(): string {
    const columns = Math.max(1, this.#terminal.columns())
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns)), 0)
    return rows === 0 ? '' : `\u001b[${rows}A\r`
  }
}

const REDRAW_MS = 100
const QUESTION_MARGIN = 6
const QUESTION_REST = 11

export class LiveReporter implements Reporter {
  readonly asks = true
  readonly #context: Context
  readonly #terminal: Terminal
  readonly #composed: Composed
  readonly #plan: PlanId
  readonly #leaves: TaskName | undefined
  readonly #onLeft: () => void
  readonly #screen: Screen
  readonly #cards: LiveCards
  readonly #lines = new OutputLines()
  readonly #lastLine = new Map<string, string>()
  readonly #spent = new Map<string, string>()
  #summary: Summary | null = null
  #stale = true
  #question: Question | null = null
  #asked: readonly string[] = []
  #keys: readonly ChoiceKey[] = []
  readonly #putOff = new Set<string>()
  #notice: string | null = null
  #working: string | null = null
  #frame = 0
  #refreshing: Promise<void> | null = null
  readonly #cleanups: (() => void)[] = []

  constructor(
    context: Context,
    terminal: Terminal,
    composed: Composed,
    { plan, leaves }: { readonly plan: PlanId; readonly leaves?: TaskName },
    onLeft: () => void,
  ) {
    this.#context = context
    this.#terminal = terminal
    this.#composed = composed
    this.#plan = plan
    this.#leaves = leaves
    this.#onLeft = onLeft
    this.#screen = new Screen(context.stdout, terminal)
    this.#cards = new LiveCards(composed.engine, plan)
    const timer = setInterval(() => this.#tick(), REDRAW_MS)
    this.#cleanups.push(
      () => clearInterval(timer),
      terminal.onResize(() => this.#draw()),
      terminal.onKey(key => this.#key(key)),
    )
  }

  entry(entry: Entry): void {
    this.#stale = true
    for (const event of entry.events) {
      this.#cards.touch(event)
      if (event.type === 'attempt.started') {
        this.#lastLine.delete(event.task)
        this.#spent.delete(event.task)
      }
    }
  }

  output(task: TaskName, text: string): void {
    const isAgent = this.#cards.get(task)?.action === 'agent'
    // Of what an agent edits, the line that says so is enough here.
    const isShown = (each: string): boolean =>
      each.trim() !== '' && !(isAgent && agentLineKind('stdout', each) === 'diff')
    const line = this.#lines.push(task, text).findLast(isShown) ?? this.#lines.current(task)
    if (isShown(line)) this.#lastLine.set(task, line)
  }

  note(task: TaskName, text: string): void {
    const spent = lastSpend(text)
    if (spent !== null) this.#spent.set(task, shortSpend(spent))
  }

  say(line: string | null): void {
    this.#notice = line
    this.#draw()
  }

  working(line: string | null): void {
    this.#working = line
    this.#draw()
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0)) cleanup()
    await this.#refreshing
    // The final state stays on the screen; what can no longer be read is shown as last seen.
    await this.#cards.refresh().catch(() => {})
    this.#summary = (await this.#standing().catch(() => null)) ?? this.#summary
    this.#screen.close(this.#picture(true))
  }

  #tick(): void {
    this.#frame++
    if (this.#stale && this.#refreshing === null) {
      this.#stale = false
      this.#refreshing = this.#refresh()
        // The same error stops the drive, which reports it.
        .catch(() => {})
        .finally(() => {
          this.#refreshing = null
        })
    }
    this.#draw()
  }

  async #refresh(): Promise<void> {
    await this.#cards.refresh()
    this.#summary = await this.#standing()
    await this.#ask(this.#summary?.waiting ?? [])
    this.#asked = await this.#askedLines()
  }

  /** An agent waits for the answer while its task runs, so no gate is open. */
  async #askedLines(): Promise<readonly string[]> {
    const [first, ...others] = (this.#summary?.asked ?? []).filter(({ what }) => what === 'question')
    this.#keys = []
    if (first === undefined) return []
    const { wrapped } = await import('../text/consent-text.ts')
    const { formCommands } = await import('../text/inbox-text.ts')
    const more = others.length === 0 ? '' : ` (and ${others.length} more: planfold inbox)`
    const said = `◆ ${escapeForTerminal(`${first.task ?? this.#summary!.name} asks: ${first.text}`)}${more}`
    const [command = ''] = formCommands(this.#summary!.name, first.id, first.form ?? [])
    this.#keys = choiceKeys(first.id, first.form ?? [])
    const keys = this.#keys.map(({ key, choice }) => `[${key}]${choice.slice(1)}`).join('  ')
    const how = keys === '' ? withDir(this.#context, command) : keys
    return [...wrapped([said], this.#terminal.columns() - 2), `  ${how}`]
  }

  #standing(): Promise<Summary | null> {
    return this.#composed.engine.ask({ type: 'summary', plan: this.#plan })
  }

  async #ask(waiting: readonly Waiting[]): Promise<void> {
    const asked = this.#question === null ? null : keyOf(this.#question.waiting)
    const same = waiting.find(each => keyOf(each) === asked)
    if (same !== undefined && this.#question !== null) {
      // Others may have approved meanwhile.
      this.#question = { ...this.#question, waiting: same }
      return
    }
    this.#question = null
    const next = waiting.find(each => each.task !== this.#leaves && !this.#putOff.has(keyOf(each)))
    if (next !== undefined) {
      const bound = await this.#boundTo(next)
      const details = bound.length > 0 ? bound : await this.#detailsOf(next.task)
      const pages = bound.length > 0 ? { pages: { at: 0, size: this.#pageSize(), seen: false } } : {}
      const title = this.#cards.get(next.task)?.title ?? null
      this.#question = { waiting: next, title, details, ...pages, reason: null }
    } else if (this.#summary?.status === 'blocked' && waiting.length > 0) this.#onLeft()
  }

  async #boundTo(waiting: Waiting): Promise<readonly string[]> {
    const { consentLines, wrapped } = await import('../text/consent-text.ts')
    const lines = await consentLines({ paint: paint(false) }, this.#composed.engine, waiting, { all: true })
    return wrapped(lines, this.#terminal.columns() - QUESTION_MARGIN)
  }

  #pageSize(): number {
    return Math.min(30, Math.max(6, this.#terminal.rows() - QUESTION_REST))
  }

  async #detailsOf(gate: TaskName): Promise<readonly string[]> {
    const lines: string[] = []
    for (const card of this.#cards.all.filter(each => each.needs.includes(gate)).slice(0, 3)) {
      const preview = await this.#composed.engine
        .ask({ type: 'preview', plan: this.#plan, task: card.name })
        .catch(() => null)
      const text = preview?.text.trimEnd().split('\n') ?? []
      lines.push(`then ${card.name}${text.length === 0 ? '' : ':'}`, ...text.map(line => `  ${line}`))
    }
    return lines
  }

  #key(key: string): void {
    if (this.#question === null) {
      const pressed = this.#keys.find(one => one.key === key.toLowerCase())
      if (pressed !== undefined) void this.#answer(pressed)
      return
    }
    const { waiting } = this.#question
    const pressed = pressKey(this.#question, key)
    if (pressed.type === 'asking') this.#question = pressed.question
    else {
      this.#putOff.add(keyOf(waiting))
      this.#question = null
      this.#stale = true
      if (pressed.type === 'answered') void this.#decide(pressed, waiting)
    }
    this.#draw()
  }

  async #answer({ id, field, choice }: ChoiceKey): Promise<void> {
    this.#keys = []
    const order = { type: 'answer', id, answers: { [field]: choice } } as const
    const submitted = await this.#composed.engine.submit(this.#plan, order).catch((error: Error) => error)
    if (submitted instanceof Error) this.say(submitted.message)
    else if (!submitted.ok) this.say(submitted.refusal.message)
    this.#stale = true
  }

  async #decide(pressed: Extract<Pressed, { type: 'answered' }>, waiting: Waiting): Promise<void> {
    const { type: _, ...answer } = pressed
    const { engine } = this.#composed
    const { hash } = waiting
    try {
      const order = { type: 'decide', ...answer, ...(hash === undefined ? {} : { hash }) } as const
      const submitted = await engine.submit(this.#plan, order)
      if (submitted.ok) return
      this.say(submitted.refusal.message)
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error))
    }
    this.#putOff.delete(keyOf(waiting))
    this.#stale = true
  }

  #draw(): void {
    if (this.#summary !== null && this.#cleanups.length > 0) this.#screen.draw(this.#picture(false))
  }

  #picture(isLast: boolean): readonly string[] {
    if (this.#summary === null) return []
    const { paint, now } = this.#context
    const columns = this.#terminal.columns()
    const sight = {
      ...this.#summary,
      cards: this.#cards.all,
      lastLine: this.#lastLine,
      spent: this.#spent,
      question: isLast
        ? []
        : this.#question === null
          ? this.#asked.map(line => paint.yellow(cut(line, columns - 1)))
          : questionLines(this.#question, columns - 1, paint),
      notice: this.#notice === null ? this.#working : withDir(this.#context, this.#notice),
      pasted: (text: string) => withDir(this.#context, text),
      ...(isLast ? { isLast } : {}),
    }
    // One row stays free for the cursor, else the terminal would scroll.
    const window = { columns, rows: this.#terminal.rows() - 1, now: this.#summary.endedAt ?? now(), frame: this.#frame }
    return view(sight, window, paint)
  }
}

interface ChoiceKey {
  readonly key: string
  readonly id: string
  readonly field: string
  readonly choice: string
}

/** The first letter of each choice; none where the form asks for more, or two begin alike. */
function choiceKeys(id: string, form: readonly Field[]): readonly ChoiceKey[] {
  const [{ name: field, choices = [] } = { name: '' }, ...others] = form as readonly [Field?, ...Field[]]
  const keys = choices.map(choice => ({ key: choice.slice(0, 1).toLowerCase(), id, field, choice }))
  const isPlain = others.length === 0 && new Set(keys.map(({ key }) => key)).size === keys.length
  return isPlain && keys.every(({ key }) => /^[a-z]$/.test(key)) ? keys : []
}

const keyOf = ({ task, since, hash = '' as Sha256 }: Waiting): string => `${task}\n${since}\n${hash}`
