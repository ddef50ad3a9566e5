// The work of an agent, grouped from the lines of its log: a paragraph of text, a tool call with the edit it announces, the output of a
// command. Only the last line about its use counts, and it is no block.

import { type AgentLineKind, type AgentSpend, agentLineKinds, agentLineText, readSpend } from './agent-lines.ts'

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

const JOINED: ReadonlySet<AgentLineKind> = new Set(['said', 'output'])

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
      before.texts.push(line.text)
    } else if (kind !== 'said' || line.text.trim() !== '') {
      if (kind === 'note' && line.text.startsWith('starts ')) {
        spent = null
        starts++
      }
      const text = kind === 'action' ? agentLineText(line.text) : line.text
      blocks.push({ kind, lines: [line], texts: [text], diff: [] })
    }
  }
  return { blocks, spent, isRepeated: starts > 1 }
}
