// A file that a task is sure to write, and that a layer around its plan does not let be written: told before the plan starts, and the
// reason why the task is not begun.

import { posix } from 'node:path'
import type { TaskDefinition } from '../../domain/plan.ts'
import { filesWritten } from '../../domain/plan-rules/effect.ts'
import { layerWords, type PolicyLayer } from '../../domain/policy/policy-layer.ts'
import { inScope } from '../scope.ts'

export interface RefusedWrite {
  readonly message: string
  readonly hint: string
}

/** The first of them; null when there is none. A path that is worked out later is judged then. */
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
