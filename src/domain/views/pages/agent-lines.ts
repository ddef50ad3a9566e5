// The log of an agent: plain lines that people read, and that every face reads again to show them better. Written and read here only.
//
//   → edit src/a.ts (+3 −1)        it calls a tool            │ -old          what it says it edits, as a unified diff
//   anything else                  its words                  │ +new
//
// What it spent comes on the stream `engine`, which no agent can write to:
//
//   openai/NAME answered; spent so far: 3 calls, 3000 tokens in, 150 out, $0.0123   (or: no cost, cost unknown)

import { addCost, addUsage, type ModelCost, type ModelUsage, type ModelUse, NO_USAGE } from '../../model-use.ts'
import { numberOf } from '../../phrases.ts'

/** What an attempt has used so far. */
export interface AgentSpend {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: ModelCost
}

export type AgentLineKind =
  | 'said'
  | 'action'
  | 'diff'
  | 'note'
  | 'spent'
  | 'asks'
  /** Of a command of ours before or after it: a criterion, say. */
  | 'command'
  | 'output'

const ACTION = '→ '
const DIFF = '│ '
/** Behind the head of each hunk: the real diff is the checkpoint's. */
export const HUNK_HEAD = '@@ as the agent says @@'

export const actionLine = (text: string): string => `${ACTION}${text}`
export const diffLine = (line: string): string => `${DIFF}${line}`
/** What it says never looks like what it does. */
export const saidLine = (line: string): string => (line.startsWith(ACTION) || line.startsWith(DIFF) ? ` ${line}` : line)
export const askLine = (what: string): string => `asks to ${what}; a person is asked`

/** The lines of one task in order, each as what it is: also what commands print that judge the work. */
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

/** A line of an agent at work. */
export function agentLineKind(stream: string, line: string): AgentLineKind {
  // Its own bytes, which nobody has looked through for our signs.
  if (stream === 'stderr') return 'output'
  if (stream !== 'engine') return line.startsWith(ACTION) ? 'action' : line.startsWith(DIFF) ? 'diff' : 'said'
  if (readSpend(line) !== null) return 'spent'
  return line.startsWith('asks to ') ? 'asks' : 'note'
}

/** Without the sign that says what kind it is. */
export const agentLineText = (line: string): string =>
  line.startsWith(ACTION) || line.startsWith(DIFF) ? line.slice(2) : line

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

/** Of an attempt that has ended. */
export const spendOf = ({ calls, usage, cost }: Pick<ModelUse, 'calls' | 'usage' | 'cost'>): AgentSpend => ({
  calls,
  inputTokens: usage.inputTokens,
  outputTokens: usage.outputTokens,
  cost,
})

const tokensIn = ({ inputTokens, outputTokens }: AgentSpend) => ({ inputTokens, outputTokens })

/** As one line of the log. `by`: who answered, and how it went. */
export function spendLine(by: string, { calls, inputTokens, outputTokens, cost }: AgentSpend): string {
  return `${by}; spent so far: ${numberOf(calls, 'call')}, ${inputTokens} tokens in, ${outputTokens} out, ${costText(cost, exactDollars)}`
}

/** Begins with who answered, so that no other line of ours that repeats words of an agent can be taken for it. */
const SPENT =
  /^\S+ (?:answered|failed|cut off); spent so far: (\d+) calls?, (\d+) tokens in, (\d+) out, (?:(no cost)|(cost unknown)|\$(\d+(?:\.\d+)?))$/

/** Null: the line does not say what was spent. */
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

/** The last in a text of the stream `engine`. */
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

/** For a narrow place: `3 calls, 3.2k tokens, $0.01`. */
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
/** All of it, so that it can be read again. */
const exactDollars = (usd: number): string => `$${usd.toFixed(9).replace(/\.?0+$/, '')}`
