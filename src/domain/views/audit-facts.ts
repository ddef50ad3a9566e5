// What an event says that can be held against something else: hashes, argument vectors, exit codes, counts. Values that tasks
// returned are named by their hash, so that a trail can be shown without them; rights (tokens) are left out.

import type { Event } from '../event.ts'
import type { GitOperation } from '../git-operation.ts'
import type { Sha256 } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Action, CompensatingTask, TaskDefinition } from '../plan.ts'
import type { Result, Wrote } from '../result.ts'
import { operationsOf } from './git-operations.ts'

/** The hash of a value as canonical JSON. */
export type HashOf = (value: Json) => Sha256

export function factsOf(event: Event, task: TaskDefinition | undefined, hashOf: HashOf): JsonObject {
  switch (event.type) {
    case 'plan.created': {
      const { hash, origin, forkedAt, place, source } = event
      return some({ revision: 1, hash, origin, forkedAt, place, dialect: source?.dialect })
    }
    case 'plan.revised': {
      const { revision, hash, rationale, source } = event
      return some({ revision, hash, rationale, dialect: source?.dialect })
    }
    case 'task.added':
      return { tasks: event.tasks.map(({ id }) => id), hash: hashOf(event.tasks as unknown as Json) }
    case 'plan.annotated':
    case 'task.annotated':
      return { by: event.by, keys: Object.keys(event.set), hash: hashOf(event.set) }
    case 'task.evaluated': {
      const { id, by, visit, score, passed, data } = event
      return some({ id, by, visit, score, passed, data: data === undefined ? undefined : hashOf(data) })
    }
    case 'plan.started':
      return some({ rules: event.rules, files: event.files })
    case 'gate.opened':
      return some({ asks: event.asks.type, on: event.hash })
    case 'gate.decided': {
      const { verdict, rationale, by, option, answers, to, until } = event
      return some({ verdict, rationale, by, option, answers, to, until })
    }
    case 'gate.voted':
      return some({ by: event.by, rationale: event.rationale, on: event.hash })
    case 'consent.voided':
      return { reason: event.reason }
    case 'question.asked':
      return some({ id: event.id, by: event.by, text: event.text, fields: event.form.map(({ name }) => name) })
    case 'question.answered':
      return { id: event.id, by: event.by, answers: event.answers }
    case 'revision.proposed': {
      const { id, hash, base, by, rationale, cause } = event
      return some({ id, hash, base, by, rationale, cause })
    }
    case 'revision.declined':
      return { id: event.id, by: event.by, rationale: event.rationale }
    case 'recovery.chosen':
      return some({ visit: event.visit, choice: event.choice, reason: event.reason, rule: event.rule, to: event.to })
    case 'task.escalated':
      return some({ why: event.why, to: event.to })
    case 'notice.sent':
      return some({ id: event.id, kind: event.kind, to: event.to, failure: event.failure })
    case 'criterion.judged':
      return some({ criterion: event.criterion, holds: event.holds, stage: event.stage })
    case 'attempt.started': {
      const { visit, attempt, preimage, before, inputHash, claim } = event
      const told = task === undefined ? {} : toldTo(task.action)
      return some({ visit, attempt, ...told, claimedBy: claim?.by, preimage, before, inputHash })
    }
    case 'attempt.succeeded':
    case 'attempt.failed': {
      const { visit, attempt, result } = event
      return { visit, attempt, ...resultFacts(result, hashOf) }
    }
    case 'report.refused': {
      const { visit, attempt, failure } = event
      return { visit, attempt, failure: failure.message }
    }
    case 'attempt.lost':
      return some({ visit: event.visit, attempt: event.attempt, reason: event.reason, byUs: event.byUs })
    case 'attempt.parked':
      return { reason: event.evidence.reason, effect: event.evidence.effect, startedAt: event.evidence.startedAt }
    case 'workspace.restored':
      return some({ to: event.to, saved: event.saved, files: event.files?.length })
    case 'outputs.checked':
      return { lost: event.lost.map(({ task, output, file, what }) => ({ task, output, file, what })) }
    case 'files.restored':
      return { saved: event.saved, changes: event.changes, paths: event.paths, by: event.by }
    case 'compensation.started':
      return { ...toldTo(event.action) }
    case 'compensation.finished':
    case 'compensation.retried':
      return resultFacts(event.result, hashOf)
    case 'checkpoint.taken': {
      const { name, why, standing } = event
      return some({
        checkpoint: name,
        why,
        snapshot: standing.snapshot,
        files: standing.files,
        head: standing.git?.head,
      })
    }
    case 'git.committed':
    case 'place.made': {
      const operations = event.type === 'place.made' ? event.operations : operationsOf(event)
      const failure = event.type === 'git.committed' ? event.failure?.message : undefined
      return some({ operations: operations.map(operationFacts), failure })
    }
    case 'rollback.started':
      return some({
        kind: event.kind,
        to: event.to,
        checkpoint: event.checkpoint,
        tasks: event.resets.length,
        fork: event.adopts?.fork,
      })
    case 'fork.adopted':
      return some({ into: event.into, version: event.version ?? undefined, folder: event.folder, why: event.why })
    case 'rollback.finished':
    case 'rollback.stopped': {
      const { changes, paths, saved, left, kept, git } = event
      const failure = event.type === 'rollback.stopped' ? event.failure.message : undefined
      const conflicts = event.type === 'rollback.stopped' ? event.conflicts : undefined
      const operations = git === undefined ? undefined : git.map(operationFacts)
      return some({ changes, paths, saved, left: left?.length, kept: kept?.length, operations, failure, conflicts })
    }
    default:
      return {}
  }
}

