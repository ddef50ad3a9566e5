// `planfold audit PLAN`: who asked, decided, ran and wrote what, line by line, as far as the chain of the journal proves it. For
// people, as JSON lines for other programs, or as a Markdown table. Nothing is written.

import type { Json } from '../../domain/json.ts'
import { numberOf } from '../../domain/number-of.ts'
import type { AuditLine } from '../../domain/views/audit.ts'
import type { AuditTrail } from '../../engine/engine.ts'
import { inCell, markdownCode, markdownText } from '../../safety/markdown.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, print } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { dateAndTime } from '../elapsed.ts'
import { EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { momentOf, type Since } from '../since.ts'
import { cut } from '../width.ts'

export type AuditFormat = 'text' | 'jsonl' | 'markdown'

export interface AuditOptions {
  readonly format?: AuditFormat
  readonly since?: Since
}

const FACTS_MAX = 400

export async function audit(context: Context, word: string | undefined, options: AuditOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await meantPlan(engine, word, { looking: true })
    const from = options.since === undefined ? {} : { since: momentOf(options.since, context.now()) }
    const trail = await engine.ask({ type: 'audit', plan, ...from })
    if (trail === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const format = options.format ?? 'text'
    switch (format) {
      case 'text':
        answer(context, trail, () => textLines(context, trail))
        break
      case 'jsonl':
        print(
          context,
          trail.lines.map(line => JSON.stringify(line)),
        )
        break
      case 'markdown':
        print(context, markdownLines(trail))
        break
      default:
        format satisfies never
    }
    // In the middle of another format it would be taken for a part of it.
    if (trail.fault !== null && format !== 'text') context.stderr.write(`${faultLine(context, trail)}\n`)
    return trail.fault === null ? EXIT.done : EXIT.failed
  })
}

function textLines(context: Context, trail: AuditTrail): readonly string[] {
  const { paint } = context
  return [
    ...trail.lines.flatMap(line => {
      const facts = factWords(line)
      return [
        `${paint.dim(`${String(line.version).padStart(4)} ${dateAndTime(line.at)}`)} ${paint.cyan(line.kind.padEnd(12))} ${escapeForTerminal(line.text)} ${paint.dim(`[${escapeForTerminal(line.actor)}] ${line.hash.slice(0, 12)}`)}`,
        ...(facts === '' ? [] : [paint.dim(`     ${escapeForTerminal(facts)}`)]),
      ]
    }),
    trail.fault === null
      ? `${paint.green('✔')} ${numberOf(trail.entries, 'entry')}, chained; the last is ${trail.head}`
      : faultLine(context, trail),
  ]
}

function faultLine({ paint }: Context, { entries, fault }: AuditTrail): string {
  return `${paint.red('✖ the journal was altered')} at entry ${fault?.version ?? 0}: ${escapeForTerminal(fault?.message ?? '')}; ${numberOf(entries, 'entry before it is', 'entries before it are')} sound`
}

/** `exit=0 log=3f2a…`; what the sentence says already is left out. */
function factWords({ facts }: AuditLine): string {
  const words = Object.entries(facts)
    .filter(([name]) => !SAID.has(name))
    .map(([name, value]) => `${name}=${shown(value)}`)
  return cut(words.join(' '), FACTS_MAX)
}

const SAID = new Set([
  'action',
  'argv',
  'script',
  'edits',
  'by',
  'message',
  'reason',
  'rationale',
  'verdict',
  'text',
  'durationMs',
])
const shown = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

function markdownLines({ name, lines, entries, head, fault }: AuditTrail): readonly string[] {
  return [
    `# Audit trail of ${markdownCode(name)}`,
    '',
    '| entry | time | who | kind | what | facts | hash |',
    '|---|---|---|---|---|---|---|',
    ...lines.map(line => {
      const cells = [
        String(line.version),
        new Date(line.at).toISOString(),
        markdownText(line.actor),
        line.kind,
        markdownText(line.text),
        Object.keys(line.facts).length === 0 ? '' : markdownCode(JSON.stringify(line.facts), FACTS_MAX * 5),
        markdownCode(line.hash),
      ]
      return `| ${cells.map(inCell).join(' | ')} |`
    }),
    '',
    fault === null
      ? `${numberOf(entries, 'entry')}, chained; the last is ${markdownCode(head)}.`
      : `**The journal was altered at entry ${fault.version}:** ${markdownText(fault.message)}. ${numberOf(entries, 'entry before it is', 'entries before it are')} sound.`,
  ]
}
