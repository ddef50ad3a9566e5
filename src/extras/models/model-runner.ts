// Asks a language model: the instruction of the task is the prompt, the declared answer becomes the outputs. One attempt is one
// question with its repairs; what failed is tried again by the engine. What was sent and answered is recorded, so that a replay needs
// no model.

import { answerSchema, type ModelRequest, modelRequest } from '../../domain/actions/model-action.ts'
import type { Spend } from '../../domain/budget/amounts.ts'
import { defined, isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { addCost, addUsage } from '../../domain/model-use.ts'
import type { Failure } from '../../domain/result.ts'
import type { CallBudget, Model, ModelAnswer, Models } from '../../runners/models.ts'
import type { Attempt, AttemptBudget, ModelReport, Outcome, Runner, RunnerTools, Stop } from '../../runners/runner.ts'

export interface ModelRunnerOptions {
  readonly models: Models
}

export function modelRunner(options: ModelRunnerOptions): Runner {
  return {
    action: 'model',
    preview: async attempt => ({ text: previewOf(attempt) }),
    attempt: (attempt, tools, stop) => askModel(options, attempt, tools, stop),
  }
}

async function askModel(
  { models }: ModelRunnerOptions,
  attempt: Attempt,
  tools: RunnerTools,
  stop: Stop,
): Promise<Outcome> {
  const request = modelRequest(attempt.action)
  const prompt = attempt.definition.instruction ?? ''
  if (request === null || prompt.trim() === '')
    return failed({ class: 'logic', message: 'there is nothing that a model could be asked', retryable: false })
  const use = request.use ?? attempt.model
  const spending = new Spending(tools.budget)
  const opened = await models.open({
    use,
    purpose: 'task',
    payer: attempt.key,
    ...defined({ keepAs: attempt.keepAs }),
    // Where a plan pays, the caps of the task are part of its budget.
    ...(tools.budget === undefined ? { caps: request.caps } : { budget: spending }),
  })
  if (!opened.ok) return failed(opened.failure)
  const { model } = opened
  const say = (text: string) => tools.log('engine', Buffer.from(`${text}\n`))
  say(`asks ${model.name}`)
  const timeout = AbortSignal.timeout(attempt.timeoutMs)
  const answer = await askOften(model, request, promptOf(prompt, attempt), AbortSignal.any([stop.signal, timeout]))
  if (stop.aborted) return { type: 'interrupted' }
  // A person is asked for more. Nothing was sent in this attempt, or nobody answered while it waited: it is made again afterwards.
  if (spending.asked !== null)
    return { type: 'interrupted', reason: spending.asked, ...(answer.calls === 0 ? { begun: false as const } : {}) }
  const spent = `${answer.usage.inputTokens} tokens in, ${answer.usage.outputTokens} out`
  say(`${answer.ok ? 'answered' : 'failed'} after ${answer.calls === 1 ? '1 call' : `${answer.calls} calls`}, ${spent}`)
  const said = answer.ok ? textOf(answer.value) : (answer.text ?? '')
  if (said !== '') tools.log('stdout', Buffer.from(said.endsWith('\n') ? said : `${said}\n`))
  const report = answer.calls === 0 ? {} : { model: reportOf(model, answer) }
  if (answer.ok) return { type: 'done', outputs: outputsOf(request, answer.value), ...report }
  return { ...failed(timeout.aborted ? timedOut(attempt) : answer.failure), ...report }
}

/** Until something was sent it does not wait for a person but begins again later; then it waits, to pay nothing twice. */
class Spending implements CallBudget {
  readonly #budget: AttemptBudget | undefined
  #held = 0
  /** Why it could not go on. */
  asked: string | null = null

  constructor(budget: AttemptBudget | undefined) {
    this.#budget = budget
  }

  async reserve(most: Spend, { signal, settings }: Parameters<CallBudget['reserve']>[1]) {
    if (this.#budget === undefined) return { ok: true as const, id: '' }
    const wait = this.#held === 0 ? 'others' : 'person'
    const reserved = await this.#budget.reserve(most, {
      wait,
      settings,
      signal,
    })
    if (reserved.ok) this.#held++
    else if (reserved.why !== 'refused') this.asked = reserved.failure.message
    return reserved
  }

  async settle(id: string, actual: Spend): Promise<void> {
    await this.#budget?.settle(id, actual)
  }
}

