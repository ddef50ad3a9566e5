// The environment of a task's process: the inherited allowlist, what the plan adds, and our marks last, so that nothing
// can overwrite them. Inputs travel as JSON in PLANFOLD_INPUTS, never spliced into a command.

import { environmentFailure, inheritedEnvironment, VALUE_MAX_BYTES } from '../../safety/environment.ts'
import { type Answer, failure } from '../../safety/refused.ts'
import type { Attempt, RunnerTools } from '../runner.ts'

export function childEnvironment(attempt: Attempt, tools: RunnerTools): Answer<{ readonly [name: string]: string }> {
  const refused = environmentFailure(attempt.env)
  if (refused !== null) return { ok: false, failure: refused }
  const inputs = JSON.stringify(attempt.inputs)
  if (Buffer.byteLength(inputs) > VALUE_MAX_BYTES) {
    const message = `The inputs are ${Buffer.byteLength(inputs)} bytes of JSON; a process can be handed ${VALUE_MAX_BYTES}.`
    return { ok: false, failure: failure('logic', message, 'Write large values to a file and hand over its path.') }
  }
  const marks = {
    PLANFOLD_PLAN: attempt.plan,
    PLANFOLD_TASK: attempt.task,
    PLANFOLD_INPUTS: inputs,
    PLANFOLD_OWNER: tools.owner,
    PLANFOLD_KEY: attempt.key,
    PLANFOLD_ATTEMPT: String(attempt.attempt),
    ...(tools.traceparent === undefined ? {} : { TRACEPARENT: tools.traceparent }),
    ...(attempt.feedback === undefined ? {} : { PLANFOLD_FEEDBACK: handed(attempt.feedback) }),
  }
  return { ok: true, value: { ...inheritedEnvironment(tools.environment), ...attempt.env, ...marks } }
}

/** A person's words, as far as a process can be handed them. */
function handed(text: string): string {
  const bytes = Buffer.from(text.replaceAll('\0', ''))
  if (bytes.length <= VALUE_MAX_BYTES) return bytes.toString('utf8')
  const cut = bytes.subarray(0, VALUE_MAX_BYTES - 8).toString('utf8')
  return `${cut.replace(/\uFFFD$/, '')}…`
}
