// Real goals with known answers, from the history of any repository: a commit that changed one or two source files and a test. The goal
// is the first line its author wrote, the state is its parent. Whatever is read here is read at the parent, so nothing of the answer
// is known; of commits with the same first line only the oldest is taken, because the others have the answer in their past.
// Needs the extras: planners

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { RepositoryView } from '../src/extras/planners/planner.ts'
import { FILE_MAX_BYTES } from '../src/extras/planners/ranking/rank-files.ts'

export interface Case {
  readonly parent: string
  readonly goal: string
  /** The sources that the commit changed. */
  readonly files: readonly string[]
  readonly tests?: readonly string[]
  /** `fix`, `feat`, … where the first line began so. */
  readonly type?: string
}

const SOURCE = /\.([cm]?[jt]sx?|vue|svelte|py|go|rs|rb|java|kt|php|cs|c|h|cc|cpp|hpp|swift|exs?|scala)$/
const TEST =
  /(^|\/)(tests?|__tests__|specs?|testdata|fixtures?)\/|[._-](test|spec)\.|_test\.|(^|\/)test_|test-d\.|conftest|(Test|Tests|Spec)\.(java|kt|php|cs|scala)$/i
const NOT =
  /^(bump|release|merge|revert|docs?\b|chore|ci\b|style|test|build|typo|lint|update dep|meta|v?\d|prepare)|changelog|readme|dependabot|typo/i
const TYPE = /^(fix|feat|perf|refactor)(\([^)]*\))?!?:\s*/i

export const isSource = (path: string): boolean =>
  SOURCE.test(path) && !TEST.test(path) && !/\.d\.ts$|\.min\./.test(path)

export function readCases(file: string): readonly Case[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Case)
}

export function mineCases(dir: string, limit: number): readonly Case[] {
  const log = gitIn(dir)('log', '--no-merges', '-n', '4000', '--format=%x00%P%x01%s', '--name-only', '--no-renames')
  const found = new Map<string, Case>()
  for (const block of log.toString().split('\0').slice(1)) {
    const [head = '', ...names] = block.split('\n').filter(line => line !== '')
    const [parents = '', subject = ''] = head.split('\x01')
    if (parents === '' || NOT.test(subject)) continue
    const files = names.filter(isSource)
    const tests = names.filter(name => TEST.test(name))
    const goal = subject
      .replace(/\s*\(#\d+\)\s*$/, '')
      .replace(TYPE, '')
      .trim()
    if (files.length < 1 || files.length > 2 || tests.length < 1 || goal.split(/\s+/).length < 4) continue
    const type = TYPE.exec(subject)?.[1]?.toLowerCase()
    // Newest first, so the oldest stays.
    found.delete(goal)
    found.set(goal, { parent: parents.split(' ')[0]!, goal, files, tests, ...(type === undefined ? {} : { type }) })
  }
  // Spread over the history, so that no short stretch decides.
  const all = [...found.values()]
  const step = Math.max(1, Math.floor(all.length / limit))
  return all.filter((_, index) => index % step === 0).slice(0, limit)
}

/** A commit of a repository. Programs are taken to be installed: only the choice of the command is judged here. */
export function viewOf(dir: string, commit: string): RepositoryView {
  const git = gitIn(dir)
  const entries = git('ls-tree', '-r', '-l', '-z', commit)
    .toString()
    .split('\0')
    .filter(line => line !== '')
    .map(line => {
      const [about, path] = line.split('\t') as [string, string]
      const [, type, id, bytes] = about.split(/\s+/) as [string, string, string, string]
      return { path, type, id, bytes: Number(bytes) }
    })
    .filter(({ type }) => type === 'blob')
  const ids = new Map(entries.map(({ path, id }) => [path, id]))
  return {
    files: async () => entries,
    read: async paths => {
      const asked = paths.map(path => `${ids.get(path) ?? '0'.repeat(40)}\n`).join('')
      const output = execFileSync('git', ['--git-dir', dir, 'cat-file', '--batch'], {
        maxBuffer: 1 << 30,
        input: asked,
      })
      let at = 0
      return paths.map(() => {
        const end = output.indexOf(10, at)
        const [, type, bytes] = output.subarray(at, end).toString().split(' ')
        const size = type === 'missing' ? -1 : Number(bytes)
        at = end + 1 + size + 1
        return size < 0 ? null : output.subarray(end + 1, end + 1 + Math.min(size, FILE_MAX_BYTES)).toString()
      })
    },
    history: async () =>
      git('log', '--no-merges', '-n', '2000', '--format=%x00%B%x01', '--name-only', commit)
        .toString()
        .split('\0')
        .slice(1)
        .map(block => {
          const [message = '', files = ''] = block.split('\x01')
          return { message: message.slice(0, 1_000), files: files.split('\n').filter(name => name !== '') }
        }),
    findProgram: async name => name,
    pythonPackages: async () => null,
    changedAt: async paths => paths.map(() => 0),
    state: async () => null,
  }
}

const gitIn =
  (dir: string) =>
  (...args: readonly string[]): Buffer =>
    execFileSync('git', ['--git-dir', dir, ...args], { maxBuffer: 1 << 30 })

const STOP_WORDS = new Set(
  'the a an to of in on for and or is are be with when if it its not do does should from by as at this that use using fix add make allow support handle into than'.split(
    ' ',
  ),
)

const wordsOf = (text: string): readonly string[] =>
  (text.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? [])
    .flatMap(word => [word, ...word.split(/_|(?<=[a-z0-9])(?=[A-Z])/)])
    .map(word => word.toLowerCase())
    .filter(word => word.length > 1)

/** What has to be beaten: BM25 over paths and contents, nothing else. */
export async function bm25(view: RepositoryView, goal: string): Promise<readonly string[]> {
  const paths = (await view.files()).map(({ path }) => path).filter(isSource)
  const texts = await view.read(paths)
  const query = [...new Set(wordsOf(goal).filter(word => !STOP_WORDS.has(word)))]
  const documents = paths.map((path, index) => {
    const words = [...wordsOf(texts[index] ?? ''), ...wordsOf(path), ...wordsOf(path), ...wordsOf(path)]
    const counts = new Map(query.map(word => [word, 0]))
    for (const word of words) if (counts.has(word)) counts.set(word, counts.get(word)! + 1)
    return { path, counts, length: words.length }
  })
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length)
  const idf = query.map(word => {
    const holding = documents.filter(({ counts }) => counts.get(word)! > 0).length
    return Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5))
  })
  return documents
    .map(({ path, counts, length }) => {
      const score = (word: string, index: number): number => {
        const count = counts.get(word)!
        return (idf[index]! * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / mean))
      }
      return { path, score: query.reduce((sum, word, index) => sum + score(word, index), 0) }
    })
    .sort((a, b) => b.score - a.score)
    .map(({ path }) => path)
}
