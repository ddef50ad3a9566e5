// The publisher plans are told of with: a command or a webhook, as the plan says.

import type { Variables } from '../../safety/environment.ts'
import { tellCommand } from './command-hook.ts'
import type { Publisher } from './publisher.ts'
import { sendToWebhook } from './webhook.ts'

export interface PublisherOptions {
  readonly root: string
  readonly stateDir: string
  readonly environment: Variables
  readonly about: string
  readonly timeoutMs?: number
}

export function openPublisher({ root, stateDir, environment, about, timeoutMs }: PublisherOptions): Publisher {
  const bound = timeoutMs === undefined ? {} : { timeoutMs }
  const secret = environment.PLANFOLD_WEBHOOK_SECRET
  return {
    publish: (to, message, signal, sandbox) =>
      'webhook' in to
        ? sendToWebhook(to.webhook, message, signal, {
            about,
            ...bound,
            ...(secret === undefined || secret === '' ? {} : { secret }),
          })
        : tellCommand(to.command, message, signal, {
            root,
            stateDir,
            environment,
            ...bound,
            ...(sandbox === undefined ? {} : { sandbox }),
          }),
  }
}
