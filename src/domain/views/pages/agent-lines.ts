// The log format of agents: plain lines that people can read and faces parse. Written and parsed here only.
//
//   → edit src/a.ts (+3 −1)        a tool call                │ -old          the edit it announces, as a unified diff
//   ✻ the test divides by zero     what it thinks             │ +new
//   anything else                  its text
//
// Its use is logged on the stream `engine`, which no agent can write to:
//
//   openai/NAME answered; spent so far: 3 calls, 3000 tokens in, 150 out, $0.0123   (or: no cost, cost unknown)

import type { Millis } from '../../id.ts'
import { addCost, addUsage, type ModelCost, type ModelUsage, type ModelUse, NO_USAGE } from '../../model-use.ts'
import { numberOf } from '../../phrases.ts'

export interface AgentSpend {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: ModelCost
}

export type AgentLineKind =
  | 'said'
  | 'thought'
  | 'action'
  | 'diff'
  | 'note'
  | 'spent'
  | 'asks'
  /** Of a command of the engine before or after the agent, such as a criterion. */
  | 'command'
  | 'output'

const ACTION = '→ '
const DIFF = '│ '
const THOUGHT = '✻ '
const MARKS = [ACTION, DIFF, THOUGHT]
/** Marks the hunks as announced; the checkpoint has the real diff. */
export const HUNK_HEAD = '@@ as the agent says @@'

export const actionLine = (text: string): string => `${ACTION}${text}`
export const diffLine = (line: string): string => `${DIFF}${line}`
export const thoughtLine = (line: string): string => `${THOUGHT}${line}`
/** Escapes text that looks like a tool call or a thought. */
export const saidLine = (line: string): string => (MARKS.some(mark => line.startsWith(mark)) ? ` ${line}` : line)
export const askLine = (what: string): string => `asks to ${what}; a person is asked`

/** The kind of each line of a task, in order, including the output of its checks. */
export function agentLineKinds(
  lines: readonly { readonly stream: string; readonly text: string }[],
): readonly AgentLineKind[] {
  let isCommand = false
  return lines.map(({ stream, text }) => {
    if (stream === 'engine' && text.startsWith('$ ')) isCommand = true
    else if (stream === 'engine' && text.startsWith('starts ')) isCommand = false
    if (!isCommand) return agentLineKind(stream, text)
    return stream !== 'engine' ? 'output' : text.startsWith('$ ') ? 'command' : 'note'
  })
}

export function agentLineKind(stream: string, line: string): AgentLineKind {
  // Raw output of the agent, which may contain our markers.
  if (stream === 'stderr') return 'output'
  if (stream !== 'engine') return KINDS[MARKS.findIndex(mark => line.startsWith(mark))] ?? 'said'
  if (readSpend(line) !== null) return 'spent'
  return line.startsWith('asks to ') ? 'asks' : 'note'
}

/** In the order of `MARKS`. */
const KINDS: readonly AgentLineKind[] = ['action', 'diff', 'thought']

export const agentLineText = (line: string): string =>
  MARKS.some(mark => line.startsWith(mark)) ? line.slice(2) : line

export const NOTHING_SPENT: AgentSpend = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: { known: true, usd: 0, by: 'local' },
}

export function addSpend(
  before: AgentSpend,
  call: { readonly usage: ModelUsage; readonly cost: ModelCost },
): AgentSpend {
  const { inputTokens, outputTokens } = addUsage({ ...NO_USAGE, ...tokensIn(before) }, call.usage)
  return { calls: before.calls + 1, inputTokens, outputTokens, cost: addCost(before.cost, call.cost) }
}

export const spendOf = ({ calls, usage, cost }: Pick<ModelUse, 'calls' | 'usage' | 'cost'>): AgentSpend => ({
  calls,
  inputTokens: usage.inputTokens,
  outputTokens: usage.outputTokens,
  cost,
})

const tokensIn = ({ inputTokens, outputTokens }: AgentSpend) => ({ inputTokens, outputTokens })

/** As one log line. `by`: the model, and how the call went. */
export function spendLine(by: string, { calls, inputTokens, outputTokens, cost }: AgentSpend): string {
  return `${by}; spent so far: ${numberOf(calls, 'call')}, ${inputTokens} tokens in, ${outputTokens} out, ${costText(cost, exactDollars)}`
}

/** Starts with the model, so that other lines of the engine that quote an agent do not match. */
const SPENT =
  /^\S+ (?:answered|failed|cut off); spent so far: (\d+) calls?, (\d+) tokens in, (\d+) out, (?:(no cost)|(cost unknown)|\$(\d+(?:\.\d+)?))$/

/** Null for any other line. */
export function readSpend(line: string): AgentSpend | null {
  const found = SPENT.exec(line)
  if (found === null) return null
  const [, calls, input, output, free, unknown, usd] = found
  const cost: ModelCost =
    unknown !== undefined
      ? { known: false }
      : { known: true, usd: Number(usd ?? 0), by: free === undefined ? 'price' : 'local' }
  return { calls: Number(calls), inputTokens: Number(input), outputTokens: Number(output), cost }
}

export function lastSpend(text: string): AgentSpend | null {
  for (const line of text.split('\n').toReversed()) {
    const spent = readSpend(line)
    if (spent !== null) return spent
  }
  return null
}

/** For people: `3 calls, 3,000 tokens in, 150 out, $0.01`. */
export function spendWords({ calls, inputTokens, outputTokens, cost }: AgentSpend): string {
  return `${numberOf(calls, 'call')}, ${grouped(inputTokens)} tokens in, ${grouped(outputTokens)} out, ${costText(cost)}`
}

