// Asks a judge in the middle of an attempt, and returns its answer in the shape that was asked for. A judge that is an agent may only
// read. What it costs is charged to the attempt that asks; what it was asked and answered comes back as a report, which belongs into the
// result of that attempt, so that a replay needs no judge.

import { answerOutputs } from '../../domain/actions/model-action.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { judgeAction, judgeIn } from '../../domain/plan-rules/judge.ts'
import type { Failure } from '../../domain/result.ts'
import type { Attempt, JudgedText, ModelReport } from '../../runners/runner.ts'
import type { AttemptRun } from '../attempts/attempt-run.ts'
import { deniedBy, toolsFor } from '../attempts/attempt-tools.ts'
import { keptAs } from '../attempts/resolve.ts'

export interface JudgeRequest {
  /** As in a plan file: `model`, `PROVIDER/NAME`, an agent; never a task. */
  readonly by: Json
  /** Distinguishes the questions of one attempt: each has a conversation, and answers that are kept, of its own. */
  readonly name: string
  /** What it is asked, in our words. */
  readonly instruction: string
  /** What it is shown, as `judged-work.ts` makes it: bounded, redacted and marked as data. */
  readonly shows: readonly JudgedText[]
  /** The shape of its answer, as under `answer:` in a plan file. `VERDICT` for an opinion about changes. */
  readonly answer: JsonObject
}

export type Judged =
  | { readonly ok: true; readonly answer: JsonObject; readonly model?: ModelReport }
  /** `interrupted`: it was stopped, or waits for a person; the whole attempt is made again. */
  | { readonly ok: false; readonly interrupted: string }
  | { readonly ok: false; readonly failure: Failure; readonly model?: ModelReport }

export async function askJudge(run: AttemptRun, attempt: Attempt, request: JudgeRequest): Promise<Judged> {
  const { rooms, options } = run
  const judge = judgeIn(request.by)
  const action = judge === null ? null : judgeAction(judge, request.answer)
  const runner = action === null ? undefined : rooms.runners.get(action.type)
  if (action === null || runner === undefined) return { ok: false, failure: NO_JUDGE }
  const instruction = action.type === 'model' ? promptOf(request) : request.instruction
  const { timeoutMs } = attempt.definition
  const definition: TaskDefinition = {
    id: attempt.task,
    title: `Judge '${attempt.task}'`,
    action,
    instruction,
    write: [],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  // What the task itself was told and said in earlier attempts is not the judge's.
  const { feedback: _, lessons: __, conversation: ___, ...rest } = attempt
  const asked: Attempt = { ...rest, definition, action, inputs: {}, env: {} }
  const denied = deniedBy(run, asked)
  if (denied !== null) return { ok: false, failure: denied }
  // Budget and permissions are those of the task that asks; conversation and kept answers are the judge's own.
  const opened = await toolsFor(run, asked)
  if (!opened.ok) return { ok: false, failure: opened.failure }
  const { agent } = opened.value
  const facts = agent && { ...agent.facts, changed: { paths: [], more: 0 }, judged: request.shows }
  const tools = facts === undefined ? opened.value : { ...opened.value, agent: { ...agent!, facts } }
  const key = `${attempt.key}/${request.name}`
  const own = { task: `${attempt.task}/${request.name}` as TaskName, key, keepAs: keptAs(key, run.task) }
  const outcome = await runner.attempt({ ...asked, ...own }, tools, options.stop)
  const model = 'model' in outcome && outcome.model !== undefined ? { model: outcome.model } : {}
  if (outcome.type === 'interrupted') return { ok: false, interrupted: outcome.reason ?? 'stopped' }
  if (outcome.type === 'parked') return { ok: false, interrupted: outcome.reason }
  if (outcome.type === 'failed') return { ok: false, failure: outcome.failure, ...model }
  const outputs = outcome.type === 'done' ? (outcome.outputs ?? {}) : {}
  const names = answerOutputs(request.answer).filter(name => outputs[name] !== undefined)
  return { ok: true, answer: Object.fromEntries(names.map(name => [name, outputs[name] as Json])), ...model }
}

/** The whole prompt of a model that is shown these texts. */
export const promptOf = ({ instruction, shows }: Pick<JudgeRequest, 'instruction' | 'shows'>): string =>
  [instruction, ...shows.map(({ title, text }) => `## ${title}\n${text}`)].join('\n\n')

const NO_JUDGE: Failure = {
  class: 'logic',
  code: 'judge:none',
  message: 'there is nobody here who could judge',
  hint: 'name a model (PROVIDER/NAME) or an agent under `by`',
  retryable: false,
}
