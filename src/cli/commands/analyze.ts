// `planfold analyze FILE|PLAN`: what can be known before anything runs, and what is wrong or risky. Writes nothing.

import type { Finding } from '../../domain/analysis/analyze.ts'
import { analyzed } from '../../safety/analyzed.ts'
import { report } from '../analysis-report.ts'
import { answer } from '../answer.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit.ts'
import { type LookedAt, lookAt } from '../looked-at.ts'

export interface AnalyzeCommandOptions {
  /** Warnings count like errors. */
  readonly strict?: boolean
  /** The length of a task that says none, in milliseconds. */
  readonly assume?: number
  /** How many tasks may stand side by side. */
  readonly maxTasks?: number
}

/** A finding about a file knows where it is written. */
export type Placed = Finding & { readonly file?: string; readonly line?: number; readonly column?: number }

export async function analyze(
  context: Context,
  word: string | undefined,
  options: AnalyzeCommandOptions,
): Promise<number> {
  const looked = await lookAt(context, word, { check: null })
  const analysis = analyzed(looked.definition, {
    now: context.now(),
    ...(options.assume === undefined ? {} : { assumedMs: options.assume }),
    ...(options.maxTasks === undefined ? {} : { topLevelMax: options.maxTasks }),
  })
  const findings = placed(analysis.findings, looked)
  const bad = analysis.findings.filter(
    ({ severity }) => severity === 'error' || (options.strict === true && severity === 'warning'),
  ).length
  const { name } = looked.definition
  const sketch = looked.file?.told.sketch ?? []
  answer(context, { name, ok: bad === 0, sketch, ...analysis, findings }, () =>
    report(context, looked, analysis, findings),
  )
  return bad === 0 ? EXIT.done : EXIT.usage
}

/** Finding a place costs a walk through the document; so many are more than anyone reads. */
const PLACED_MAX = 500

function placed(findings: readonly Finding[], { file }: LookedAt): readonly Placed[] {
  if (file === null) return findings
  return findings.map((finding, at) => {
    if (at >= PLACED_MAX) return finding
    const { line, column } = file.locate(finding)
    return { ...finding, file: file.path, line, column }
  })
}
