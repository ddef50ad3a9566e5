// `planfold models list|test|usage`: which models there are, whether one answers, and what was spent. Needs no plan and no store.

import { answer, CliError, type Context, EXIT } from '../../../cli/command.ts'
import { momentOf, type Since } from '../../../cli/commands/plans/log.ts'
import { table } from '../../../cli/terminal/table.ts'
import { locate, modelsAt } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Failure } from '../../../domain/result.ts'
import type { ModelCost, Models, ModelUsage, ModelUsageSum } from '../../../runners/models.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { modelUsage } from '../model-usage.ts'

function modelsOf({ cwd, environment, settings }: Context): Models {
  const place = locate({ cwd, environment, dir: settings.dir })
  return modelsAt({ environment, ...place })
}

export async function listModels(context: Context): Promise<number> {
  const list = await modelsOf(context).list()
  answer(context, list, () => {
    const keys = list.providers.map(({ name, key }) => `${name} (${key})`).join(', ')
    const faults = [
      ...list.faults.flatMap(({ message, hint }) => [`error: ${message}`, `hint: ${hint}`]),
      ...(keys === '' ? [] : [`providers with a key: ${keys}`]),
    ]
    if (list.models.length === 0)
      return [
        ...faults.map(line => escapeForTerminal(line)),
        'no models in your settings (see `planfold models --help`). Try one: planfold models test PROVIDER/NAME',
      ]
    const rows = list.models.map(({ name, url, key, price }) => [
      name === list.default ? `${name} (default)` : name,
      typeof key === 'string' ? key : key.from,
      price === null ? 'not known' : `${price.input} / ${price.output} USD`,
      price === null ? '' : [price.checked, price.source].filter(word => word !== '').join(', '),
      url,
    ])
    const columns = context.terminal?.columns() ?? null
    const shown = table(context.paint, ['model', 'key', 'price per 1M in / out', 'checked', 'address'], rows, columns)
    return [...faults.map(line => escapeForTerminal(line)), ...(typeof shown === 'string' ? [shown] : shown)]
  })
  return list.faults.length === 0 ? EXIT.done : EXIT.failed
}

export async function tryModel(context: Context, use: string | undefined): Promise<number> {
  const stop = new AbortController()
  const release = context.onSignal(() => stop.abort())
  try {
    const models = modelsOf(context)
    const tested = await testModel(models, {
      use,
      now: context.now,
      signal: stop.signal,
    })
    if (!tested.ok) {
      const { failure, model, calls } = tested
      throw new CliError(EXIT.failed, failure.code ?? 'model', failure.message, failure.hint, [], { model, calls })
    }
    const { ok: _, ...result } = tested
    answer(context, result, () => {
      const { model, answer: word, durationMs, usage, cost } = tested
      const spent = `${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${costWords(cost)}`
      return `${model} answered '${escapeForTerminal(word)}' in ${(durationMs / 1000).toFixed(1)} s (${spent})`
    })
    return EXIT.done
  } finally {
    release()
  }
}

export async function showUsage(context: Context, { since }: { readonly since?: Since }): Promise<number> {
  const when = since === undefined ? {} : { since: momentOf(since, context.now()) }
  const report = await modelUsage(modelsOf(context), when)
  answer(context, report, () => {
    if (report.total.calls === 0) return 'no model was called'
    const row = (name: string, sum: ModelUsageSum) => [
      name,
      String(sum.calls),
      String(sum.failed + sum.cutOff),
      String(sum.usage.inputTokens),
      String(sum.usage.cacheReadTokens),
      String(sum.usage.outputTokens),
      ...(report.total.assumedTokens === 0 ? [] : [String(sum.assumedTokens)]),
      sum.unpriced === 0 ? `${sum.usd} USD` : `${sum.usd} USD, and ${numberOf(sum.unpriced, 'call')} of unknown price`,
    ]
    const rows = [...report.models.map(one => row(one.model, one)), row('total', report.total)]
    const columns = context.terminal?.columns() ?? null
    return table(
      context.paint,
      [
        ...['model', 'calls', 'not answered', 'tokens in', 'of it cached', 'tokens out'],
        ...(report.total.assumedTokens === 0 ? [] : ['tokens assumed']),
        'cost',
      ],
      rows,
      columns,
    )
  })
  return EXIT.done
}

const costWords = (cost: ModelCost): string => (cost.known ? `${cost.usd} USD` : 'price not known')

// Tests a model with one small question that is answered in JSON: key, name, protocol and structured output at once.

type ModelTest =
  | {
      readonly ok: true
      readonly model: string
      readonly answer: string
      readonly durationMs: number
      readonly calls: number
      readonly usage: ModelUsage
      readonly cost: ModelCost
    }
  | { readonly ok: false; readonly model: string | null; readonly failure: Failure; readonly calls: number }

const CAPS = { calls: 3, tokens: 20_000 }
const OUTPUT_TOKENS_MAX = 2_048

async function testModel(
  models: Models,
  options: { readonly use?: string; readonly now: () => number; readonly signal?: AbortSignal },
): Promise<ModelTest> {
  const { use, now, signal } = options
  const opened = await models.open({ use, purpose: 'test', caps: CAPS })
  if (!opened.ok) return { ok: false, model: use ?? null, failure: opened.failure, calls: 0 }
  const { model } = opened
  const began = now()
  const answer = await model.object({
    messages: [{ role: 'user', text: 'Answer with one English word in "word": the opposite of "no".' }],
    schema: {
      type: 'object',
      properties: { word: { type: 'string' } },
      required: ['word'],
      additionalProperties: false,
    },
    outputTokensMax: OUTPUT_TOKENS_MAX,
    signal,
  })
  const { calls, usage, cost } = answer
  if (!answer.ok) return { ok: false, model: model.name, failure: answer.failure, calls }
  const { word } = answer.value as { readonly word: string }
  return { ok: true, model: model.name, answer: word, durationMs: now() - began, calls, usage, cost }
}
