// The door of publishers: a command or a webhook, as the plan says, and traces for a collector of OpenTelemetry.

import type { Publisher, PublisherOptions } from '../../engine/notifications/publisher.ts'
import { tellCommand } from './command-hook.ts'
import { sendToWebhook } from './webhook.ts'

export { openTracer, tracesAddress } from './otlp-tracer.ts'

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
