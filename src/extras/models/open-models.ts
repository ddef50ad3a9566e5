// Opens the room: settings, prices, rate limits and the list of calls behind the door `model.ts`. Light: the AI SDK is loaded when
// the first question is asked.

import type { GatewayWire } from '../../runners/model-gateway.ts'
import type {
  ListedModel,
  ModelCaps,
  ModelExchange,
  ModelList,
  Models,
  Opened,
  OpenRequest,
} from '../../runners/models.ts'
import { secretsIn } from '../../safety/secrets/redaction.ts'
import { CallList } from './call-list.ts'
import { InputEstimates } from './gateway/input-estimate.ts'
import { KEPT_MS, KeptRecordings } from './gateway/kept-recordings.ts'
import type { AskedModel } from './gateway/ledger.ts'
import { WIRE_RULES } from './gateway/wire-rules.ts'
import { NOTHING_SPENT } from './meter.ts'
import { chooseModel, keyedProviders } from './model-choice.ts'
import { openSession, type SessionRoom } from './model-session.ts'
import { planUsage } from './model-usage.ts'
import { priceOf } from './price-table.ts'
import { raisingOf } from './raise-caps.ts'
import { type Rate, type RateClock, RateLimit } from './rate-limit.ts'
import { readCaps, readSettings, type Settings, type SettingsRoom } from './user-settings.ts'
import { recordingWire, replayWire, type TimeLimit } from './wire.ts'

export interface ModelsOptions extends SettingsRoom {
  readonly stateDir: string
  readonly clock: RateClock & { readonly now: () => number }
  readonly newId: () => string
}

/** The longest answer that is asked for when nobody says otherwise. */
const OUTPUT_TOKENS = 8_192
const CALL_MS = 10 * 60_000

export function openModels(options: ModelsOptions): Models {
  const calls = new CallList(options.stateDir)
  const limits = new Map<string, RateLimit>()
  const kept = new KeptRecordings(options.stateDir)
  const estimates = new InputEstimates()
  const limitOf = (name: string, rate: Rate = {}): RateLimit => {
    const limit = limits.get(name) ?? new RateLimit(rate, options.clock)
    limits.set(name, limit)
    return limit
  }
  let settings: Promise<Settings> | null = null
  const read = (): Promise<Settings> => {
    settings ??= readSettings(options)
    return settings
  }
  return {
    list: async besides => listOf(await read(), besides),
    openGateway: async request => {
      const { openGateway } = await import('./gateway/open-gateway.ts')
      const settings = await read()
      return await openGateway(request, {
        ...options,
        settings,
        calls,
        kept,
        estimates,
        limitOf,
        caps: () => readCaps(options, settings),
        secrets: secretsOf(settings, options),
      })
    },
    calls: () => calls.all(),
    usageOf: async plan => planUsage(await calls.all(), plan),
    open: async request => {
      if (request.replay !== undefined) return openReplay(request, request.replay, options)
      const found = await read()
      const chosen = chooseModel(found, request.use)
      if (!chosen.ok) return chosen
      const { name, id, provider } = chosen
      const entry = found.models[name]
      const price = priceOf({ provider: provider.type, id, url: provider.url }, entry?.price)
      const limit = limitOf(name, entry?.rate)
      const { payer = null, budget, keepAs } = request
      const asked = { model: name, provider: provider.type, url: provider.url, price }
      const before = await keptFor({ kept, clock: options.clock }, keepAs, asked)
      const room: SessionRoom = {
        name,
        place: { type: provider.type, id, url: provider.url, key: provider.key?.value ?? null },
        price,
        purpose: request.purpose,
        payer,
        wire: recordingWire(secretsOf(found, options), before.earlier, limitOfCall(entry, request, options)),
        limit,
        calls,
        // Where a plan pays, they are part of its budget.
        caps: budget === undefined ? capsOf(found, request, price !== null) : {},
        before: payer === null || budget !== undefined ? NOTHING_SPENT : await calls.spentBy(payer),
        outputTokens: entry?.outputTokens ?? OUTPUT_TOKENS,
        clock: options.clock,
        newId: options.newId,
        ...(budget === undefined ? { raising: raisingOf(found, request) } : {}),
        ...before.room,
        ...(budget === undefined
          ? {}
          : {
              budget: {
                reserve: (most, asked) => budget.reserve(most, asked),
                settle: (id, actual) => budget.settle(id, actual),
                settings: () => readCaps(options, found),
              },
            }),
      }
      return { ok: true, model: openSession(room) }
    },
  }
}

