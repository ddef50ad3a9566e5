// The line budget: how many lines of source each room may have. Nothing else limits how far the code grows, so a room that needs more
// says so in the commit that needs it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

const SLACK_MAX = 100

test('no room has more lines than its budget, and no budget is far above what is there', () => {
  const budget: Record<string, number> = JSON.parse(readFileSync(join(import.meta.dirname, 'line-budget.json'), 'utf8'))
  const lines = countLines()
  const sum = [...lines.values()].reduce((all, count) => all + count, 0)
  console.log(`${sum} lines in src and web without tests`)
  const faults = [...new Set([...lines.keys(), ...Object.keys(budget)])].flatMap(room => {
    const [count, most] = [lines.get(room) ?? 0, budget[room] ?? 0]
    if (count > most) return [`${room} has ${count} lines, ${count - most} more than its budget`]
    return most - count > SLACK_MAX || count === 0 ? [`${room} has only ${count} lines of ${most}`] : []
  })
  const how =
    'Take lines away; or raise the number in test/line-budget.json in the same commit, with the reason in its message. A room that shrank gets the smaller number.'
  expect(faults, how).toEqual([])
})

/** Lines by room, in the order of their names. */
function countLines(): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  for (const { room, path } of sourceFiles())
    lines.set(room, (lines.get(room) ?? 0) + readFileSync(path, 'utf8').split('\n').length - 1)
  return new Map([...lines].sort(([a], [b]) => (a < b ? -1 : 1)))
}
