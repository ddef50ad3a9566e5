// Opens a gateway on the user's settings: for each protocol of the agent the provider that is asked, with its key, prices and limits.

import type { SettingsCaps } from '../../../domain/budget/amounts.ts'
import { isMap } from '../../../domain/json.ts'
import { roundUsd } from '../../../domain/model-use.ts'
import { isModelAllowed } from '../../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../../domain/result.ts'
import type {
  Allowance,
  GatewayLimits,
  GatewayOpened,
  GatewayRequest,
  GatewayWire,
  Spending,
  SpendingAnswer,
  SpendingRequest,
  SpentAmount,
} from '../../../runners/model-gateway.ts'
import type { ModelCaps, ModelRecording, ModelSpending } from '../../../runners/models.ts'
import { redaction } from '../../../safety/secrets/redaction.ts'
import type { CallList } from '../call-list.ts'
import type { ShortCap } from '../meter.ts'
import { type ChosenProvider, chooseModel, chooseProvider } from '../model-choice.ts'
import { modelFailure } from '../model-failure.ts'
import { priceOf } from '../price-table.ts'
import { type Raising, raisingOf } from '../raise-caps.ts'
import type { Rate, RateClock, RateLimit } from '../rate-limit.ts'
import type { Settings } from '../user-settings.ts'
import { startGateway } from './gateway-server.ts'
import type { InputEstimates } from './input-estimate.ts'
import { KEPT_MS, type KeptRecordings } from './kept-recordings.ts'
import { GatewayLedger } from './ledger.ts'
import { wireOfPath } from './routes.ts'
import { type ProviderPlace, RecordedAnswers } from './upstream.ts'
import { WIRE_RULES } from './wire-rules.ts'

export interface ModelsShared {
  readonly settings: Settings
  readonly calls: CallList
  readonly kept: KeptRecordings
  readonly estimates: InputEstimates
  /** What the user wrote into the settings about one task, as it is now. */
  caps(): Promise<SettingsCaps | undefined>
  limitOf(name: string, rate: Rate | undefined): RateLimit
  readonly secrets: readonly string[]
  readonly clock: RateClock & { readonly now: () => number }
  readonly newId: () => string
}

const LIMITS: GatewayLimits = {
  requestBytes: 64 * 1024 * 1024,
  responseBytes: 32 * 1024 * 1024,
  connections: 256,
  idleMs: 10 * 60_000,
  drainMs: 60_000,
}

export async function openGateway(request: GatewayRequest, shared: ModelsShared): Promise<GatewayOpened> {
  const { settings, calls, kept, clock, newId } = shared
  const { keepAs } = request
  await kept.dropBefore(clock.now() - KEPT_MS)
  const recorded = request.recorded ?? (await resumed(request, kept))
  for (const recording of recorded?.recordings ?? []) learnFrom(recording, shared.estimates)
  const isReplay = recorded?.else === 'refuse'
  const places = new Map<GatewayWire, { readonly word: string; readonly place: ProviderPlace }>()
  const chosen = isReplay ? [] : request.wires.map(wire => [wire, providerFor(settings, wire, request.use)] as const)
  for (const [wire, found] of chosen) {
    if (!found.ok) continue
    const { type, url, key } = found.provider
    places.set(wire, { word: found.word, place: { type, url, key: key?.value ?? null } })
  }
  const [first] = chosen
  if (places.size === 0 && first?.[1].ok === false && !mayBeKeyless(request, first[1].failure)) return first[1]
  const token = `sk-planfold-${newId().replaceAll('-', '')}`
  const words = new Set([...places.values()].map(({ word }) => word))
  const named = [...(request.use === undefined ? [] : [request.use]), ...Object.keys(settings.models)]
  const allowed =
    request.models === undefined ? null : [...request.models, ...(request.use === undefined ? [] : [request.use])]
  const isServed = (name: string): boolean =>
    words.has(wordOf(name)) && (allowed === null || isModelAllowed(allowed, name))
  const models = named.filter(isServed).map(name => name.slice(wordOf(name).length + 1))
  try {
    const gateway = await startGateway({
      request,
      wires: isReplay ? request.wires : [...places.keys()],
      unserved: new Map(chosen.flatMap(([wire, found]) => (found.ok ? [] : [[wire, found.failure.message] as const]))),
      token,
      models: [...new Set(models)],
      room: {
        payer: request.payer,
        purpose: request.purpose ?? 'agent',
        spending:
          request.spending ?? new CappedSpending(settings, await calls.spentBy(request.payer), request.allowance),
        caps: shared.caps,
        ledger: new GatewayLedger(),
        estimates: shared.estimates,
        limits: { ...LIMITS, ...request.limits },
        provider: wire => places.get(wire) ?? null,
        allowed,
        modelOf: (word, id) => {
          const name = `${word}/${id}`
          const entry = settings.models[name]
          const { type: provider, url } = settings.providers[word] ?? { type: 'openai-compatible', url: '' }
          return {
            price: priceOf({ provider, id, url }, entry?.price),
            outputTokens: entry?.outputTokens ?? null,
            limit: shared.limitOf(name, entry?.rate),
          }
        },
        recorded: recorded === undefined ? null : { answers: answersOf(recorded), else: recorded.else },
        calls: isReplay ? null : calls,
        keep: (asked, exchange) => {
          if (keepAs !== undefined) kept.append(keepAs, asked, exchange)
        },
        redaction: redaction([...shared.secrets, token]),
        clock,
        newId,
      },
    })
    return { ok: true, gateway }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {
      ok: false,
      failure: modelFailure(
        'model:settings',
        `the model gateway cannot be opened: ${why}`,
        'set TMPDIR to a folder with a shorter path that you may write',
      ),
    }
  }
}

