// What must fit together in `http` and `db` tasks, and where a secret may stand.

import { isMap } from '../../domain/json.ts'
import { databaseFile } from '../../domain/plan-rules/db-request.ts'
import { headerFault, isSafeMethod } from '../../domain/plan-rules/http-request.ts'
import { parseTemplate } from '../expression/template.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'

type Raw = { readonly [key: string]: unknown }

const isComputed = (text: string): boolean => text.includes('${{')

export function* httpRules(task: Raw, path: Path): Generator<DocumentFault> {
  if (!Object.hasOwn(task, 'http')) return
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
  let parsed: URL | null = null
  try {
    parsed = new URL(url)
  } catch {
    // Told below.
  }
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

export function* dbRules(task: Raw, path: Path): Generator<DocumentFault> {
  const { db } = task
  if (!isMap(db)) return
  const at = (...keys: readonly string[]): Path => [...path, 'db', ...keys]
  if (typeof db.url === 'string' && !isComputed(db.url) && databaseFile(db.url) === null)
    yield { path: at('url'), message: `'${db.url.slice(0, 100)}' is not a database address`, hint: 'write sqlite:FILE' }
  if (typeof db.url === 'string' && isComputed(db.url))
    yield { path: at('url'), message: 'the file of a database is not computed', hint: 'write sqlite:FILE' }
  const said = ['query', 'execute', 'migrate'].filter(key => db[key] !== undefined)
  if (said.length !== 1)
    yield {
      path: said.length === 0 ? [...path, 'db'] : at(said[1]!),
      atKey: true,
      message: said.length === 0 ? "'db' says nothing to do" : `'${said[0]}' and '${said[1]}' are two things to do`,
      hint: 'write one of query, execute and migrate',
    }
  for (const [keys, text] of sqlIn(db))
    if (isComputed(text))
      yield {
        path: at(...keys.map(String)),
        message: 'a value is never put into a statement',
        hint: "write ? in the statement, and the value under 'values'",
        within: { text: '${{', offset: 0 },
      }
  if (db.values !== undefined && (db.migrate !== undefined || Array.isArray(db.execute)))
    yield {
      path: at('values'),
      atKey: true,
      message: "'values' belongs to one statement",
      hint: 'write it beside each: execute: [{ sql: …, values: […] }]',
    }
  if (db.key !== undefined && db.execute === undefined)
    yield { path: at('key'), atKey: true, message: "'key' is for execute", hint: 'leave it out' }
}

function* sqlIn(db: Raw): Generator<readonly [readonly (string | number)[], string]> {
  if (typeof db.query === 'string') yield [['query'], db.query]
  if (typeof db.execute === 'string') yield [['execute'], db.execute]
  for (const key of ['execute', 'migrate'])
    for (const [index, one] of (Array.isArray(db[key]) ? (db[key] as readonly unknown[]) : []).entries()) {
      if (typeof one === 'string') yield [[key, index], one]
      else if (isMap(one) && typeof one.sql === 'string') yield [[key, index, 'sql'], one.sql]
    }
}

/** A secret stands in a header or the body of an http task that names it, alone in its braces. */
export function* secretPlaces(task: Raw, path: Path): Generator<DocumentFault> {
  const named: readonly unknown[] = Array.isArray(task.secrets) ? task.secrets : []
  for (const [at, text] of textsIn(task, [])) {
    if (!text.includes('${{') || !text.includes('secrets')) continue
    const parsed = parseTemplate(text)
    if (!parsed.ok) continue
    const isPlace = at[0] === 'http' && (at[1] === 'headers' || at[1] === 'body')
    for (const part of parsed.parts) {
      if (part.type !== 'expression' || !/(?<![\w.'"])secrets\s*[.[]/.test(part.source)) continue
      const name = /^secrets\.([A-Za-z_]\w*)$/.exec(part.source)?.[1]
      const fault = !isPlace
        ? [
            'a secret is not put in here',
            "an http task puts it into 'headers' or 'body'; a command finds it in its environment, as $NAME",
          ]
        : name === undefined
          ? ['a secret must be alone in its braces', 'write ${{ secrets.NAME }}']
          : !named.includes(name)
            ? [`the task does not name the secret '${name.slice(0, 60)}'`, `add 'secrets: [${name.slice(0, 60)}]'`]
            : null
      if (fault === null) continue
      yield { path: [...path, ...at], message: fault[0]!, hint: fault[1]!, within: { text: part.source, offset: 0 } }
    }
  }
}

function* textsIn(value: unknown, path: readonly (string | number)[]): Generator<readonly [Path, string]> {
  if (typeof value === 'string') yield [path, value]
  else if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* textsIn(one, [...path, index])
  else if (isMap(value))
    // Tasks inside of this one are looked at on their own.
    for (const [key, one] of Object.entries(value))
      if (key !== 'subplan' && key !== 'recover' && key !== 'extra') yield* textsIn(one, [...path, key])
}
