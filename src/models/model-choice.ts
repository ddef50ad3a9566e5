// Which model, at which provider: what was asked for or the default, if the settings know it and have its key.

import { isModelName } from '../format/settings/model-settings.ts'
import type { Opened } from './model.ts'
import { modelFailure } from './model-failure.ts'
import type { Provider, Settings } from './user-settings.ts'

type Refused = Extract<Opened, { readonly ok: false }>

export type ChosenProvider = { readonly ok: true; readonly word: string; readonly provider: Provider } | Refused

export type ChosenModel =
  | { readonly ok: true; readonly name: string; readonly id: string; readonly provider: Provider }
  | Refused

export function chooseModel(settings: Settings, use: string | undefined): ChosenModel {
  const [fault] = settings.faults
  if (fault !== undefined) return no('model:settings', fault.message, fault.hint)
  const name = use ?? settings.default
  if (name === null)
    return no('model:settings', 'no model is named', 'name one, or set a default in your settings or PLANFOLD_MODEL')
  if (!isModelName(name)) return no('model:settings', `there is no model '${name.slice(0, 80)}'`, 'write PROVIDER/NAME')
  const [word = ''] = name.split('/')
  const chosen = chooseProvider(settings, word)
  return chosen.ok ? { ok: true, name, id: name.slice(word.length + 1), provider: chosen.provider } : chosen
}

/** `word`: its name in the settings. */
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