/** For narrow columns: `3 calls, 3.2k tokens, $0.01`. */
export function shortSpend({ calls, inputTokens, outputTokens, cost }: AgentSpend): string {
  const tokens = inputTokens + outputTokens
  const short =
    tokens < 1000 ? String(tokens) : tokens < 1e6 ? `${(tokens / 1e3).toFixed(1)}k` : `${(tokens / 1e6).toFixed(2)}M`
  return `${numberOf(calls, 'call')}, ${short} tokens, ${costText(cost)}`
}

const grouped = (number: number): string => number.toLocaleString('en-US')

const costText = (cost: ModelCost, money: (usd: number) => string = dollars): string =>
  !cost.known ? 'cost unknown' : cost.usd === 0 && cost.by === 'local' ? 'no cost' : money(cost.usd)

const dollars = (usd: number): string => (usd < 0.01 && usd > 0 ? '<$0.01' : `$${usd.toFixed(2)}`)
/** Exact, so that it can be parsed again. */
const exactDollars = (usd: number): string => `$${usd.toFixed(9).replace(/\.?0+$/, '')}`

// The work of an agent, grouped from the lines of its log: a paragraph of text, a tool call with the edit it announces, the output of a
// command. Only the last line about its use counts, and it is no block.

export interface LogLine {
  readonly stream: string
  readonly text: string
}

export interface AgentBlock<L extends LogLine> {
  readonly kind: Exclude<AgentLineKind, 'spent' | 'diff'>
  readonly lines: readonly L[]
  readonly texts: readonly string[]
  readonly diff: readonly string[]
}

export interface AgentWork<L extends LogLine> {
  readonly blocks: readonly AgentBlock<L>[]
  /** Of the last attempt; null before the first model call. */
  readonly spent: AgentSpend | null
  /** There was an earlier attempt, whose use `spent` does not include. */
  readonly isRepeated: boolean
}

const JOINED: ReadonlySet<AgentLineKind> = new Set(['said', 'thought', 'output'])

export function agentWork<L extends LogLine>(lines: readonly L[]): AgentWork<L> {
  const kinds = agentLineKinds(lines)
  const blocks: { kind: AgentBlock<L>['kind']; lines: L[]; texts: string[]; diff: string[] }[] = []
  let spent: AgentSpend | null = null
  let starts = 0
  for (const [at, line] of lines.entries()) {
    const kind = kinds[at]!
    const before = blocks.at(-1)
    if (kind === 'spent') spent = readSpend(line.text)
    else if (kind === 'diff') {
      before?.lines.push(line)
      before?.diff.push(agentLineText(line.text))
    } else if (before?.kind === kind && JOINED.has(kind)) {
      before.lines.push(line)
      before.texts.push(kind === 'thought' ? agentLineText(line.text) : line.text)
    } else if (kind !== 'said' || line.text.trim() !== '') {
      if (kind === 'note' && line.text.startsWith('starts ')) {
        spent = null
        starts++
      }
      const text = kind === 'action' || kind === 'thought' ? agentLineText(line.text) : line.text
      blocks.push({ kind, lines: [line], texts: [text], diff: [] })
    }
  }
  return { blocks, spent, isRepeated: starts > 1 }
}

export interface AgentStep {
  readonly visit: number
  readonly attempt: number
  readonly at: Millis
  /** What it thought before, if its protocol reports thoughts. */
  readonly thought: string
  readonly said: string
  /** Its tool calls; none after its last words. */
  readonly actions: readonly string[]
}

type Piece = LogLine & Pick<AgentStep, 'visit' | 'attempt' | 'at'>

/** Why an agent did what it did: its last tool calls with the words before them. `pieces`: the log of a task, or its end. */
export function agentSteps(pieces: readonly Piece[]): readonly AgentStep[] {
  const steps: (AgentStep & { actions: string[] })[] = []
  for (const { kind, lines, texts } of agentWork(wholeLines(pieces)).blocks) {
    const { visit, attempt, at } = lines[0]!
    const isWord = kind === 'said' || kind === 'thought'
    if (!isWord && kind !== 'action' && kind !== 'asks') continue
    const last = steps.at(-1)
    const isNew = last?.attempt !== attempt || last.visit !== visit || (isWord && last.actions.length > 0)
    const step = isNew ? { visit, attempt, at, thought: '', said: '', actions: [] } : last
    if (isNew) steps.push(step)
    const text = texts.join('\n').trim()
    if (isWord) Object.assign(step, { [kind]: shortened([step[kind], text].filter(Boolean).join('\n')) })
    else if (step.actions.length < ACTIONS_MAX) step.actions.push(shortened(text))
  }
  return steps.slice(-STEPS_MAX)
}

/** As lines of a log. */
export const stepLines = ({ thought, said, actions }: AgentStep): readonly string[] => [
  ...(thought === '' ? [] : thought.split('\n').map(thoughtLine)),
  ...(said === '' ? [] : said.split('\n').map(saidLine)),
  ...actions.map(actionLine),
]

/** A line may have been stored in two pieces. */
function wholeLines(pieces: readonly Piece[]): readonly Piece[] {
  const open = new Map<string, Piece>()
  const lines: Piece[] = []
  for (const piece of pieces) {
    const key = `${piece.visit}/${piece.attempt}/${piece.stream}`
    const parts = `${open.get(key)?.text ?? ''}${piece.text}`.split('\n')
    open.set(key, { ...piece, text: parts.pop() ?? '' })
    lines.push(...parts.map(text => ({ ...piece, text })))
  }
  return [...lines, ...[...open.values()].filter(({ text }) => text !== '')]
}

const STEPS_MAX = 200
const ACTIONS_MAX = 50
const TEXT_MAX = 4_000
const shortened = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text)
