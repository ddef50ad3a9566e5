// The events of an attempt that is the best of several tries.

import { defined } from '../json.ts'
import { numberOf } from '../phrases.ts'
import { triedWords, tryName, WHY_BEST } from '../tries/race.ts'
import { spendOf, spendWords } from '../views/pages/agent-lines.ts'
import type { RowsOf } from './event-row.ts'
import { names } from './event-words.ts'

export const RACE_EVENTS: RowsOf<'race'> = {
  'race.began': {
    kind: 'attempt',
    sentence: ({ task, round, of, left, from }) => {
      const again = from === undefined ? '' : `, round ${round} from try ${tryName(from)}`
      const fewer =
        left === undefined ? '' : `; ${numberOf(left.tries, 'more try', 'more tries')} left out: ${left.why}`
      return `${task}: ${numberOf(of.length, 'try', 'tries')} begin${of.length === 1 ? 's' : ''} (${names(of)})${again}${fewer}`
    },
    shows: ['visit', 'attempt', 'round', 'of', 'left', 'from', 'start'],
    rows: () => 'tasks',
  },
  'race.tried': {
    kind: 'attempt',
    sentence: event => {
      const { task, by, model } = event
      const spent = model === undefined ? '' : `; models: ${spendWords(spendOf(model))}`
      return `${task}: try ${tryName(event)} (${by}) ${triedWords(event)}${spent}`
    },
    facts: ({ visit, attempt, round, number, by, ended, reason, changes, paths, lines, beyond }) =>
      defined({ visit, attempt, round, number, by, ended, reason, changes, paths, lines, beyond }),
    failure: ({ ended, reason = null }) => (ended === 'passed' ? null : reason),
    rows: () => 'tasks',
  },
  'race.judged': {
    kind: 'attempt',
    sentence: ({ task, best, why, judge }) => {
      const says = judge === undefined ? '' : `; ${judge.by} says: ${judge.says}`
      return best === null
        ? `${task}: no try passed${says}`
        : `${task}: try ${tryName(best)} is the best: ${WHY_BEST[why]}${says}`
    },
    shows: ['visit', 'attempt', 'round', 'best', 'why'],
    rows: () => 'tasks',
  },
  'race.applied': {
    kind: 'files',
    sentence: ({ task, overwrote = [] }) =>
      `${task}: the changes of the best try go into the workspace${overwrote.length === 0 ? '' : `; edits of ${names(overwrote)} are replaced and backed up`}`,
    shows: ['visit', 'attempt', 'saved', 'overwrote'],
    rows: () => 'tasks',
  },
}
