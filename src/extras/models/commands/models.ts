// `planfold models list|test|usage`: which models there are, whether one answers, and what was spent. Needs no plan and no store.

import { answer, CliError, type Context, EXIT } from '../../../cli/command.ts'
import { momentOf, type Since } from '../../../cli/commands/plans/log.ts'
import { table } from '../../../cli/terminal/table.ts'
import { locate, modelsAt } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { ModelCost, Models, ModelUsageSum } from '../../../runners/models.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { modelUsage } from '../model-usage.ts'
import { testModel } from '../test-model.ts'

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
