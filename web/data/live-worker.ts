// The live hub as a SharedWorker: one event stream per browser, for any number of tabs.

import { LiveHub } from './live-hub.ts'
import type { FromTab } from './live-messages.ts'

const hub = new LiveHub({ url: self.location.origin, now: () => Date.now() })

;(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (port === undefined) return
  const tab = { send: (message: unknown) => port.postMessage(message) }
  port.onmessage = ({ data }: MessageEvent<FromTab>) => hub.receive(tab, data)
  hub.join(tab)
}