const mayBeKeyless = ({ keyless, use }: GatewayRequest, { code }: Failure): boolean =>
  keyless === true && use === undefined && code === 'model:auth'

async function resumed({ resumeFrom = [] }: GatewayRequest, kept: KeptRecordings): Promise<GatewayRequest['recorded']> {
  const recordings = (await Promise.all(resumeFrom.map(name => kept.read(name)))).flat()
  return recordings.length === 0 ? undefined : { recordings, else: 'ask' }
}

/** A conversation that is taken up again was counted already. */
function learnFrom({ model, exchanges }: ModelRecording, estimates: InputEstimates): void {
  for (const { request, wireUsage } of exchanges) {
    const wire = wireOfPath(request.path.replace(/^.*(?=\/v1(beta)?\/)/, ''))
    const usage = isMap(wireUsage) ? WIRE_RULES[wire].count(wireUsage) : null
    if (usage !== null && isMap(request.body)) estimates.estimate(model, request.body).learn(usage.inputTokens)
  }
}

/** An attempt that goes on after a crash does not want to hear the provider's old troubles again. */
function answersOf({ recordings, else: otherwise }: NonNullable<GatewayRequest['recorded']>): RecordedAnswers {
  if (otherwise === 'refuse') return new RecordedAnswers(recordings)
  return new RecordedAnswers(
    recordings.map(recording => ({
      ...recording,
      exchanges: recording.exchanges.filter(({ response }) => response.status < 400),
    })),
  )
}

const wordOf = (name: string): string => name.split('/', 1)[0] ?? ''

function providerFor(settings: Settings, wire: GatewayWire, use: string | undefined): ChosenProvider {
  const { name, providers, known } = WIRE_RULES[wire]
  if (use !== undefined) {
    const chosen = chooseModel(settings, use)
    if (!chosen.ok) return chosen
    const { provider } = chosen
    if (providers.includes(provider.type)) return { ok: true, word: wordOf(use), provider }
    return {
      ok: false,
      failure: modelFailure(
        'model:settings',
        `the agent speaks ${name}, and the provider of ${use} (${provider.type}) does not`,
        `name a model of a provider with \`type: ${providers.join('` or `')}\``,
      ),
    }
  }
  const byDefault = settings.default === null ? undefined : wordOf(settings.default)
  const isFit = byDefault !== undefined && providers.includes(settings.providers[byDefault]?.type ?? ('none' as never))
  return chooseProvider(settings, isFit ? byDefault : known)
}

// An agent that works for no plan, because it drafts one: the caps that the user wrote into the settings limit it, and what a person
// allows for it. All calls of one payer count. Only what somebody said holds: our own defaults are made for single questions, and an
// agent asks many.

interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly usd: number
}

const KEYS = ['calls', 'tokens', 'usd'] as const

class CappedSpending implements Spending {
  readonly #said: ModelCaps
  readonly #allowance: Allowance
  readonly #raising: Raising
  readonly #held = new Map<string, Amount>()
  readonly #waiting = new Set<() => void>()
  #spent: Amount
  #made = 0
  #asking: Promise<boolean> | null = null

