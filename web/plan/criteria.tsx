// Acceptance criteria with their verdicts and evidence.

import type { Criterion, TaskDefinition } from '../../src/domain/plan.ts'
import { criterionText } from '../../src/domain/plan-rules/criterion-text.ts'
import type { Verdict } from '../../src/domain/result.ts'
import { testLines } from '../../src/domain/views/test-changes.ts'
import { Glyph } from '../parts/glyph.tsx'

const howOf = (criterion: Criterion): string | null => (criterion.type === 'prose' ? null : criterionText(criterion))

interface Line {
  readonly text: string
  readonly how: string | null
  readonly verdict: Verdict | null
}

export function linesOf(
  definition: Pick<TaskDefinition, 'accept' | 'preconditions' | 'postconditions' | 'expect'>,
  verdicts: readonly Verdict[],
): readonly Line[] {
  const left = [...verdicts]
  const all = [...(definition.preconditions ?? []), ...(definition.accept ?? []), ...(definition.postconditions ?? [])]
  const lines = all.map((criterion): Line => {
    const how = howOf(criterion)
    const text = criterion.text ?? how ?? ''
    const at = left.findIndex(one => one.criterion === text || one.criterion === how || one.criterion.includes(text))
    const [verdict = null] = at === -1 ? [] : left.splice(at, 1)
    return { text, how: how === text ? null : how, verdict }
  })
  return [...lines, ...left.map(verdict => ({ text: verdict.criterion, how: null, verdict }))]
}

export function Criteria({
  definition,
  verdicts,
}: {
  readonly definition: TaskDefinition
  readonly verdicts: readonly Verdict[]
}) {
  const lines = linesOf(definition, verdicts)
  if (lines.length === 0) return null
  const holding = lines.filter(({ verdict }) => verdict?.holds === true).length
  return (
    <section>
      <h3>
        Criteria <s>{verdicts.length === 0 ? `${lines.length} to judge` : `${holding} of ${lines.length} hold`}</s>
      </h3>
      <Verdicts lines={lines} />
    </section>
  )
}

export function Verdicts({ lines }: { readonly lines: readonly Line[] }) {
  return (
    <ul className="criteria">
      {lines.map(({ text, how, verdict }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: criteria are in order.
        <li key={at}>
          <Glyph
            sign={verdict?.holds === true ? 'completed' : verdict?.holds === false ? 'failed' : 'gate'}
            label={verdict?.holds === true ? 'holds' : verdict?.holds === false ? 'does not hold' : 'not judged'}
          />
          <div>
            <b>{text}</b>
            {how !== null && <code>{how}</code>}
            {verdict?.evidence !== undefined && <span>{verdict.evidence}</span>}
            {verdict?.tests !== undefined &&
              testLines(verdict.tests)
                .slice(1)
                .map(line => <span key={line}>{line}</span>)}
            {verdict?.said !== undefined && verdict.said !== '' && <pre className="block">{verdict.said}</pre>}
          </div>
        </li>
      ))}
    </ul>
  )
}
