// Opens the room: settings, prices, rate limits and the list of calls behind the door `model.ts`. Light: the AI SDK is loaded when
// the first question is asked.

import { isModelName } from '../format/settings/model-settings.ts'
import { secretsIn } from '../safety/secrets/redaction.ts'
import { CallList } from './call-list.ts'
import { NOTHING_SPENT } from './meter.ts'
import type { ListedModel, ModelCaps, ModelList, Models, Opened, OpenRequest } from './model.ts'
import { modelFailure } from './model-failure.ts'
import { openSession, type SessionRoom } from './model-session.ts'
import { priceOf } from './price-table.ts'
import { type RateClock, RateLimit } from './rate-limit.ts'
import { type Provider, readSettings, type Settings, type SettingsRoom } from './user-settings.ts'
import { recordingWire, replayWire } from './wire.ts'

export interface ModelsOptions extends SettingsRoom {
  readonly stateDir: string
  readonly clock: RateClock & { readonly now: () => number }
  readonly newId: () => string
}

/** The longest answer that is asked for when nobody says otherwise. */
const OUTPUT_TOKENS = 8_192

export function openModels(options: ModelsOptions): Models {
  const calls = new CallList(options.stateDir)
  const limits = new Map<string, RateLimit>()
  let settings: Promise<Settings> | null = null
  const read = (): Promise<Settings> => {
    settings ??= readSettings(options)
    return settings
  }
  return {
    list: async besides => listOf(await read(), besides),
    calls: () => calls.all(),
    open: async request => {
      if (request.replay !== undefined) return openReplay(request, request.replay, options)
      const found = await read()
      const chosen = choose(found, request.use)
      if (!chosen.ok) return chosen
      const { name, id, provider } = chosen
      const entry = found.models[name]
      const price = priceOf({ provider: provider.type, id, url: provider.url }, entry?.price)
      const limit = limits.get(name) ?? new RateLimit(entry?.rate ?? {}, options.clock)
      limits.set(name, limit)
      const { payer = null } = request
      const room: SessionRoom = {
        name,
        place: { type: provider.type, id, url: provider.url, key: provider.key?.value ?? null },
        price,
        purpose: request.purpose,
        payer,
        wire: recordingWire(secretsOf(found, options)),
        limit,
        calls,
        caps: capsOf(found, request.caps, price !== null),
        before: payer === null ? NOTHING_SPENT : await calls.spentBy(payer),
        outputTokens: entry?.outputTokens ?? OUTPUT_TOKENS,
        clock: options.clock,
        newId: options.newId,
      }
      return { ok: true, model: openSession(room) }
    },
  }
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

/**
 * Those of the settings, or ours; whoever asks can only lower them, because a plan may have been written by a model. Our own limit of
 * money is left out where no price is known.
 */
function capsOf({ caps, said }: Settings, asked: ModelCaps = {}, isPriced: boolean): ModelCaps {
  const { usd, ...rest } = {
    calls: lower(caps.calls, asked.calls),
    tokens: lower(caps.tokens, asked.tokens),
    usd: caps.usd === undefined ? asked.usd : lower(caps.usd, asked.usd),
  }
  const isAskedFor = asked.usd !== undefined || said.usd !== undefined
  return usd === undefined || !(isPriced || isAskedFor) ? rest : { ...rest, usd }
}

const lower = (ours: number, asked: number | undefined): number => Math.min(ours, asked ?? ours)

type Chosen =
  | { readonly ok: true; readonly name: string; readonly id: string; readonly provider: Provider }
  | Extract<Opened, { readonly ok: false }>

function choose(settings: Settings, use: string | undefined): Chosen {
  const no = (code: 'model:settings' | 'model:auth', message: string, hint: string): Chosen => ({
    ok: false,
    failure: modelFailure(code, message, hint),
  })
  const [fault] = settings.faults
  if (fault !== undefined) return no('model:settings', fault.message, fault.hint)
  const name = use ?? settings.default
  if (name === null)
    return no('model:settings', 'no model is named', 'name one, or set a default in your settings or PLANFOLD_MODEL')
  if (!isModelName(name)) return no('model:settings', `there is no model '${name.slice(0, 80)}'`, 'write PROVIDER/NAME')
  const [word = ''] = name.split('/')
  const provider = settings.providers[word]
  if (provider === undefined)
    return no(
      'model:settings',
      `there is no provider '${word}'`,
      `use ${Object.keys(settings.providers).join(', ')}, or add it to your settings`,
    )
  if (provider.fault !== undefined) return no('model:settings', provider.fault.message, provider.fault.hint)
  if (provider.key === null && provider.keyNeeded)
    return no(
      'model:auth',
      `there is no key for '${word}'`,
      provider.keyVariable === undefined
        ? 'put it into your settings'
        : `set ${provider.keyVariable} in your environment, or put it into your settings`,
    )
  return { ok: true, name, id: name.slice(word.length + 1), provider }
}

/** Everything that must never be sent in a prompt or kept in a recording. */
function secretsOf({ providers }: Settings, { environment }: ModelsOptions): readonly string[] {
  const keys = Object.values(providers).flatMap(({ key }) => (key === null ? [] : [key.value]))
  return [...new Set([...keys, ...secretsIn(environment)])]
}

function listOf(settings: Settings, besides: readonly string[] = []): ModelList {
  const said = settings.default === null ? [] : [settings.default]
  const names = new Set([...said, ...Object.keys(settings.models), ...besides])
  return {
    default: settings.default,
    file: settings.file,
    faults: [...settings.faults, ...Object.values(settings.providers).flatMap(({ fault }) => fault ?? [])],
    models: [...names].flatMap(name => listed(settings, name)),
  }
}

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
      rate: {
        requestsPerMinute: entry?.rate?.requests ?? null,
        tokensPerMinute: entry?.rate?.tokens ?? null,
      },
    },
  ]
}