const failed = (failure: Failure) => ({ type: 'failed' as const, failure })

const timedOut = ({ timeoutMs }: Attempt): Failure => ({
  class: 'transient',
  code: 'timeout',
  message: `the model did not answer within ${timeoutMs / 1000} s`,
  hint: 'raise `timeout`, or ask for a shorter answer',
  retryable: true,
})

/** Asks until the majority of the votes is decided; where they are even, it is `fail`. An answer that fails ends it. */
async function askOften(
  model: Model,
  request: ModelRequest,
  prompt: string,
  signal: AbortSignal,
): Promise<ModelAnswer<Json>> {
  const { votes } = request
  const answers: Extract<ModelAnswer<Json>, { readonly ok: true }>[] = []
  for (;;) {
    const answer = await ask(model, request, prompt, signal)
    if (votes <= 1) return answer
    const all = [...answers, answer]
    const spent = {
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
      usage: all.map(({ usage }) => usage).reduce(addUsage),
      cost: all.map(({ cost }) => cost).reduce(addCost),
    }
    if (!answer.ok) return { ...answer, ...spent }
    answers.push(answer)
    const against = answers.filter(({ value }) => isMap(value) && value.verdict === 'fail')
    const others = answers.filter(one => !against.includes(one))
    const most = against.length * 2 >= votes ? against : others.length * 2 > votes ? others : null
    if (most !== null) return { ...answer, ...spent, value: joined(most.map(({ value }) => value)) }
  }
}

/** The findings of all who agree. */
function joined(values: readonly Json[]): Json {
  const [first = {}] = values
  if (!isMap(first)) return first
  const lists = values.map(value => (isMap(value) ? value.findings : undefined))
  return { ...first, findings: lists.flatMap(list => (Array.isArray(list) ? list : [])) }
}

async function ask(
  model: Model,
  { system, answer, outputTokens }: ModelRequest,
  prompt: string,
  signal: AbortSignal,
): Promise<ModelAnswer<Json>> {
  const question = {
    ...(system === null ? {} : { system }),
    messages: [{ role: 'user' as const, text: prompt }],
    ...(outputTokens === null ? {} : { outputTokensMax: outputTokens }),
    signal,
  }
  if (answer === null) return await model.text(question)
  const shape = isMap(answer) ? answer : { answer }
  return await model.object({ ...question, schema: answerSchema(shape) })
}

/** Whoever sent the task back said why. */
const promptOf = (prompt: string, { feedback, lessons = [] }: Attempt): string =>
  [
    prompt,
    ...(lessons.length === 0 ? [] : [`What was said about earlier answers:\n${lessons.join('\n')}`]),
    ...(feedback === undefined ? [] : [`Your previous answer was sent back: ${feedback}`]),
  ].join('\n\n')

const outputsOf = ({ answer }: ModelRequest, value: Json): JsonObject =>
  answer === null ? { text: value } : (value as JsonObject)

function reportOf(model: Model, { calls, usage, cost }: ModelAnswer<unknown>): ModelReport {
  const recording = model.recording()
  const { exchanges } = recording
  return {
    use: {
      model: model.name,
      calls,
      usage,
      cost,
      wireUsage: exchanges.flatMap(({ wireUsage }) => (wireUsage === undefined ? [] : [wireUsage])),
      providerMetadata: exchanges.flatMap(({ providerMetadata }) =>
        providerMetadata === undefined ? [] : [providerMetadata],
      ),
    },
    recording,
  }
}

function previewOf({ action, definition, model }: Attempt): string {
  const use = modelRequest(action)?.use ?? model ?? 'the default model'
  return `asks ${use}:\n${definition.instruction ?? ''}`
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))
