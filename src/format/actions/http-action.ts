// `http`: a request. Stored as written; `domain/actions/http-action.ts` reads it.

import { z } from 'zod'
import { HTTP_METHODS, headerFault, isSafeMethod } from '../../domain/actions/http-action.ts'
import { isMap, orElse } from '../../domain/json.ts'
import type { Action } from '../../domain/plan.ts'
import { asWritten, optional } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'
import { type ActionFormat, isComputed, keyed, type Raw } from './action-format.ts'

type Http = Extract<Action, { readonly type: 'http' }>

const http = z
  .union([
    value.line,
    z.strictObject({
      method: optional(z.enum(HTTP_METHODS), 'GET when not said.'),
      url: value.line,
      headers: optional(
        z.record(z.string(), z.string()),
        '${{ secrets.NAME }} stands for a secret that the task names.',
      ),
      json: optional(value.json, 'A body, sent as JSON.'),
      body: optional(z.string(), 'A body, sent as it is.'),
      key: optional(value.line, 'Idempotency key: auto, or a text of your own. With one it may be sent again.'),
    }),
  ])
  .meta({
    description: 'Sends a request. Outputs: status, headers, and json or text; or the body in the file it declares.',
    examples: [{ method: 'POST', url: 'https://api.example.com/releases', json: { tag: 'v1' }, key: 'auto' }],
  })

export const HTTP: ActionFormat<Http> = {
  ...keyed<Http>('http', { spec: ['http', asWritten(http)] }),
  undo: ['http'],
  rules,
}

function* rules(task: Raw, path: Path): Generator<DocumentFault> {
  const http = typeof task.http === 'string' ? { url: task.http } : task.http
  if (!isMap(http)) return
  const at = (...keys: readonly string[]): Path =>
    typeof task.http === 'string' ? [...path, 'http'] : [...path, 'http', ...keys]
  const { method = 'GET', url, headers, json, body, key } = http
  if (typeof url === 'string') yield* urlFaults(url, at('url'))
  for (const [name, value] of Object.entries(isMap(headers) ? headers : {})) {
    const fault = typeof value === 'string' ? headerFault(name, isComputed(value) ? '' : value) : null
    if (fault === null) continue
    const hint = fault.startsWith('is set') ? 'leave it out' : 'write one line of ordinary characters'
    yield { path: at('headers', name), atKey: true, message: `the header '${name.slice(0, 60)}' ${fault}`, hint }
  }
  if (json !== undefined && body !== undefined)
    yield { path: at('body'), atKey: true, message: "'json' and 'body' are both a body", hint: 'keep one of them' }
  if (typeof method === 'string' && isSafeMethod(method))
    for (const extra of ['json', 'body', 'key'])
      if (http[extra] !== undefined)
        yield {
          path: at(extra),
          atKey: true,
          message: `a ${method} request has no '${extra}'`,
          hint: extra === 'key' ? 'it may be sent again in any case' : 'write `method: POST`, or leave it out',
        }
  if (key !== undefined && isMap(headers) && Object.keys(headers).some(name => /^idempotency-key$/i.test(name)))
    yield { path: at('key'), atKey: true, message: "the header 'idempotency-key' is there already", hint: 'keep one' }
  const files = Object.entries(isMap(task.outputs) ? task.outputs : {}).filter(
    ([, output]) => isMap(output) && Object.hasOwn(output, 'file'),
  )
  if (files.length > 1)
    yield {
      path: [...path, 'outputs', files[1]![0]],
      message: 'the body of an answer goes into one file',
      hint: 'declare one output with a file',
    }
  if (files.length > 0 && method !== 'GET')
    yield {
      path: [...path, 'outputs', files[0]![0]],
      message: `the answer to ${String(method)} is not written to a file`,
      hint: 'use `outputs.json` or `outputs.text` of the task, or GET',
    }
}

function* urlFaults(url: string, path: Path): Generator<DocumentFault> {
  if (isComputed(url)) return
  const parsed = orElse(() => new URL(url), null)
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    yield {
      path,
      message: `'${url.slice(0, 100)}' is not a web address`,
      hint: 'write https://host/path',
    }
  else if (parsed.username !== '' || parsed.password !== '')
    yield {
      path,
      message: 'the address contains a user or a password',
      hint: 'name a secret, and send it in a header: authorization: Bearer ${{ secrets.NAME }}',
    }
}
