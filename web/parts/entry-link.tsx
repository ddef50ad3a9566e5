// A link to an entry of the journal.

import { Link } from '@tanstack/react-router'

export function EntryLink({ plan, entry }: { readonly plan: string; readonly entry: number }) {
  return (
    <Link to="/plans/$plan" params={{ plan }} search={{ view: 'history', entry }} className="link entry-link">
      entry {entry}
    </Link>
  )
}
