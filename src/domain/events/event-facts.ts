// The facts of results and actions in the audit trail: hashes, argument vectors, exit codes and counts that can be verified elsewhere.

import { actionFacts } from '../actions/actions.ts'
import { defined, type Json, type JsonObject } from '../json.ts'
import type { Action, CompensatingTask } from '../plan.ts'
import type { GitOperation } from '../plan-rules/git-operation.ts'
import { programWords, type Result, type Wrote } from '../result.ts'
import type { Audited } from './event-row.ts'

/** As the revision defined it at that time. Resolved values are not shown: the journal has only their hash. */
export function auditedAction(action: Action | CompensatingTask): JsonObject {
  if (action.type === 'task') return { action: 'task', by: action.task }
  return { action: action.type, ...actionFacts(action).audited?.(action) }
}

export function actionWords({ action, argv, script, edits, by }: JsonObject): string {
  if (argv !== undefined) return JSON.stringify(argv)
  if (typeof script === 'string') return `sh: ${script}`
  if (Array.isArray(edits)) return edits.join(', ')
  return typeof by === 'string' ? `task ${by}` : String(action)
}

export function resultFacts(result: Result, hashOf: Audited['hashOf']): JsonObject {
  const { exit, durationMs, log, wrote, inputHash, outputs, verdicts, git, programs } = result
  const facts: { readonly [key: string]: Json | undefined } =
    result.status === 'succeeded'
      ? { outcome: result.outcome }
      : { class: result.failure.class, message: result.failure.message, mode: result.mode }
  return defined({
    status: result.status,
    ...facts,
    exit,
    durationMs,
    log: log === undefined ? undefined : { sha256: log.sha256, bytes: log.bytes },
    outputs: outputs === undefined ? undefined : outputHashes(outputs, hashOf),
    wrote: wrote === undefined ? undefined : wroteFacts(wrote),
    inputHash,
    verdicts: verdicts?.map(({ criterion, holds, stage, log }) =>
      defined({ criterion, holds, stage, log: log?.sha256 }),
    ),
    operations: git?.map(operationFacts),
    programs: programs === undefined ? undefined : Object.entries(programs).map(one => programWords(...one)),
  })
}

const wroteFacts = ({ changes, paths, left, snapshot }: Wrote): JsonObject =>
  defined({ changes, paths, left, snapshot })

function outputHashes(outputs: JsonObject, hashOf: Audited['hashOf']): JsonObject {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => {
      const artifact =
        value !== null && typeof value === 'object' && 'artifact' in value ? (value as JsonObject).artifact : null
      return [name, typeof artifact === 'string' ? artifact : hashOf(value as Json)]
    }),
  )
}

export function operationFacts(operation: GitOperation): JsonObject {
  const { type, ref } = operation
  if ('before' in operation) return defined({ type, ref, before: operation.before, after: operation.after })
  return { type, ref, commit: operation.commit }
}
