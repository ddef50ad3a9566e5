// Which model, at which provider: what was asked for or the default, if the settings know it and have its key.

import type { Opened } from '../../runners/models.ts'
import { modelFailure } from './model-failure.ts'
import { isModelName } from './model-settings.ts'
import type { Provider, Settings } from './user-settings.ts'

type Refused = Extract<Opened, { readonly ok: false }>

export type ChosenProvider = { readonly ok: true; readonly word: string; readonly provider: Provider } | Refused

export type ChosenModel =
  | { readonly ok: true; readonly name: string; readonly id: string; readonly provider: Provider }
  | Refused

export function chooseModel(settings: Settings, use: string | undefined): ChosenModel {
  const [fault] = settings.faults
  if (fault !== undefined) return no('model:settings', fault.message, fault.hint)
  const asked = use ?? settings.default
  if (asked === null) {
    const [found] = keyedProviders(settings)
    const known = found === undefined ? '' : `, for instance --model ${found.name}/NAME with your ${found.key}`
    const hint = `name one${known}, or set a default in your settings or PLANFOLD_MODEL`
    return no('model:settings', 'no model is named', hint)
  }
  const [name, ...others] = fullNames(settings, asked)
  if (name === undefined || others.length > 0) {
    const choices = name === undefined ? Object.keys(settings.providers).map(one => `${one}/NAME`) : [name, ...others]
    return no(
      'model:settings',
      `there is no model '${asked.slice(0, 80)}'`,
      `write PROVIDER/NAME: ${choices.join(', ')}`,
    )
  }
  const [word = ''] = name.split('/')
  const chosen = chooseProvider(settings, word)
  return chosen.ok ? { ok: true, name, id: name.slice(word.length + 1), provider: chosen.provider } : chosen
}

/** What a name without its provider can mean: a model of the settings, else one whose maker is known by its name. */
function fullNames({ models }: Settings, asked: string): readonly string[] {
  if (isModelName(asked)) return [asked]
  const listed = Object.keys(models).filter(name => name.slice(name.indexOf('/') + 1) === asked)
  const [provider] = MAKERS.find(([, pattern]) => pattern.test(asked)) ?? []
  return listed.length > 0 || provider === undefined ? listed : [`${provider}/${asked}`]
}

const MAKERS = [
  ['anthropic', /^claude-\S+$/],
  ['openai', /^(?:gpt-|chatgpt-|o\d)\S*$/],
  ['google', /^gemini-\S+$/],
] as const

/** The providers that have a key, with where it comes from, never the key. One protocol for each key. */
export function keyedProviders({ providers }: Settings): readonly { readonly name: string; readonly key: string }[] {
  const found = Object.entries(providers).flatMap(([name, { key, fault }]) =>
    key === null || fault !== undefined ? [] : [{ name, key: key.from }],
  )
  return found.filter(({ name }) => name !== 'openai-chat' || !found.some(one => one.name === 'openai'))
}

export function chooseProvider(settings: Settings, word: string): ChosenProvider {
  const [fault] = settings.faults
  if (fault !== undefined) return no('model:settings', fault.message, fault.hint)
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
  return { ok: true, word, provider }
}

const no = (code: 'model:settings' | 'model:auth', message: string, hint: string): Refused => ({
  ok: false,
  failure: modelFailure(code, message, hint),
})
