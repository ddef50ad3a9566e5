// A proposed revision: its reason and its changes by meaning.

import type { Json } from '../../src/domain/json.ts'
import type { InboxEntry, PlanDiff } from '../data/api.ts'

type Proposal = Extract<InboxEntry['asks'], { readonly type: 'proposal' }>

export function ProposalShown({ asks: { rationale, changes, runs, stale, by } }: { readonly asks: Proposal }) {
  return (
    <section>
      <p className="asked-text">
        {rationale} <span className="dim">proposed by {by}</span>
      </p>
      {stale && <p className="trouble">The plan was revised since this was proposed.</p>}
      <DiffByMeaning diff={changes} />
      {runs.length > 0 && <h3>If you accept, these commands can run</h3>}
      {runs.map(line => (
        <pre key={line} className="block">
          {line}
        </pre>
      ))}
    </section>
  )
}

export function DiffByMeaning({ diff: { plan, added, removed, renamed, changed } }: { readonly diff: PlanDiff }) {
  return (
    <ul className="proposal">
      {added.map(({ task, title }) => (
        <li key={`+${task}`} className="add">
          <code>+ {task}</code> {title}
        </li>
      ))}
      {removed.map(({ task, title }) => (
        <li key={`-${task}`} className="remove">
          <code>− {task}</code> {title}
        </li>
      ))}
      {renamed.map(({ from, to }) => (
        <li key={`${from}>${to}`}>
          <code>
            {from} → {to}
          </code>
        </li>
      ))}
      {[
        ...plan.map(change => ({ task: null, change })),
        ...changed.flatMap(({ task, changes }) => changes.map(change => ({ task, change }))),
      ].map(({ task, change }) => (
        <li key={`${task}.${change.key}`}>
          <code>
            {task === null ? '' : `${task}.`}
            {change.key}
          </code>
          {'before' in change && change.before !== undefined && <del>{short(change.before as Json)}</del>}
          {'after' in change && change.after !== undefined && <ins>{short(change.after as Json)}</ins>}
        </li>
      ))}
    </ul>
  )
}

const short = (value: Json): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