/** A task has a time limit of its own. */
function limitOfCall(
  entry: Settings['models'][string] | undefined,
  { payer }: OpenRequest,
  { clock }: ModelsOptions,
): TimeLimit | undefined {
  const ms = entry?.timeoutMs ?? (payer === undefined ? CALL_MS : null)
  return ms === null ? undefined : { ms, clock }
}

function openReplay(
  { purpose, caps = {} }: OpenRequest,
  recording: NonNullable<OpenRequest['replay']>,
  { clock, newId }: ModelsOptions,
): Opened {
  const { model: name, provider: type, url, price } = recording
  return {
    ok: true,
    model: openSession({
      name,
      place: { type, id: name.slice(name.indexOf('/') + 1), url, key: 'replay' },
      price,
      purpose,
      payer: null,
      wire: replayWire(recording),
      limit: null,
      calls: null,
      caps,
      before: NOTHING_SPENT,
      outputTokens: OUTPUT_TOKENS,
      clock,
      newId,
    }),
  }
}

/** A request can only lower the limits: a model may have written the plan. Without a price, no limit of money. */
function capsOf(
  { caps, said }: Settings,
  { caps: asked = {}, allowed = {} }: Pick<OpenRequest, 'caps' | 'allowed'>,
  isPriced: boolean,
): ModelCaps {
  const capOf = (key: keyof ModelCaps): number => {
    const wanted = allowed[key] ?? caps[key] ?? NONE
    return Math.min(wanted, said[key] ?? NONE, asked[key] ?? NONE)
  }
  const { usd, ...rest } = { calls: capOf('calls'), tokens: capOf('tokens'), usd: capOf('usd') }
  const isAskedFor = [asked, allowed, said].some(one => one.usd !== undefined)
  return usd === NONE || !(isPriced || isAskedFor) ? rest : { ...rest, usd }
}

const NONE = Number.POSITIVE_INFINITY

/** What was kept for this drafting by one before it, and where its own answers are kept. */
async function keptFor(
  { kept, clock }: { readonly kept: KeptRecordings; readonly clock: ModelsOptions['clock'] },
  keepAs: string | undefined,
  asked: AskedModel,
): Promise<{ readonly earlier: readonly ModelExchange[]; readonly room: Pick<SessionRoom, 'kept'> }> {
  if (keepAs === undefined) return { earlier: [], room: {} }
  await kept.dropBefore(clock.now() - KEPT_MS)
  const earlier = (await kept.read(keepAs)).find(one => one.model === asked.model)?.exchanges ?? []
  const append = (exchange: ModelExchange) => kept.append(keepAs, asked, exchange)
  return { earlier, room: { kept: { append, drop: () => kept.dropNow(keepAs), earlier: earlier.length } } }
}

function secretsOf({ providers }: Settings, { environment }: ModelsOptions): readonly string[] {
  const keys = Object.values(providers).flatMap(({ key }) => (key === null ? [] : [key.value]))
  return [...new Set([...keys, ...secretsIn(environment)])]
}

function listOf(settings: Settings, besides: readonly string[] = []): ModelList {
  const said = [settings.default, settings.embedding].filter(name => name !== null)
  const names = new Set([...said, ...Object.keys(settings.models), ...besides])
  return {
    default: settings.default,
    embedding: settings.embedding,
    file: settings.file,
    faults: [...settings.faults, ...Object.values(settings.providers).flatMap(({ fault }) => fault ?? [])],
    models: [...names].flatMap(name => listed(settings, name)),
    providers: keyedProviders(settings),
  }
}

const wiresOf = (type: ListedModel['provider']): readonly GatewayWire[] =>
  (Object.keys(WIRE_RULES) as GatewayWire[]).filter(wire => WIRE_RULES[wire].providers.includes(type))

function listed(settings: Settings, name: string): readonly ListedModel[] {
  const [word = ''] = name.split('/')
  const provider = settings.providers[word]
  if (provider === undefined || provider.fault !== undefined) return []
  const { type, url, key, keyNeeded } = provider
  const entry = settings.models[name]
  return [
    {
      name,
      provider: type,
      url,
      key: key !== null ? { from: key.from } : keyNeeded ? 'missing' : 'not needed',
      price: priceOf({ provider: type, id: name.slice(word.length + 1), url }, entry?.price),
      wires: wiresOf(type),
      rate: {
        requestsPerMinute: entry?.rate?.requests ?? null,
        tokensPerMinute: entry?.rate?.tokens ?? null,
      },
    },
  ]
}
