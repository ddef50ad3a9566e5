// What a draft says about itself, above its tasks, until it is run.

import type { DraftWords } from '../data/live-messages.ts'
import { visible } from '../parts/argv.tsx'
import { span } from '../parts/words.ts'

/** `task: text`, as it is said in a terminal. */
export const commentText = ({ task, text }: DraftWords['comments'][number]): string =>
  task === null ? text : `${task}: ${text}`

export function DraftShown({ draft }: { readonly draft: DraftWords }) {
  const parts = (
    [
      ['Why', draft.why === null ? [] : [draft.why]],
      ['Asked before work begins', draft.questions],
      ['Done when', draft.done],
      ['What each task runs', draft.runs.map(visible)],
      ['Assumed', draft.assumptions],
      ['Risks', draft.risks],
      ['Redrafted after', draft.comments.map(commentText)],
      ['Estimate', draft.estimateMs === 0 ? [] : [`${span(draft.estimateMs)}, one task after the other`]],
    ] as const
  ).filter(([, lines]) => lines.length > 0)
  if (parts.length === 0) return null
  return (
    <details className="about-draft" open>
      <summary>About this draft</summary>
      <div className="draft-parts">
        {parts.map(([title, lines]) => (
          <section key={title}>
            <h3>{title}</h3>
            <ul>
              {lines.map(line => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  )
}