  constructor(settings: Pick<Settings, 'said' | 'file'>, before: ModelSpending, allowance: Allowance = { caps: {} }) {
    this.#said = settings.said
    this.#allowance = allowance
    this.#raising = raisingOf(settings, { more: allowance.more })
    const { calls, usage, cost } = before
    this.#spent = { calls, tokens: usage.inputTokens + usage.outputTokens, usd: cost.known ? cost.usd : 0 }
  }

  /** Waits while calls of ours hold what would make it fit, and while a person is asked. */
  async reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer> {
    const least = amountOf(request.least)
    const most = amountOf(request)
    for (;;) {
      const caps = this.#caps()
      if (caps.usd !== NONE && !request.cost.known)
        return {
          granted: false,
          reason: 'the cost is limited, and the price of the model is not known',
          hint: 'write its price into your settings, or set a limit of calls and tokens only',
        }
      const held = [...this.#held.values()].reduce<Amount>(add, NOTHING)
      const left = take(take(caps, this.#spent), held)
      if (fits(least, left)) {
        const tokens = Math.min(most.tokens, left.tokens)
        const usd = Math.min(most.usd, left.usd)
        const id = `capped-${++this.#made}`
        this.#held.set(id, { calls: most.calls, tokens, usd })
        return { granted: true, id, tokens, usd }
      }
      const free = take(caps, this.#spent)
      const key = KEYS.find(one => least[one] > free[one])
      if (signal?.aborted === true) return { granted: false, reason: 'nobody waits for it any more' }
      if (key === undefined) {
        await this.#change(signal)
        continue
      }
      const short: ShortCap = { key, cap: caps[key], need: this.#spent[key] + least[key] }
      const reason = this.#reason(short)
      const hint = this.#raising.hint(short)
      this.#asking ??= this.#raise(short, reason).finally(() => {
        this.#asking = null
      })
      if (!(await this.#asking)) return { granted: false, reason, ...(hint === undefined ? {} : { hint }) }
    }
  }

  async settle(id: string, actual: SpentAmount): Promise<void> {
    this.#spent = add(this.#spent, amountOf(actual))
    this.#held.delete(id)
    for (const tell of [...this.#waiting]) tell()
  }

  #caps(): Amount {
    const { caps } = this.#allowance
    const capOf = (key: keyof ModelCaps): number => Math.min(this.#said[key] ?? NONE, caps[key] ?? NONE)
    return { calls: capOf('calls'), tokens: capOf('tokens'), usd: capOf('usd') }
  }

  async #raise(short: ShortCap, message: string): Promise<boolean> {
    const raised = await this.#raising.ask(short, { message })
    if (raised === null) return false
    this.#allowance.caps = { ...this.#allowance.caps, [raised.key]: raised.cap }
    return true
  }

  #reason({ key, cap }: ShortCap): string {
    const { calls, tokens, usd } = this.#spent
    const spent = `${calls} calls, ${tokens} tokens and ${roundUsd(usd)} USD are spent`
    const limit = `${cap} ${key === 'usd' ? 'USD' : key}`
    return (this.#said[key] ?? NONE) <= cap
      ? `the limit of your settings for one task is reached (${limit}; ${spent})`
      : `the drafting limit is reached (${limit}; ${spent})`
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const tell = (): void => {
        this.#waiting.delete(tell)
        signal?.removeEventListener('abort', tell)
        resolve()
      }
      this.#waiting.add(tell)
      signal?.addEventListener('abort', tell, { once: true })
    })
  }
}

const NONE = Number.POSITIVE_INFINITY
const NOTHING: Amount = { calls: 0, tokens: 0, usd: 0 }

const amountOf = ({ calls, tokens, cost }: SpentAmount): Amount => ({ calls, tokens, usd: cost.known ? cost.usd : 0 })
const add = (a: Amount, b: Amount): Amount => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  usd: a.usd + b.usd,
})
const take = (a: Amount, b: Amount): Amount => ({
  calls: a.calls - b.calls,
  tokens: a.tokens - b.tokens,
  usd: a.usd - b.usd,
})
const fits = (a: Amount, b: Amount): boolean => a.calls <= b.calls && a.tokens <= b.tokens && a.usd <= b.usd
