// The data of one task: its artifacts; as JSON its inputs, outputs, and its definition.

import { useQuery } from '@tanstack/react-query'
import { listArtifacts } from '../data/api.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { dayOf } from '../parts/words.ts'

interface Shown {
  readonly plan: string
  readonly detail: TaskDetail
}

export function TaskData({ plan, detail }: Shown) {
  const { definition, outputs } = detail
  const parts: readonly (readonly [string, unknown])[] = [
    ['Inputs', definition.inputs],
    ['Outputs', outputs],
    ['Outcome', detail.outcome ?? undefined],
    ['Exit code', detail.exit ?? undefined],
    ['Model', detail.model ?? undefined],
    ['May write', definition.write],
    ['Definition', definition],
  ]
  return (
    <>
      <Artifacts plan={plan} detail={detail} />
      {parts.map(([title, value]) => block(title, value))}
    </>
  )
}

const block = (title: string, value: unknown) =>
  value === undefined || value === null ? null : (
    <section key={title}>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys. */}
      <pre className="block" tabIndex={0}>
        {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
      </pre>
    </section>
  )

/** Every version, with its content as a download. The list is read again when the task goes on. */
function Artifacts({ plan, detail: { view } }: Shown) {
  const { name, status, visit, attempt } = view
  const { data } = useQuery({
    queryKey: ['artifacts', plan, name, status, visit, attempt],
    queryFn: () => listArtifacts(plan, name),
  })
  if (data == null || data.items.length === 0) return null
  return (
    <section>
      <h3>Artifacts</h3>
      <ul className="attempts">
        {data.items.map(one => (
          <li key={one.address}>
            {one.expired ? (
              <span>{one.name}</span>
            ) : (
              <a className="link" href={`/plans/${plan}/artifacts/${one.sha256}`} download>
                {one.name}
              </a>
            )}
            <span className="dim">
              {[
                `version ${one.version}`,
                one.type === null ? one.kind : `${one.kind}: ${one.type}`,
                one.confidential ? 'confidential' : null,
                one.expires === null ? null : `${one.expired ? 'expired on' : 'until'} ${dayOf(one.expires)}`,
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
            <span className="space" />
            {one.bytes !== null && <span className="num dim">{one.bytes.toLocaleString()} bytes</span>}
          </li>
        ))}
      </ul>
      {data.total > data.items.length && (
        <p className="dim">
          The first {data.items.length} of {data.total}
        </p>
      )}
    </section>
  )
}
