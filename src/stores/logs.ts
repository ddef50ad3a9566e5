// Task output: durable chunks beside the journal, never state. They share the commits of the entries around them.

import { limitOf } from './cursor.ts'
import { keptText } from './kept-text.ts'
import type { Logs } from './store.ts'
import type { Transactions } from './tables.ts'

const READ_DEFAULT = 500
const READ_MAX = 5_000

export function logsOn(transactions: Transactions): Logs {
  return {
    async append(chunks) {
      if (chunks.length === 0) return
      await transactions.write(tables => {
        const places = chunks.map(chunk => {
          const no = tables.journal.planNo(chunk.plan)
          const ordinal = no === null ? null : tables.projections.ordinal(no, chunk.task)
          if (no === null || ordinal === null)
            throw new Error(`there is no task '${chunk.task}' in plan ${chunk.plan} to log for`)
          return { no, ordinal, chunk }
        })
        for (const { no, ordinal, chunk } of places)
          tables.logs.append(no, ordinal, { ...chunk, text: keptText(chunk.text) })
      })
    },

    async read({ plan, task, after, limit }) {
      return transactions.read(tables => {
        const no = tables.journal.planNo(plan)
        const ordinal = no === null || task === undefined ? null : tables.projections.ordinal(no, task)
        if (no === null || (task !== undefined && ordinal === null)) return []
        return tables.logs.read(plan, no, ordinal, after ?? 0, limitOf(limit, READ_DEFAULT, READ_MAX))
      })
    },

    since: async (after, limit) => transactions.read(tables => tables.logs.since(after, limit)),
    last: async () => transactions.read(tables => tables.logs.last()),
  }
}
