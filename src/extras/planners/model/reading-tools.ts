// Read-only tools for a model that drafts: list, read, grep. Limited to files that are tracked, or new and not ignored, and that
// do not look like secrets, and to a number of calls and characters per drafting. Results are kept for later questions.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanningTool, RepositoryView } from '../planner.ts'
import { PRIVATE } from '../ranking/passages.ts'

const CALLS_MAX = 6
const CHARACTERS_MAX = 40_000
const ANSWER_MAX = 12_000
const LINES_MAX = 200
const LINE_MAX = 200
const HITS_MAX = 40
const PATHS_MAX = 200
const SEARCHED_MAX = 5_000

export interface Reading {
  readonly tools: readonly PlanningTool[]
  /** Everything read so far, with its query. */
  readonly seen: readonly string[]
}

/** `mark` wraps file contents as untrusted data. */
export function readingTools(repository: RepositoryView, mark: (lines: readonly string[]) => string): Reading {
  const seen: string[] = []
  let left = CHARACTERS_MAX
  let calls = 0
  const tool = (
    name: string,
    description: string,
    input: { readonly [name: string]: JsonObject },
    required: readonly string[],
    work: (args: { readonly [name: string]: Json }) => Promise<readonly string[]>,
  ): PlanningTool => ({
    name,
    description,
    input: { type: 'object', properties: input, required: [...required], additionalProperties: false },
    run: async input => {
      calls++
      if (calls > CALLS_MAX || left <= 0) return 'nothing more can be read: answer now with what you know'
      const found = (await work(input as JsonObject)).join('\n').slice(0, Math.min(ANSWER_MAX, left))
      left -= found.length
      const answer = mark([found === '' ? '(nothing)' : found])
      seen.push(`${name} ${JSON.stringify(input)}\n${answer}`)
      return answer
    },
  })
  const paths = async (folder: Json = ''): Promise<readonly string[]> => {
    const within = String(folder).replace(/^\.?\/|\/+$/g, '')
    const all = (await repository.files()).map(({ path }) => path).filter(path => !PRIVATE.test(path))
    return within === '' || within === '.' ? all : all.filter(path => path.startsWith(`${within}/`) || path === within)
  }
  const text = (description: string): JsonObject => ({ type: 'string', description })
  return {
    seen,
    tools: [
      tool(
        'list',
        'lists files of the repository',
        { folder: text('all of it when absent') },
        [],
        async ({ folder }) => {
          const all = await paths(folder)
          const more = all.length > PATHS_MAX ? [`… and ${all.length - PATHS_MAX} more: name a folder`] : []
          return [...all.slice(0, PATHS_MAX), ...more]
        },
      ),
      tool(
        'read',
        `reads a file, at most ${LINES_MAX} lines at once`,
        { path: text('as `list` tells it'), from: { type: 'integer', description: 'the first line, from 1' } },
        ['path'],
        async ({ path, from = 1 }) => {
          const known = (await paths()).includes(String(path))
          const [content] = known ? await repository.read([String(path)]) : []
          if (content == null) return [`${String(path).slice(0, 200)} is not a file that can be read here`]
          const first = Math.max(1, Number(from))
          const lines = content.split('\n').slice(first - 1, first - 1 + LINES_MAX)
          return lines.map((line, at) => `${first + at}| ${line.slice(0, LINE_MAX)}`)
        },
      ),
      tool(
        'grep',
        'finds the lines that hold a text, exactly as it is written',
        { text: text('what to look for'), folder: text('all of the repository when absent') },
        ['text'],
        async ({ text: wanted, folder }) => {
          const searched = (await paths(folder)).slice(0, SEARCHED_MAX)
          const hits: string[] = []
          for (const [at, content] of (await repository.read(searched)).entries())
            for (const [line, found] of (content ?? '').split('\n').entries())
              if (hits.length < HITS_MAX && String(wanted) !== '' && found.includes(String(wanted)))
                hits.push(`${searched[at]}:${line + 1}: ${found.trim().slice(0, LINE_MAX)}`)
          return hits
        },
      ),
    ],
  }
}
