// Lines of a log from its pieces, and the pages in which they are loaded.

import { expect, test } from 'vitest'
import { type Chunk, findLine, LineReader, type LogLine } from './log-lines.ts'
import { LogSource } from './log-source.ts'

const chunk = (seq: number, text: string, more: Partial<Chunk> = {}): Chunk => ({
  seq,
  at: seq,
  stream: 'stdout',
  visit: 1,
  attempt: 1,
  text,
  ...more,
})
const linesOf = (chunks: readonly Chunk[], before = 0): readonly LogLine[] => {
  const reader = new LineReader(before)
  for (const one of chunks) reader.read(one)
  return reader.lines()
}
const words = (lines: readonly LogLine[]): string[] =>
  lines.map(({ number, stream, text }) => `${number} ${stream} ${text}`)

test('a line that came in pieces is one line, also with another stream between them', () => {
  const chunks = [chunk(1, 'a\nb'), chunk(2, 'warning\n', { stream: 'stderr' }), chunk(3, 'c\nd')]
  expect(words(linesOf(chunks))).toEqual(['1 stdout a', '2 stderr warning', '3 stdout bc', '4 stdout d'])
})

test('an attempt that ended without a line feed does not run into the next', () => {
  const chunks = [chunk(1, 'one\ntwo'), chunk(2, 'one\n', { attempt: 2 })]
  const lines = linesOf(chunks)
  expect(lines.map(({ attempt, text }) => `${attempt} ${text}`)).toEqual(['1 one', '1 two', '2 one'])
  expect(findLine(lines, { line: 2, attempt: 2 })).toBe(2)
  expect(findLine(lines, { line: 2 })).toBe(1)
})

test('a colour lasts until it is switched off, on its own stream', () => {
  const chunks = [
    chunk(1, '\u001b[31mred\n'),
    chunk(2, 'plain\n', { stream: 'stderr' }),
    chunk(3, 'red too\u001b[0m\nplain\n'),
  ]
  expect(linesOf(chunks).map(({ style }) => style.colour)).toEqual([null, null, 'red', null])
})

/** A service that has these chunks, and says what it was asked. */
function service(chunks: Chunk[]) {
  const asked: object[] = []
  return {
    asked,
    chunks: async ({
      after = 0,
      before = Number.POSITIVE_INFINITY,
      limit,
    }: {
      after?: number
      before?: number
      limit: number
    }) => {
      asked.push({ after, before })
      const found = chunks.filter(({ seq }) => seq > after && seq < before)
      return before === Number.POSITIVE_INFINITY ? found.slice(0, limit) : found.slice(-limit)
    },
    linesBefore: async (seq: number) =>
      chunks.filter(one => one.seq < seq).reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
  }
}
const many = (count: number): Chunk[] => Array.from({ length: count }, (_, at) => chunk(at + 1, `line ${at + 1}\n`))
/** Resolves when the log has changed so that this holds. */
const until = (source: LogSource, holds: () => boolean): Promise<void> =>
  new Promise(resolve => {
    const look = (): void => void (holds() && resolve())
    source.subscribe(look)
    look()
  })

test('a long log opens at its end with true numbers, and loads what came before', async () => {
  const source = new LogSource(service(many(1_000)))
  source.more()
  await until(source, () => source.now().lines !== null)
  expect(source.now().before).toBe(940)
  expect(source.now().lines![0]).toMatchObject({ number: 941, text: 'line 941' })
  source.earlier()
  await until(source, () => source.now().before === 740)
  expect(source.now().lines).toHaveLength(260)
  // Up to an addressed line.
  source.earlier(4)
  await until(source, () => source.now().before === 0)
  expect(source.now().lines!.every(({ number, text }) => text === `line ${number}`)).toBe(true)
  expect(source.now().lines).toHaveLength(1_000)
})

test('what is printed meanwhile is added once, however often it is announced', async () => {
  const chunks = many(3)
  const asked = service(chunks)
  const source = new LogSource(asked)
  source.more()
  await until(source, () => source.now().lines !== null)
  chunks.push(chunk(4, 'line 4\n'))
  for (let times = 0; times < 5; times++) source.more()
  await until(source, () => source.now().lines!.length === 4)
  expect(source.now().lines!.map(({ text }) => text)).toEqual(['line 1', 'line 2', 'line 3', 'line 4'])
  expect(asked.asked.length).toBeLessThanOrEqual(3)
})

test('a service that is away is asked again', async () => {
  const real = service(many(2))
  let isAway = true
  const source = new LogSource({
    ...real,
    chunks: async range => {
      if (isAway) throw new Error('away')
      return await real.chunks(range)
    },
  })
  source.more()
  isAway = false
  source.more()
  source.more()
  await until(source, () => source.now().lines?.length === 2)
})
