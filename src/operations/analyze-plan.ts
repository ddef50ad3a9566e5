// The analysis for the faces: the domain's rules, combined with facts from the format and the path gate.

import { type Analysis, type AnalyzeOptions, analyze, type Finding, planErrors } from '../domain/analysis/analyze.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { decidedOutcomes } from '../format/expression/expression.ts'
import { outputReads } from '../format/plan/output-reads.ts'
import { variableFault } from '../safety/environment.ts'
import { protectedBy } from '../safety/files/protected-path.ts'
import { parseRelativePath } from '../safety/files/relative-path.ts'
import { Refused } from '../safety/safety-refusal.ts'
import { inScope, patternError } from '../safety/scope.ts'

export function analyzed(
  definition: PlanDefinition,
  options: Pick<AnalyzeOptions, 'now' | 'assumedMs' | 'topLevelMax'> = {},
): Analysis {
  return analyze(definition, { ...options, ...known(definition) })
}

/** Only the errors of `analyzed`, at a fraction of its cost. */
export const errorsOf = (definition: PlanDefinition): readonly Finding[] => planErrors(definition, known(definition))

function known(definition: PlanDefinition): Pick<AnalyzeOptions, 'reads' | 'scopes' | 'environment' | 'decided'> {
  return {
    reads: outputReads(definition),
    scopes: { fault: patternError, holds: inScope, fileFault, folderFault },
    decided: decidedOutcomes,
    environment: { fault: variableFault },
  }
}

function folderFault(folder: string): string | null {
  try {
    parseRelativePath(folder)
    return null
  } catch (error) {
    if (error instanceof Refused) return 'is not a folder inside the workspace'
    throw error
  }
}

function fileFault(file: string): string | null {
  try {
    const components = parseRelativePath(file)
    const rule = protectedBy(components, null)
    return rule === null ? null : `is protected (${rule})`
  } catch (error) {
    if (error instanceof Refused) return 'is not a path inside the workspace'
    throw error
  }
}
