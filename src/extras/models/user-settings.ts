// The user's settings for models: the file, the environment, and what is known without either. Nothing of it is ever read from the
// workspace: whoever writes there could send the user's key to an address of their own.

import type { SettingsCaps } from '../../domain/budget/amounts.ts'
import { CALLS_DEFAULT } from '../../domain/budget/visit-caps.ts'
import { defined } from '../../domain/json.ts'
import type { ModelCaps, ProviderType } from '../../runners/models.ts'
import { readPrivateFile, settingsFile } from '../../safety/files/private-file.ts'
import {
  isModelName,
  isPlainUrl,
  type ModelEntry,
  type ModelSettings,
  type ProviderSettings,
  readModelSettings,
} from './model-settings.ts'

export interface SettingsRoom {
  readonly environment: { readonly [name: string]: string | undefined }
  readonly outside: readonly { readonly folder: string; readonly is: string }[]
}

export interface Settings {
  readonly file: string | null
  readonly default: string | null
  readonly embedding: string | null
  readonly caps: Required<Pick<ModelCaps, 'calls' | 'tokens'>> & ModelCaps
  /** The caps that somebody wrote down; the others are ours. */
  readonly said: ModelCaps
  readonly models: { readonly [name: string]: ModelEntry }
  readonly providers: { readonly [name: string]: Provider }
  readonly faults: readonly Fault[]
}

export interface Provider {
  readonly type: ProviderType
  readonly url: string
  readonly key: { readonly value: string; readonly from: string } | null
  readonly keyNeeded: boolean
  readonly keyVariable?: string
  readonly fault?: Fault
}

export interface Fault {
  readonly message: string
  readonly hint: string
}

const CAPS_DEFAULT = { calls: CALLS_DEFAULT.calls, tokens: CALLS_DEFAULT.tokens, usd: CALLS_DEFAULT.cost }

const KNOWN: { readonly [name: string]: { type: ProviderType; url: string; key: readonly string[]; base: string } } = {
  anthropic: {
    type: 'anthropic',
    url: 'https://api.anthropic.com/v1',
    key: ['ANTHROPIC_API_KEY'],
    base: 'ANTHROPIC_BASE_URL',
  },
  openai: { type: 'openai', url: 'https://api.openai.com/v1', key: ['OPENAI_API_KEY'], base: 'OPENAI_BASE_URL' },
  'openai-chat': {
    type: 'openai-chat',
    url: 'https://api.openai.com/v1',
    key: ['OPENAI_API_KEY'],
    base: 'OPENAI_BASE_URL',
  },
  google: {
    type: 'google',
    url: 'https://generativelanguage.googleapis.com/v1beta',
    key: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    base: 'GOOGLE_GEMINI_BASE_URL',
  },
  local: {
    type: 'openai-compatible',
    url: 'http://127.0.0.1:11434/v1',
    key: ['PLANFOLD_MODEL_KEY'],
    base: 'PLANFOLD_MODEL_URL',
  },
}

export async function readSettings(room: SettingsRoom): Promise<Settings> {
  const { environment } = room
  const place = fileOf(environment)
  const read = place === null ? NO_FILE : await readFileOf(place, room)
  const { settings } = read
  const providers: { [name: string]: Provider } = {}
  for (const name of new Set([...Object.keys(KNOWN), ...Object.keys(settings.providers)]))
    providers[name] = await providerOf(name, settings.providers[name] ?? {}, room)
  const faults = [...read.faults]
  const wanted = environment.PLANFOLD_MODEL
  if (wanted !== undefined && wanted !== '' && !isModelName(wanted))
    faults.push({ message: `PLANFOLD_MODEL is '${wanted.slice(0, 80)}'`, hint: 'write PROVIDER/NAME' })
  const fallback = wanted !== undefined && isModelName(wanted) ? wanted : settings.default
  return {
    file: read.found ? place : null,
    default: fallback ?? null,
    embedding: settings.embedding ?? null,
    said: settings.caps,
    caps: { ...CAPS_DEFAULT, ...settings.caps },
    models: settings.models,
    providers,
    faults,
  }
}

