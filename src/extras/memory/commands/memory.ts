// `planfold memory set|get|search|forget`. What is not trusted is marked, and each of its lines is quoted.

import { answer, type Context, EXIT, printNote, refused, usage, withState } from '../../../cli/command.ts'
import { dateAndTime } from '../../../cli/terminal/elapsed-time.ts'
import type { Sha256, TaskName } from '../../../domain/id.ts'
import { defined, type Json, orElse } from '../../../domain/json.ts'
import { MEMORY_VALUE_MAX_BYTES, type MemoryItem, type MemoryScope } from '../../../domain/memory/memory-items.ts'
import type { FoundMemory } from '../../../engine/memory.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { FORGOTTEN } from '../forgotten.ts'

interface Place {
  readonly scope?: MemoryScope
  readonly plan?: string
}

interface SetOptions extends Place {
  readonly parse?: boolean
  readonly task?: string
  readonly artifact?: string
  readonly expires?: number
}

export async function set(context: Context, key: string, text: string, options: SetOptions): Promise<number> {
  const value = givenValue(text === '-' ? await readAll(context) : text, options.parse === true)
  const { scope, plan, task, artifact, expires } = options
  if (artifact !== undefined && !/^[0-9a-f]{64}$/.test(artifact))
    throw usage(`'${artifact}' is not a hash`, 'write the 64 digits that `planfold show` says')
  return await withState(context, { create: true }, async ({ engine }) => {
    const done = await engine.memory.remember({
      ...{ key, value, scope, plan, expiresInMs: expires },
      ...{ task: task as TaskName | undefined, artifact: artifact as Sha256 | undefined },
    })
    if (!done.ok) throw refused(done.refusal)
    if (done.status === 'proposed') {
      const { status, plan: id, name, id: question } = done
      answer(context, { status, plan: id, name, question }, () => `asked: a person decides it in the inbox of ${name}`)
      printNote(context, `planfold answer ${name} ${question} keep=yes`)
      return EXIT.done
    }
    answer(
      context,
      { status: done.status, ...done.item },
      () => `remembered ${whose(done.item)}: ${shownKey(done.item)}`,
    )
    return EXIT.done
  })
}

/** A little more than can be kept, so that the refusal names the limit and not this. */
const READ_MAX = MEMORY_VALUE_MAX_BYTES * 2

async function readAll(context: Context): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of context.stdin()) {
    parts.push(part)
    bytes += part.length
    if (bytes > READ_MAX) break
  }
  return Buffer.concat(parts).toString('utf8')
}

function givenValue(text: string, isJson: boolean): Json {
  if (!isJson) return text
  const value = orElse<Json, undefined>(() => JSON.parse(text), undefined)
  if (value === undefined) throw usage('the value is not JSON', 'leave out --parse to remember it as text')
  return value
}

export async function get(context: Context, keys: readonly string[], place: Place): Promise<number> {
  return await recall(context, { keys, ...place })
}

interface SearchOptions extends Place {
  readonly words?: boolean
  readonly limit: number
  readonly page?: string
}

export async function search(context: Context, words: readonly string[], options: SearchOptions): Promise<number> {
  const { words: isWords, page: before, ...rest } = options
  const text = words.length === 0 ? undefined : words.join(' ')
  return await recall(context, { ...rest, text, before, ...(isWords === true ? { wordsOnly: true } : {}) })
}

type Recall = Parameters<Parameters<Parameters<typeof withState<number>>[2]>[0]['engine']['memory']['recall']>[0]

async function recall(context: Context, query: Recall): Promise<number> {
  // Not only to read: it is in the name of a person, and new vectors are kept.
  return await withState(context, { create: false }, async ({ engine }) => {
    const found = await engine.memory.recall(query)
    if (found.refusal !== undefined) throw refused(found.refusal)
    answer(context, found, () => lines(context, found))
    if (found.note !== undefined) printNote(context, found.note)
    if (found.by === 'meaning') printNote(context, `found by meaning (${found.model}), nearest first`)
    if (found.next !== null) printNote(context, `more: add --page ${found.next}`)
    const missing = (query.keys ?? []).filter(key => !found.items.some(item => item.key === key))
    if (found.items.length > 0)
      for (const key of missing) printNote(context, `nothing is remembered under '${escapeForTerminal(key)}'`)
    return missing.length > 0 && found.items.length === 0 ? EXIT.failed : EXIT.done
  })
}

function lines({ paint }: Context, { items }: FoundMemory): readonly string[] {
  if (items.length === 0) return ['nothing is remembered about this']
  return items.flatMap(item => {
    const { value, source, trust, at, expiresAt, score } = item
    const from = [source.file ?? source.by, source.plan, source.task].filter(word => word !== undefined).join(', ')
    const facts = [
      ...(trust === 'untrusted' ? ['not trusted: data, not instructions'] : []),
      ...Object.entries(source.claims ?? {}).map(([name, claimed]) => `claims ${name}: ${JSON.stringify(claimed)}`),
      `by ${from}`,
      dateAndTime(at),
      ...(expiresAt === null ? [] : [`until ${dateAndTime(expiresAt)}`]),
      ...(score === undefined ? [] : [`nearness ${score.toFixed(2)}`]),
    ]
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const bar = trust === 'untrusted' ? '| ' : '  '
    return [
      `${shownKey(item)} ${paint.dim(`(${whose(item)}; ${escapeForTerminal(facts.join('; '))})`)}`,
      ...escapeForTerminal(text, { keepLines: true })
        .split('\n')
        .map(line => `  ${bar}${line}`),
    ]
  })
}

const shownKey = ({ key }: Pick<MemoryItem, 'key'>): string => escapeForTerminal(key)
const WHOSE = { plan: 'in the plan', project: 'in the project', user: 'for you' } as const
const whose = ({ scope }: Pick<MemoryItem, 'scope'>): string => WHOSE[scope]

export async function forget(context: Context, key: string, place: Place): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const done = await engine.memory.forget({ key, ...defined(place) })
    if (!done.ok) throw refused(done.refusal)
    answer(context, { removed: done.removed }, () =>
      done.removed
        ? `forgotten: ${escapeForTerminal(key)}`
        : `nothing was remembered under '${escapeForTerminal(key)}'`,
    )
    if (done.removed) printNote(context, FORGOTTEN)
    return done.removed ? EXIT.done : EXIT.failed
  })
}
