// The log format of agents: plain lines that people can read and faces parse. Written and parsed here only.
//
//   → edit src/a.ts (+3 −1)        a tool call                │ -old          the edit it announces, as a unified diff
//   anything else                  its text                   │ +new
//
// Its use is logged on the stream `engine`, which no agent can write to:
//
//   openai/NAME answered; spent so far: 3 calls, 3000 tokens in, 150 out, $0.0123   (or: no cost, cost unknown)

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
/** Marks the hunks as announced; the checkpoint has the real diff. */
export const HUNK_HEAD = '@@ as the agent says @@'

export const actionLine = (text: string): string => `${ACTION}${text}`
export const diffLine = (line: string): string => `${DIFF}${line}`
/** Escapes text that looks like a tool call. */
export const saidLine = (line: string): string => (line.startsWith(ACTION) || line.startsWith(DIFF) ? ` ${line}` : line)
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
  if (stream !== 'engine') return line.startsWith(ACTION) ? 'action' : line.startsWith(DIFF) ? 'diff' : 'said'
  if (readSpend(line) !== null) return 'spent'
  return line.startsWith('asks to ') ? 'asks' : 'note'
}

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
