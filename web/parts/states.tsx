// The states of a page besides the usual one: empty, loading, error, service away.

import { TriangleAlert, Unplug } from 'lucide-react'
import type { ReactNode } from 'react'
import { Problem } from '../data/api.ts'
import { live, useConnection } from '../data/live.ts'
import { Button } from './button.tsx'
import { useNow } from './clock.ts'
import { timeOf } from './words.ts'

export function Empty({
  title,
  children,
  sign,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly sign?: ReactNode
}) {
  return (
    <div className="empty">
      {sign !== undefined && <span className="sign">{sign}</span>}
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export const Skeleton = ({ height, width }: { readonly height: number; readonly width?: number | string }) => (
  <div className="skeleton" style={{ height, width: width ?? '100%' }} aria-hidden="true" />
)

export function Trouble({ error }: { readonly error: unknown }) {
  const problem = error instanceof Problem ? error : null
  return (
    <div className="trouble" role="alert">
      <TriangleAlert className="icon" size={16} aria-hidden="true" />
      <div>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        {problem !== null && problem.faults.length > 0 && (
          <ul>
            {problem.faults.slice(0, 20).map(({ path, message, hint }) => (
              <li key={`${path}${message}`}>
                {path !== '' && <code>{path}</code>} {message}
                {hint === undefined ? '' : ` (${hint})`}
              </li>
            ))}
          </ul>
        )}
        {problem?.hint != null && <p>{problem.hint}</p>}
      </div>
    </div>
  )
}

/** For a page that cannot be shown: a missing file after an upgrade, or a bug. */
export function Broken({ error }: { readonly error: unknown }) {
  return (
    <main>
      <Empty title="This page cannot be shown">
        <Trouble error={error} />
        <p>Your plans are not affected. If Planfold was upgraded, reload the page.</p>
        <p>
          <Button onClick={() => location.reload()}>Reload</Button>{' '}
          <a className="button" href="/ui/">
            All plans
          </a>
        </p>
      </Empty>
    </main>
  )
}

export function LivePill() {
  const connection = useConnection()
  if (connection.is === 'live')
    return (
      <span className="live" title="This page is up to date">
        <i />
        Live
      </span>
    )
  return (
    <span className="live away">
      <i />
      {connection.is === 'connecting' ? 'Connecting' : 'Away'}
    </span>
  )
}

/** When the service does not answer, the page stays readable and recovers by itself. */
export function AwayBar() {
  const connection = useConnection()
  // Rendered again every second; `lastSeen` is by the clock of this machine.
  useNow()
  if (connection.is !== 'away') return null
  return (
    <div className="away-bar" role="status">
      <Unplug size={15} aria-hidden="true" />
      <span>
        The server does not respond. Last response {timeOf(connection.lastSeen)}, retrying
        {Date.now() - connection.lastSeen > 60_000 ? '; what you see may be old' : ''}.
      </span>
      <span className="space" />
      <button type="button" className="button small" onClick={() => live.say({ say: 'reconnect' })}>
        Try now
      </button>
    </div>
  )
}