/**
 * What the engine carried out, as the revision of then says. Where values flow into it (`${{ … }}`) the journal keeps only the hash
 * of what came out (`inputHash`), and `resolved` is false.
 */
function toldTo(action: Action | CompensatingTask): { readonly [key: string]: Json } {
  switch (action.type) {
    case 'run': {
      const { command } = action
      const text = 'argv' in command ? command.argv.join(' ') : command.script
      const told = 'argv' in command ? { argv: command.argv } : { script: command.script }
      return { action: 'run', ...told, resolved: !text.includes('${{') }
    }
    case 'edit':
      return { action: 'edit', edits: action.edits.map(({ type, file }) => `${type} ${file}`) }
    case 'task':
      return { action: 'task', by: action.task }
    default:
      return { action: action.type }
  }
}

/** What was carried out, in words. */
export function toldWords({ action, argv, script, edits, by }: JsonObject): string | null {
  if (argv !== undefined) return JSON.stringify(argv)
  if (typeof script === 'string') return `sh: ${script}`
  if (Array.isArray(edits)) return edits.join(', ')
  if (typeof by === 'string') return `task ${by}`
  return typeof action === 'string' ? action : null
}

function resultFacts(result: Result, hashOf: HashOf): JsonObject {
  const { exit, durationMs, log, wrote, inputHash, outputs, verdicts, git } = result
  const told =
    result.status === 'succeeded'
      ? { outcome: result.outcome }
      : { class: result.failure.class, message: result.failure.message, mode: result.mode }
  return some({
    status: result.status,
    ...told,
    exit,
    durationMs,
    log: log === undefined ? undefined : { sha256: log.sha256, bytes: log.bytes },
    outputs: outputs === undefined ? undefined : outputHashes(outputs, hashOf),
    wrote: wrote === undefined ? undefined : wroteFacts(wrote),
    inputHash,
    verdicts: verdicts?.map(({ criterion, holds, stage, log }) => some({ criterion, holds, stage, log: log?.sha256 })),
    operations: git?.map(operationFacts),
  })
}

const wroteFacts = ({ changes, paths, left, snapshot }: Wrote): JsonObject => some({ changes, paths, left, snapshot })

function outputHashes(outputs: JsonObject, hashOf: HashOf): JsonObject {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => {
      const artifact =
        value !== null && typeof value === 'object' && 'artifact' in value ? (value as JsonObject).artifact : null
      return [name, typeof artifact === 'string' ? artifact : hashOf(value as Json)]
    }),
  )
}

function operationFacts(operation: GitOperation): JsonObject {
  const { type, ref } = operation
  if ('before' in operation) return some({ type, ref, before: operation.before, after: operation.after })
  return { type, ref, commit: operation.commit }
}

/** Without what is not known. */
function some(facts: { readonly [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as JsonObject
}
