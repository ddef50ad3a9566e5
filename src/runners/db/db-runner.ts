// Queries or changes a SQLite database as one attempt. The database is a file of the workspace, opened through the path gate; a change
// needs it in the write scope. All statements of an attempt are one transaction, and values are always parameters.

import { basename, dirname } from 'node:path'
import { changesData, type DbRequest, dbLines, dbRequest } from '../../domain/actions/db-action.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Failure } from '../../domain/result.ts'
import { inheritedEnvironment } from '../../safety/environment.ts'
import type { Directory } from '../../safety/files/directory.ts'
import { openGate, type PathGate } from '../../safety/files/path-gate.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'
import { inScope } from '../../safety/scope.ts'
import type { Attempt, Outcome, Runner, RunnerTools, Stop } from '../runner.ts'
import { askDatabase, type DbDone, type DbJob } from './db-process.ts'

/** Of all rows together, as JSON: larger outputs are not journaled. */
const ROWS_MAX_BYTES = 1024 * 1024
const SCRIPT_MAX_BYTES = 1024 * 1024

export function dbRunner(): Runner {
  return {
    action: 'db',
    about: {
      does: 'queries or changes a SQLite database in the workspace',
      effects: ['pure', 'idempotent', 'unsafe'],
      risks: [
        'execute and migrate change data after a person approved, in one transaction; only `compensate` can undo what was committed',
      ],
      dryRun: 'the statements and their values',
      uses: ['sqlite'],
    },
    async preview({ action }) {
      const request = dbRequest(action)
      return { text: request === null ? '' : dbLines(request).join('\n') }
    },
    attempt: (attempt, tools, stop) => ask(attempt, tools, stop),
  }
}

async function ask(attempt: Attempt, tools: RunnerTools, stop: Stop): Promise<Outcome> {
  if (stop.aborted) return { type: 'interrupted' }
  const request = dbRequest(attempt.action)
  if (request === null) return failed(failure('logic', 'there is nothing that a database could be asked'))
  const gate = await openGate(tools)
  if (!gate.ok) return { ...failed(gate.failure), begun: false }
  let folder: Directory | null = null
  try {
    const place = await placeOf(request, gate.value, tools)
    if (!place.ok) return { ...failed(place.failure), begun: false }
    const scripts = await scriptsOf(request, gate.value)
    if (!scripts.ok) return { ...failed(scripts.failure), begun: false }
    const entered = await gate.value.directory(dirname(place.value))
    if (!entered.ok) return { ...failed(entered.failure), begun: false }
    folder = entered.value
    tools.log('engine', Buffer.from(`${dbLines(request)[0]}  (${tools.about})\n`))
    const key = request.do === 'execute' && request.key !== null ? request.key : null
    const done = await askDatabase({
      folder: folder.at(null).toString(),
      name: basename(place.value),
      request,
      scripts: scripts.value,
      key: key === 'auto' ? `${attempt.key}${attempt.action === attempt.definition.action ? '' : '/undo'}` : key,
      bytesMax: ROWS_MAX_BYTES,
      env: {
        ...inheritedEnvironment(tools.environment),
        PLANFOLD_OWNER: tools.owner,
        PLANFOLD_KEY: attempt.key,
        PLANFOLD_ATTEMPT: String(attempt.attempt),
      },
      timeoutMs: attempt.timeoutMs,
      signal: stop.signal,
    })
    return outcomeOf(done, request, attempt, tools)
  } finally {
    await folder?.close()
    await gate.value.close()
  }
}

const failed = (fault: Failure) => ({ type: 'failed' as const, failure: fault })

function outcomeOf(done: DbDone, request: DbRequest, { timeoutMs }: Attempt, tools: RunnerTools): Outcome {
  if (done.is === 'done') {
    const { outputs } = done
    const many = Array.isArray(outputs.rows) ? `${outputs.rows.length} rows` : JSON.stringify(outputs)
    tools.log('engine', Buffer.from(`${many}\n`))
    return { type: 'done', outputs }
  }
  if (done.is === 'no') {
    const { class: kind, message, hint, code } = done
    const fault = failure(kind, `${request.file}: ${message}`, hint)
    return failed(code === undefined ? fault : { ...fault, code })
  }
  if (done.by === 'stop') return { type: 'interrupted' }
  const how = done.by === 'time' ? `it took longer than ${timeoutMs / 1000} s` : 'its process died'
  // Migrations, and changes with a key, are recorded in the database, so that a retry does nothing twice.
  const isCertain =
    !changesData(request) || request.do === 'migrate' || (request.do === 'execute' && request.key !== null)
  if (isCertain)
    return failed({
      ...failure('transient', `${request.file}: ${how}, and was ended`, 'raise `timeout`, or ask for less'),
      code: 'timeout',
    })
  return failed({
    class: 'unknown',
    message: `${request.file}: ${how}, and was ended; whether it had committed is not known`,
    hint: advise`look at the data, then ${quoted('retry')} or skip it; with \`key: auto\` it could be tried again`,
    retryable: false,
  })
}

/** The normalised path, if this use is allowed. */
async function placeOf(request: DbRequest, gate: PathGate, { write }: RunnerTools): Promise<Answer<string>> {
  const checked = await gate.check(request.file, changesData(request) ? 'write' : 'read')
  if (!checked.ok || !changesData(request)) return checked
  // Without a scope a task may write the whole workspace, but not a database.
  if (write !== null && inScope(write, checked.value)) return checked
  const message = `${JSON.stringify(checked.value)} is ${write === null ? 'in no declared write scope' : 'outside the write scope'}`
  return { ok: false, failure: failure('policy', message, 'add the database to `write` of the task') }
}

async function scriptsOf(request: DbRequest, gate: PathGate): Promise<Answer<DbJob['scripts']>> {
  const scripts: DbJob['scripts'][number][] = []
  for (const name of request.do === 'migrate' ? request.files : []) {
    const read = await gate.read(name, { maxBytes: SCRIPT_MAX_BYTES })
    if (!read.ok) return read
    if (read.value === null)
      return { ok: false, failure: failure('logic', `there is no migration ${JSON.stringify(name)}`, 'check the path') }
    scripts.push({ name, sql: read.value.bytes.toString('utf8'), sha256: read.value.sha256 })
  }
  return { ok: true, value: scripts }
}
