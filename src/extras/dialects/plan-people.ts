// The people of a plan in other formats: reviewers, those whom it affects, and what the document says about an approval.

import { defined, isMap, type Json } from '../../domain/json.ts'
import { isList } from '../../format/text/source.ts'
import type { Fields } from './document-builder.ts'

/** Canonical keys, and the words that documents have for them. */
const LISTS = { reviewers: ['reviewers'], impacted: ['impacted', 'impacted_users', 'impactedUsers'] } as const

export const PEOPLE_KEYS: readonly string[] = ['reviewers', 'impacted', 'approval']
export const PEOPLE_WORDS: readonly string[] = [...Object.values(LISTS).flat(), 'approval']

/** What has another form is kept, as every word that is not known. */
export function readPeople(fields: Fields): void {
  for (const [to, words] of Object.entries(LISTS)) {
    const said = fields.first(words)
    const names = said === null ? null : asWritten(said.value)
    if (said !== null && names === null) fields.remember(said.key, said.value)
    else if (said !== null) fields.put(to, names!, said.key)
  }
  const said = fields.take('approval')
  const approval = said === undefined ? null : approvalIn(said)
  if (approval !== null) fields.put('approval', approval, 'approval')
  else if (said !== undefined) fields.remember('approval', said)
}

function approvalIn(said: Json): Json | null {
  if (!isMap(said)) return null
  const by = asWritten(said.by ?? said.approved_by ?? said.approvedBy)
  const date = said.date ?? said.approval_date ?? said.approvedAt
  const when = typeof date === 'string' ? date : undefined
  return defined({ by: by ?? undefined, date: when })
}

/** A list has the form that the canonical document has, too. */
const asWritten = (said: Json | undefined): readonly string[] | null =>
  isList(said) && said.every(one => typeof one === 'string') ? said : namesIn(said)

/** One name or several, `@ana` as `ana`; null if no one is named. */
export function namesIn(said: Json | undefined): readonly string[] | null {
  const all = isList(said) ? said : said === undefined ? [] : [said]
  if (!all.every(one => typeof one === 'string')) return null
  const names = all.map(one => one.replace(/^@(?=.)/, '')).filter(one => !UNNAMED.test(one))
  return names.length === 0 ? null : names
}

const UNNAMED = /^\s*(?:tbd|todo|n\/a|none|-|<!--.*-->)?\s*$/is
