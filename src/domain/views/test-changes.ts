// Differences of tests from the baseline, for people: counts, then a line for each kind.

import type { TestChanges, TestRun } from '../result.ts'

const WORDS: { readonly [K in Exclude<keyof TestChanges, 'more'>]-?: string } = {
  failing: 'now failing',
  passing: 'now passing',
  new: 'new',
  gone: 'gone',
  flaky: 'flaky',
}

export function testLines({ passed, failed, skipped, baseline, changed = {} }: TestRun): readonly string[] {
  const counts = [`${passed} passed`, `${failed} failed`, ...(skipped === 0 ? [] : [`${skipped} skipped`])].join(', ')
  const lists = Object.entries(WORDS).flatMap(([key, words]) => {
    const names = changed[key as keyof typeof WORDS] ?? []
    return names.length === 0 ? [] : [`${words}: ${names.join(', ')}`]
  })
  return [
    baseline === undefined ? counts : `${counts}; compared with '${baseline}'`,
    ...lists,
    ...(changed.more === undefined ? [] : [`and ${changed.more} more`]),
  ]
}
