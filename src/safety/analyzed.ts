// The analysis as the faces show it: the domain's rules, with what the format and the path gate know handed in. It stands here
// because this is the lowest room that sees both.

import { type Analysis, type AnalyzeOptions, analyze } from '../domain/analysis/analyze.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { outputReads } from '../format/output-reads.ts'
import { protectedBy } from './protected-path.ts'
import { Refused } from './refused.ts'
import { parseRelativePath } from './relative-path.ts'
import { inScope, patternError } from './scope.ts'

export function analyzed(
  definition: PlanDefinition,
  options: Pick<AnalyzeOptions, 'now' | 'assumedMs' | 'topLevelMax'> = {},
): Analysis {
  return analyze(definition, {
    ...options,
    reads: outputReads(definition),
    scopes: { fault: patternError, holds: inScope, fileFault },
  })
}

function fileFault(file: string): string | null {
  try {
    const components = parseRelativePath(file)
    const rule = protectedBy(components, null)
    return rule === null ? null : `is protected (${rule})`
  } catch (error) {
    if (error instanceof Refused) return 'is no path inside the workspace'
    throw error
  }
}
