// A file that a task will certainly write and a policy layer forbids: reported before the plan starts, and when the task would begin.

import { posix } from 'node:path'
import type { TaskDefinition } from '../../domain/plan.ts'
import { filesWritten } from '../../domain/plan-rules/effect.ts'
import { layerWords, type PolicyLayer } from '../../domain/policy/policy-layer.ts'
import { inScope } from '../scope.ts'

export interface RefusedWrite {
  readonly message: string
  readonly hint: string
}

/** The first one; null for none. Computed paths are checked at run time. */
export function refusedWrite(layers: readonly PolicyLayer[], task: TaskDefinition): RefusedWrite | null {
  const limits = layers.filter(({ policy }) => policy.write !== undefined)
  if (limits.length === 0) return null
  for (const file of filesWritten(task).filter(path => !path.includes('${{'))) {
    const by = limits.find(({ policy }) => !inScope(policy.write ?? null, posix.normalize(file)))
    if (by === undefined) continue
    const allowed = by.policy.write ?? []
    return {
      message: `'${file}' may not be written: ${layerWords(by, 'write')} allows only ${allowed.length === 0 ? 'reading' : allowed.join(', ')}`,
      hint: 'change that rule, or write elsewhere',
    }
  }
  return null
}
