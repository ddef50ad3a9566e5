// What an agent says and does, put together from the lines of its log: a paragraph of its words, a call of a tool with what it says it
// edits, what a command prints. What it spent is no line of its own: only the last of it counts.

import { type AgentLineKind, type AgentSpend, agentLineKinds, agentLineText, readSpend } from './agent-lines.ts'

export interface LogLine {
  readonly stream: string
  readonly text: string
}

/** Lines that belong together. */
export interface AgentBlock<L extends LogLine> {
  readonly kind: Exclude<AgentLineKind, 'spent' | 'diff'>
  readonly lines: readonly L[]
  /** Without the signs of the log. */
  readonly texts: readonly string[]
  readonly diff: readonly string[]
}

export interface AgentWork<L extends LogLine> {
  readonly blocks: readonly AgentBlock<L>[]
  /** In the last attempt; null when it has asked no model. */
  readonly spent: AgentSpend | null
  /** There was an attempt before, whose spending is not in `spent`. */
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