/** The caps as they are written now: somebody may have raised them while a plan waits. Nothing: none are. */
export async function readCaps(room: SettingsRoom, before: Settings): Promise<SettingsCaps | undefined> {
  const { file } = before
  if (file === null) return undefined
  const read = await readFileOf(file, room)
  const { calls, tokens, usd: cost } = read.faults.length === 0 ? read.settings.caps : before.said
  const caps = {
    ...defined({ calls, tokens, cost }),
  }
  return Object.keys(caps).length === 0 ? undefined : { caps, file }
}

/** `PLANFOLD_MODELS`, else `planfold/models.yaml` in the user's folder for settings. */
function fileOf(environment: SettingsRoom['environment']): string | null {
  const { PLANFOLD_MODELS } = environment
  return PLANFOLD_MODELS !== undefined && PLANFOLD_MODELS !== ''
    ? PLANFOLD_MODELS
    : settingsFile(environment, 'models.yaml')
}

interface ReadFile {
  readonly found: boolean
  readonly settings: ModelSettings
  readonly faults: readonly Fault[]
}

const NO_FILE: ReadFile = { found: false, settings: { providers: {}, models: {}, caps: {} }, faults: [] }

async function readFileOf(path: string, room: SettingsRoom): Promise<ReadFile> {
  const text = await readPrivateFile(path, { what: 'the settings file', outside: room.outside, elsewhere: ELSEWHERE })
  if (!text.ok) {
    const isNamed = room.environment.PLANFOLD_MODELS === path
    return text.missing && !isNamed ? NO_FILE : { ...NO_FILE, faults: [text.fault] }
  }
  const read = readModelSettings(text.value)
  if (!read.ok)
    return {
      ...NO_FILE,
      found: true,
      faults: read.diagnostics.map(({ line, column, message, hint }) => ({
        message: `${path}:${line}:${column}: ${message}`,
        hint: typeof hint === 'string' ? hint : 'compare it with the guide on models',
      })),
    }
  return { found: true, settings: read.settings, faults: [] }
}

async function providerOf(name: string, own: ProviderSettings, room: SettingsRoom): Promise<Provider> {
  const known = KNOWN[name]
  const type = own.type ?? known?.type ?? 'openai-compatible'
  const base = known === undefined ? undefined : room.environment[known.base]
  const url = addressOf(type, own.url ?? (base === '' ? undefined : base) ?? known?.url ?? '')
  const keyNeeded = type !== 'openai-compatible'
  if (url === null) {
    const fault = {
      message: `the provider '${name}' has no usable address`,
      hint: 'write `url:` with an http or https address, without user, password and query',
    }
    return { type, url: '', key: null, keyNeeded, fault }
  }
  const key = await keyOf(own, known?.key ?? [], room)
  if ('message' in key) return { type, url, key: null, keyNeeded, fault: key }
  const keyVariable = own.key !== undefined && 'env' in own.key ? own.key.env : known?.key[0]
  return { type, url, key: key.key, keyNeeded, ...(keyVariable === undefined ? {} : { keyVariable }) }
}

async function keyOf(
  { key }: ProviderSettings,
  names: readonly string[],
  room: SettingsRoom,
): Promise<Fault | { readonly key: Provider['key'] }> {
  if (key === undefined || 'env' in key) {
    for (const name of key === undefined ? names : [key.env]) {
      const value = room.environment[name]
      if (value !== undefined && value !== '') return { key: { value, from: name } }
    }
    return { key: null }
  }
  if ('value' in key) return { key: { value: key.value, from: 'the settings file' } }
  const read = await readPrivateFile(key.file, { what: 'the key file', outside: room.outside, elsewhere: ELSEWHERE })
  if (!read.ok) return read.fault
  const value = read.value.trim()
  return value === ''
    ? { message: `the key file '${key.file}' is empty`, hint: 'put the key into it' }
    : { key: { value, from: key.file } }
}

/** Without a slash at the end, and with the version that each protocol has in its address. */
function addressOf(type: ProviderType, text: string): string | null {
  if (!isPlainUrl(text)) return null
  const url = text.replace(/\/+$/, '')
  const isVersioned = /\/v\d+[a-z]*$/.test(url)
  if (type === 'anthropic' && !isVersioned) return `${url}/v1`
  return type === 'google' && !isVersioned ? `${url}/v1beta` : url
}

const ELSEWHERE =
  'keep it elsewhere, and name it with PLANFOLD_MODELS: a task that writes there could change where your key is sent'
