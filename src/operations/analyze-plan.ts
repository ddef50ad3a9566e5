// The analysis for the faces: the domain's rules, combined with facts from the format and the path gate.

import { type Analysis, type AnalyzeOptions, analyze, type Finding, planErrors } from '../domain/analysis/analyze.ts'
import { isA, orElse } from '../domain/json.ts'
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

const componentsOf = (path: string) => orElse(() => parseRelativePath(path), null, isA(Refused))

const folderFault = (folder: string): string | null =>
  componentsOf(folder) === null ? 'is not a folder inside the workspace' : null

function fileFault(file: string): string | null {
  const components = componentsOf(file)
  if (components === null) return 'is not a path inside the workspace'
  const rule = protectedBy(components, null)
  return rule === null ? null : `is protected (${rule})`
}
