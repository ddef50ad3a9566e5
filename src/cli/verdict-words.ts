// What was judged before a person is asked: what holds, what does not and what it printed; and what is theirs to judge.

import type { Verdict } from '../domain/result.ts'
import { brief } from './brief.ts'

const SHOWN_MAX = 20

export function verdictLines(verdicts: readonly Verdict[]): readonly string[] {
  if (verdicts.length <= SHOWN_MAX) return verdicts.flatMap(verdictWords)
  // What speaks against it is not among what is left out.
  const told = [...verdicts].sort((a, b) => Number(a.holds === true) - Number(b.holds === true)).slice(0, SHOWN_MAX)
  return [...told.flatMap(verdictWords), `… and ${verdicts.length - SHOWN_MAX} more checks`]
}

function verdictWords({ criterion, holds, evidence, said }: Verdict): readonly string[] {
  const seen = evidence === undefined ? '' : ` (${brief(evidence)})`
  if (holds === null) return [`? ${brief(criterion)}${seen}: yours to judge`]
  const printed = holds || said === undefined ? [] : said.split('\n').map(line => `  │ ${brief(line)}`)
  return [`${holds ? '✔' : '✘'} ${brief(criterion)}${seen}`, ...printed]
}
