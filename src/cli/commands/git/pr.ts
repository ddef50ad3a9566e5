// `planfold summary PLAN --form pr`: title and body of a pull request for what the plan did. Printed, or written to a file; only with --create,
// and only where `gh` is present, is one made of it. Nothing is ever pushed from here.

import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PullRequest } from '../../../engine/engine.ts'
import { findProgram, foreignFolders, helperPath } from '../../../safety/find-program.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, answerDocument, printDocument, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { CliError, EXIT } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'

export interface PrOptions {
  readonly out?: string
  readonly create?: boolean
  readonly base?: string
}

const GH_TIMEOUT_MS = 120_000
const SAID_MAX = 4_000

export async function pr(context: Context, word: string | undefined, options: PrOptions): Promise<number> {
  return await withState(context, { create: false }, async ({ engine, root }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const request = await engine.ask({ type: 'pullRequest', plan })
    if (request === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const { branch, lacks } = request
    const text = `${request.title}\n\n${request.body}`
    const written = options.out === undefined ? null : resolve(context.cwd, options.out)
    if (written !== null) await writeFile(written, text)
    if (options.create !== true) {
      answerDocument(context, { plan, name, ...request, written, url: null }, () =>
        written === null ? shown(text) : `written to ${written}`,
      )
      if (lacks !== null) printNote(context, `without commits and files: ${lacks}`)
      return EXIT.done
    }
    if (branch === null || lacks !== null)
      throw new CliError(EXIT.refused, 'no-branch', `there is nothing to ask for: ${lacks ?? 'no branch'}`, NO_BRANCH)
    const said = await createWithGh(context, root, { ...request, branch }, options)
    if (said === 'missing') throw noGh(context, request, branch, text)
    if (said.exit !== 0) {
      const hint = `push the branch first if you have not: git push -u origin ${branch}`
      throw new CliError(EXIT.refused, 'gh', `gh pr create ended with exit ${said.exit}: ${said.stderr.trim()}`, hint)
    }
    const url = said.stdout.trim().split('\n').at(-1) ?? ''
    answer(context, { plan, name, ...request, written, url }, () => escapeForTerminal(url))
    return EXIT.done
  })
}

const NO_BRANCH = 'let the plan commit: git: {commits: task} in the document, or a task with git: {commit: message}'

/** The text is what they came for, so it is given all the same. */
function noGh(context: Context, { title, body }: PullRequest, branch: string, text: string): CliError {
  if (!context.settings.json) printDocument(context, shown(text))
  const hint = `install gh, or push (git push -u origin ${branch}) and paste the text above where you open pull requests`
  return new CliError(EXIT.refused, 'no-gh', 'there is no gh program on the PATH, so nothing was created', hint, [], {
    title,
    body,
    branch,
  })
}

/** Between characters, so that nothing becomes a link or a mention; it has no width and is copied with the text. */
const WORD_JOINER = '\u2060'

/** Line by line: the text was written by many, and may hold anything. */
const shown = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line =>
      line
        .split(WORD_JOINER)
        .map(part => escapeForTerminal(part))
        .join(WORD_JOINER),
    )

interface Said {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

/** With an argument vector and the body on standard input. `--head` keeps gh from pushing or forking by itself. */
async function createWithGh(
  context: Context,
  cwd: string,
  { title, body, branch }: PullRequest & { readonly branch: string },
  { base }: PrOptions,
): Promise<Said | 'missing'> {
  const args = ['pr', 'create', `--title=${title}`, '--body-file=-', `--head=${branch}`]
  // gh starts git: neither of them may be a program that lies in the repository.
  const outside = foreignFolders(cwd, context.environment.HOME)
  const PATH = helperPath(context.environment.PATH, outside)
  const gh = findProgram('gh', { path: PATH, outside, usual: 'no' })
  if (gh === null) return 'missing'
  const quiet = quietGit(context.environment)
  const env = {
    ...context.environment,
    ...quiet,
    PATH,
    GH_PROMPT_DISABLED: '1',
    GIT_TERMINAL_PROMPT: '0',
    NO_COLOR: '1',
  }
  return await new Promise((settle, fail) => {
    const child = spawn(gh, base === undefined ? args : [...args, `--base=${base}`], {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: GH_TIMEOUT_MS,
    })
    const heard = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => {
        if (heard[stream].length < SAID_MAX) heard[stream] += chunk.toString('utf8')
      })
    }
    child.stdin.on('error', () => {})
    child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? settle('missing') : fail(error)))
    child.on('close', code => settle({ exit: code ?? 1, ...heard }))
    child.stdin.end(body)
  })
}

/** gh asks git for the status: nothing that the repository names may run by that. */
const QUIET = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
] as const

function quietGit(environment: Context['environment']): { readonly [name: string]: string } {
  const count = Number(environment.GIT_CONFIG_COUNT ?? 0)
  const from = Number.isSafeInteger(count) && count >= 0 ? count : 0
  const settings = QUIET.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${from + at}`, key],
    [`GIT_CONFIG_VALUE_${from + at}`, value],
  ])
  return { ...Object.fromEntries(settings), GIT_CONFIG_COUNT: String(from + QUIET.length) }
}
