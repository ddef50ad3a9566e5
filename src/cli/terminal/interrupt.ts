// For commands that run until they are stopped: by Ctrl-C, SIGTERM, or a closed pipe.

import type { Context } from '../context.ts'

export interface Stopping {
  readonly signal: AbortSignal
  readonly stopped: Promise<void>
  close(): void
}

export function stopping(context: Context): Stopping {
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  const unlisten = context.onSignal(stop)
  context.hangup.addEventListener('abort', stop, { once: true })
  if (context.hangup.aborted) stop()
  return {
    signal: controller.signal,
    stopped: new Promise<void>(resolve => {
      if (controller.signal.aborted) resolve()
      else controller.signal.addEventListener('abort', () => resolve(), { once: true })
    }),
    close: () => {
      unlisten()
      context.hangup.removeEventListener('abort', stop)
    },
  }
}
