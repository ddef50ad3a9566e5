// The data of one task as JSON: inputs, outputs, and its definition.

import type { TaskDetail } from '../data/live-messages.ts'

export function TaskData({ detail }: { readonly detail: TaskDetail }) {
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
  return parts.map(([title, value]) =>
    value === undefined || value === null ? null : (
      <section key={title}>
        <h3>{title}</h3>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys. */}
        <pre className="block" tabIndex={0}>
          {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
        </pre>
      </section>
    ),
  )
}
