// What the document says about requests: `http` and `db`. Both are kept as they are written, and read by
// `domain/plan-rules/http-request.ts` and `db-request.ts`. What fits together is told by request-rules.ts.

import { z } from 'zod'
import { DB_ROWS_MAX } from '../../domain/plan-rules/db-request.ts'
import { HTTP_METHODS } from '../../domain/plan-rules/http-request.ts'
import * as value from './schema-values.ts'

export const http = z
  .union([
    value.line,
    z.strictObject({
      method: z.enum(HTTP_METHODS).optional().meta({ description: 'GET when not said.' }),
      url: value.line,
      headers: z
        .record(z.string(), z.string())
        .optional()
        .meta({ description: '${{ secrets.NAME }} stands for a secret that the task names.' }),
      json: value.json.optional().meta({ description: 'A body, sent as JSON.' }),
      body: z.string().optional().meta({ description: 'A body, sent as it is.' }),
      key: value.line
        .optional()
        .meta({ description: 'Idempotency key: auto, or a text of your own. With one it may be sent again.' }),
    }),
  ])
  .meta({
    description: 'Sends a request. Outputs: status, headers, and json or text; or the body in the file it declares.',
    examples: [{ method: 'POST', url: 'https://api.example.com/releases', json: { tag: 'v1' }, key: 'auto' }],
  })

export const runner = z
  .union([value.line, z.strictObject({ use: value.line, with: value.jsonObject.optional() })])
  .meta({
    description: 'Carried out by a runner that the program brings along; with is what it is told.',
    examples: [{ use: 'words', with: { file: 'README.md' } }],
  })

const dbValue = z.union([z.string(), z.number(), z.boolean(), z.null()])
const values = z.union([z.array(dbValue), z.record(z.string(), dbValue)]).optional()

export const db = z
  .strictObject({
    url: value.line.meta({ description: 'sqlite:FILE, a file of the workspace.' }),
    query: value.line.optional().meta({ description: 'One statement that only reads. Output: rows.' }),
    execute: z
      .union([value.line, z.array(z.union([value.line, z.strictObject({ sql: value.line, values })])).min(1)])
      .optional()
      .meta({ description: 'Statements that change data, all or nothing. Output: changes.' }),
    migrate: z
      .union([value.line, value.lines.min(1)])
      .optional()
      .meta({ description: 'Files with SQL, each applied once, all or nothing. Output: applied.' }),
    values: values.meta({ description: 'For the ? or :name in the statement.' }),
    rows: value.count(DB_ROWS_MAX).optional().meta({ description: 'How many rows a query may give; 1000.' }),
    key: value.line.optional().meta({ description: 'Of execute: auto. With one it is never applied twice.' }),
  })
  .meta({
    description: 'Asks or changes a SQLite database. execute and migrate ask a person first.',
    examples: [{ url: 'sqlite:app.db', query: 'select count(*) as n from users where active = ?', values: [1] }],
  })
