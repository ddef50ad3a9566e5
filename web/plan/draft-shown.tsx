// The description of a draft, shown above its tasks until it is started.

import type { DraftWords } from '../data/live-messages.ts'
import { visible } from '../parts/argv.tsx'

export const commentText = ({ task, text }: DraftWords['comments'][number]): string =>
  task === null ? text : `${task}: ${text}`

export function DraftShown({ draft }: { readonly draft: DraftWords }) {
  return (
    <details className="about-draft" open>
      <summary>About this draft</summary>
      <Parts
        parts={[
          ['What runs, what it may write, what proves it', draft.tasks.map(visible)],
          ['Asked first', draft.questions],
          ['Cannot be undone', draft.irreversible.length === 0 ? ['nothing in this plan'] : draft.irreversible],
          ['Assumed', draft.assumptions],
        ]}
      />
      <details>
        <summary>More</summary>
        <Parts
          parts={[
            ['Why', draft.why === null ? [] : [draft.why]],
            ['What each task runs', draft.runs.map(visible)],
            ['Done when', draft.done],
            ['Risks', draft.risks],
            ['Redrafted after', draft.comments.map(commentText)],
          ]}
        />
      </details>
    </details>
  )
}

function Parts({ parts }: { readonly parts: readonly (readonly [string, readonly string[]])[] }) {
  return (
    <div className="draft-parts">
      {parts
        .filter(([, lines]) => lines.length > 0)
        .map(([title, lines]) => (
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
  )
}
