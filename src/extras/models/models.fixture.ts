// The models room on a scripted model, for tests: every provider speaks to it, with prices of its own.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Model, Models, OpenRequest } from '../../runners/models.ts'
import { type Script, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts'
import { openModels } from './open-models.ts'

export const KEY = 'sk-scripted-0123456789abcdef'

/** One model for each protocol. */
export const NAMES = [
  'anthropic/scripted',
  'openai/scripted',
  'openai-chat/scripted',
  'google/scripted',
  'local/scripted',
] as const

export const PRICE = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 }

export interface Place {
  readonly models: Models
  readonly server: ScriptedModel
  readonly stateDir: string
  readonly root: string
  readonly settingsFile: string
  readonly environment: { readonly [name: string]: string | undefined }
  /** The same room again, as another process would open it. */
  again(environment?: { readonly [name: string]: string | undefined }): Models
  open(request?: Partial<OpenRequest>): Promise<Model>
}

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'planfold-models-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

export async function setup(
  script: Script,
  settings: object = { models: Object.fromEntries(NAMES.map(name => [name, { price: PRICE }])) },
): Promise<Place> {
  const server = await scriptedModel(script)
  onTestFinished(() => server.close())
  const base = folder()
  const settingsFile = join(base, 'models.yaml')
  writeFileSync(settingsFile, JSON.stringify(settings))
  chmodSync(settingsFile, 0o600)
  const root = folder()
  const stateDir = join(root, '.planfold')
  const environment = { ...server.environment(KEY), PLANFOLD_MODELS: settingsFile }
  let made = 0
  const again = (more: { readonly [name: string]: string | undefined } = {}): Models =>
    openModels({
      environment: { ...environment, ...more },
      outside: [{ folder: root, is: 'the workspace' }],
      stateDir,
      clock: {
        now: () => Date.now(),
        monotonic: () => performance.now(),
        after: (ms, callback) => {
          const timer = setTimeout(callback, ms)
          return () => clearTimeout(timer)
        },
      },
      newId: () => `call-${process.pid}-${++made}-${Math.random()}`,
    })
  const models = again()
  return {
    models,
    server,
    stateDir,
    root,
    settingsFile,
    environment,
    again,
    open: async request => {
      const opened = await models.open({ use: 'anthropic/scripted', purpose: 'test', ...request })
      if (!opened.ok) throw new Error(opened.failure.message)
      return opened.model
    },
  }
}
