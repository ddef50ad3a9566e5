// What a request shows, as it was stored when the request was made: loaded, and drawn from the stored bytes.

import { useQuery } from '@tanstack/react-query'
import { spelled } from '../../src/domain/views/pages/foreign-text.ts'
import { gatePage, type InboxEntry } from '../data/api.ts'
import type { LineComments } from '../parts/diff.tsx'
import { Skeleton, Trouble } from '../parts/states.tsx'
import { ConsentShown } from './consent-shown.tsx'

export const hashOf = ({ asks }: InboxEntry): string | null =>
  'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null

/** Loads what the item shows. Drawn: it is loaded and has the hash of this request, or there is nothing to load. */
export function useGate(item: InboxEntry) {
  const { asks, shown, plan, task } = item
  const on = hashOf(item)
  // A review that failed is shown with the work.
  const wanted = task !== null && (shown !== null || asks.type === 'recovery')
  const query = useQuery({
    queryKey: ['gate', plan, task, shown, on],
    queryFn: () => gatePage(plan, task!),
    enabled: wanted,
  })
  const isDrawn =
    !wanted || (query.data !== undefined && query.error === null && (on === null || query.data.hash === on))
  return { ...query, isDrawn }
}

/** Rendered from the stored bytes; on demand as plain terminal text, which is the same on every face. */
export function GateShown({
  gate: { data, error, isLoading },
  item: { releases },
  comments,
}: {
  readonly gate: ReturnType<typeof useGate>
  readonly item: InboxEntry
  readonly comments: LineComments
}) {
  if (isLoading) return <Skeleton height={120} />
  if (error !== null) return <Trouble error={error} />
  const consent = data?.consent ?? null
  return (
    <>
      {data?.people.map(line => (
        <p key={line} className="dim">
          {line}
        </p>
      ))}
      {data?.hidden === true && <p className="dim">Only people who may decide see what exactly runs.</p>}
      <ConsentShown
        shown={consent?.shown ?? null}
        releases={releases}
        changes={consent?.changes ?? []}
        files={consent?.files ?? []}
        comments={comments}
      />
      {data?.work?.map(({ title, text }) => (
        <section key={title}>
          <h3>{title}</h3>
          <pre className="block">{spelled(text)}</pre>
        </section>
      ))}
      {consent !== null && (
        <details className="consent-words">
          <summary>Full text, as in a terminal</summary>
          <pre className="block">
            {consent.lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines are in order.
              <span key={at}>
                {line.map(({ text, tone }, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: so are the parts of a line.
                  <span key={place} className={tone === null ? undefined : `tone-${tone}`}>
                    {text}
                  </span>
                ))}
                {'\n'}
              </span>
            ))}
          </pre>
        </details>
      )}
    </>
  )
}
