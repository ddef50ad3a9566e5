// Proposes to write a decision into AGENTS.md, where coding agents read it: a small plan whose only change waits at a gate that shows it as a
// diff. Nothing is written before a person approves.

import type { PlanName, TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Engine } from '../../engine/engine.ts'
import { slug } from '../../format/text/slug.ts'
import { sha256Of } from '../../safety/files/regular-file.ts'
import { markdownText } from '../../safety/text/markdown.ts'
import { decisionsIn, type ListedDecision } from './decisions.ts'

export const FILE = 'AGENTS.md'
const HEAD = '## Decisions'

/** `id` as listed; `now` is the content of AGENTS.md, null if there is none. */
export async function proposeDecision(
  engine: Pick<Engine, 'ask' | 'submit'>,
  id: string,
  now: string | null,
): Promise<{ readonly ok: true; readonly name: string } | { readonly ok: false; readonly refusal: Refusal }> {
  const found = await engine.ask({ type: 'find', reference: id.slice(0, Math.max(0, id.lastIndexOf('@'))) })
  const decision =
    found === null
      ? undefined
      : (await decisionsIn(engine, { id: found.plan, name: found.name })).find(one => one.id === id)
  if (decision === undefined)
    return {
      ok: false,
      refusal: refuse('not-found', `there is no decision '${id}'`, 'take an id from the list of decisions'),
    }
  const made = await engine.submit(null, { type: 'create', definition: planFor(decision, now), taken: 'number' })
  if (!made.ok) return made
  const started = await engine.submit(made.plan, { type: 'start' })
  return started.ok ? { ok: true, name: made.name } : started
}

function planFor(decision: ListedDecision, now: string | null): PlanDefinition {
  const edit =
    now === null
      ? { type: 'create' as const, file: FILE, content: withDecision('', decision) }
      : {
          type: 'create' as const,
          file: FILE,
          content: withDecision(now, decision),
          overwrite: true as const,
          sha256: sha256Of(Buffer.from(now)),
        }
  return {
    name: `remember-${slug(decision.id) ?? 'decision'}` as PlanName,
    title: `Write a decision into ${FILE}`,
    tasks: [
      {
        id: 'approve' as TaskName,
        title: `Write it into ${FILE}?`,
        action: { type: 'gate', gate: 'approval', show: ['diff'] },
      },
      {
        id: 'write' as TaskName,
        needs: ['approve' as TaskName],
        action: { type: 'edit', edits: [edit] },
        write: [FILE],
      },
    ],
  }
}

/** One line at the end of the section, which is made if it is missing. Words of others cannot become markup. */
function withDecision(text: string, { asked, answer, why, by, at, id }: ListedDecision): string {
  const reason = why === '' ? '' : ` (${plain(why)})`
  const line = `- ${plain(asked)}: **${plain(answer)}**${reason}. ${plain(by)}, ${new Date(at).toISOString().slice(0, 10)}, \`${id}\``
  const lines = text === '' ? [] : text.replace(/\n*$/, '').split('\n')
  const head = lines.indexOf(HEAD)
  if (head === -1) return `${[...lines, ...(lines.length === 0 ? [] : ['']), HEAD, '', line].join('\n')}\n`
  const next = lines.findIndex((one, at) => at > head && /^#{1,2} /.test(one))
  let end = next === -1 ? lines.length : next
  while (end > head + 1 && lines[end - 1]!.trim() === '') end--
  return `${lines.toSpliced(end, 0, ...(end === head + 1 ? ['', line] : [line])).join('\n')}\n`
}

const plain = (text: string): string => markdownText(text.replaceAll(/\s+/g, ' ').trim(), 300)
