// Compares a draft with the repository without a model: do its files, names and scripts exist, do scopes include the named files,
// and do its checks fail today? Faults go back to the model. They are guesses from wording, so a draft that keeps them is still
// shown, with the faults as risks.

import { inScope } from '../../../safety/scope.ts'
import { shellLine } from '../end-checks.ts'
import { readGoal } from '../goal.ts'
import { holdsWord, isSearched } from '../kinds/word-search.ts'
import {
  type CheckedToday,
  failingToday,
  type Looked,
  lookedLine,
  type RepositoryView,
  type RunCheck,
} from '../planner.ts'
import { objectIn } from '../toolchain/evidence.ts'
import type { Check, Draft, DraftTask } from './answer-schemas.ts'
import { CHANGING, missingPrograms } from './draft-faults.ts'

export interface SelfChecked {
  readonly faults: readonly string[]
  /** Today's results of the checks of changing tasks. */
  readonly today: readonly TodayResult[]
}

export interface TodayResult {
  readonly task: string
  readonly script: string
  readonly result: CheckedToday
}

export interface SelfCheckInput {
  readonly goal: string
  readonly repository: RepositoryView
  readonly runCheck: RunCheck
  readonly guards: readonly string[]
  readonly looked: Looked | undefined
}

const FAULTS_MAX = 12

export async function selfCheck(draft: Draft, input: SelfCheckInput): Promise<SelfChecked> {
  const { goal, repository, runCheck, guards, looked } = input
  const paths = (await repository.files()).map(({ path }) => path)
  const added = draft.tasks.flatMap(task => task.new ?? [])
  const known = { goal, paths, added: new Set(added) }
  const today = await checkedToday(draft, runCheck)
  const faults = [
    ...(await missingPrograms(draft, name => repository.findProgram(name))),
    ...draft.tasks.flatMap(task => [...fileFaults(task, known)]),
    ...(await missingScripts(draft, known, repository)),
    ...(await missingSymbols(draft, known, repository)),
    ...passingTasks(draft, today, guards),
    ...redForever(draft, looked),
  ]
  return { faults: faults.slice(0, FAULTS_MAX), today }
}

interface Known {
  readonly goal: string
  readonly paths: readonly string[]
  /** Files and names that the draft introduces. */
  readonly added: ReadonlySet<string>
}

const NEW_HINT = 'correct it, or list it in `new` of the task that adds it'

const isChanging = ({ kind, write = [] }: DraftTask): boolean => CHANGING.has(kind) || write.length > 0

function* fileFaults(task: DraftTask, { goal, paths, added }: Known): Iterable<string> {
  const { id, how, write = [], reads = [], instruction = '', accept = [] } = task
  const isThere = (path: string): boolean =>
    paths.some(one => one === path || one.endsWith(`/${path}`) || one.startsWith(`${path}/`))
  const isNew = (path: string): boolean => goal.includes(path) || [...added].some(one => isSameFile(one, path))
  if (write.some(pattern => /^(\.\/)?\*\*?(\/\*\*?)?$/.test(pattern)))
    yield `'${id}' may write everything: name the files or folders in \`write\``
  for (const pattern of write) {
    const isGlob = /[*?[{]/.test(pattern)
    const folder = pattern.slice(0, pattern.search(/[*?[{]/)).replace(/\/[^/]*$/, '')
    const isKnown = isGlob
      ? folder === '' || isThere(folder) || [...added].some(path => inScope([pattern], path))
      : isThere(pattern.replace(/\/$/, '')) || isNew(pattern)
    if (!isKnown) yield `'${id}' may write '${pattern}', which is not in the repository: ${NEW_HINT}`
  }
  const commands = accept.flatMap(({ command = [] }) => command)
  const named = filesIn([task.title, instruction, ...accept.map(({ text }) => text), ...commands].join('\n'))
  for (const file of named)
    if (!isThere(file) && !isNew(file)) yield `'${id}' names '${file}', which is not in the repository: ${NEW_HINT}`
  if (how !== 'work' || !isChanging(task)) return
  const wanted = [...filesIn(instruction).filter(isThere), ...(task.new ?? []).filter(one => filesIn(one).length > 0)]
  for (const file of new Set(wanted)) {
    const matches = paths.filter(path => isSameFile(path, file))
    const isCovered = (matches.length > 0 ? matches : [file]).some(path => inScope(write, path))
    if (!isCovered && !reads.some(one => isSameFile(one, file)))
      yield `'${id}' names '${file}' and may not write it: add it to \`write\`, or to \`reads\` when it is only read`
  }
}

const isSameFile = (path: string, other: string): boolean =>
  path === other || path.endsWith(`/${other}`) || other.endsWith(`/${path}`)

/** `Node.js` is not a file; a name without a folder only counts in backticks. */
const filesIn = (text: string): readonly string[] =>
  readGoal(text).files.filter(file => !/^[A-Z]\w*\.js$/.test(file) && !/^(\.\.|~|\/)/.test(file))

/** Scripts in the top-level `package.json` and `Makefile` only. */
async function missingScripts(draft: Draft, { paths, added }: Known, repository: RepositoryView) {
  const read = async (path: string) => (paths.includes(path) ? ((await repository.read([path]))[0] ?? null) : null)
  const [manifest, makefile] = [await read('package.json'), await read('Makefile')]
  const scripts = Object.keys((objectIn(manifest).scripts ?? {}) as object)
  return commandsOf(draft).flatMap(([where, argv]) => {
    const [program, word, name] = argv
    const line = argv.join(' ')
    if (manifest !== null && /^(npm|pnpm|yarn|bun)$/.test(program ?? '') && word === 'run' && name !== undefined)
      return name.startsWith('-') || scripts.includes(name) || added.has(name)
        ? []
        : [`${where}: '${line}' runs the script '${name}', which package.json does not have: ${NEW_HINT}`]
    if (makefile !== null && program === 'make' && argv.length === 2 && /^[\w-]+$/.test(word!))
      return /^-?include\b/m.test(makefile) ||
        new RegExp(`^(${word}|[^\\s#]*%[^\\s]*)\\s*:|^[^\\t#:]*\\b${word}\\b[^:]*:`, 'm').test(makefile) ||
        added.has(word!)
        ? []
        : [`${where}: '${line}' builds the target '${word}', which the Makefile does not have: ${NEW_HINT}`]
    return []
  })
}

function commandsOf({
  tasks,
  done,
}: Pick<Draft, 'tasks' | 'done'>): readonly (readonly [where: string, argv: readonly string[]])[] {
  const checks = (where: string, all: readonly Check[]) => all.map(({ command = [] }) => [where, command] as const)
  const own = tasks.flatMap(({ id, how, command = [], accept = [] }) => [
    ...(how === 'command' ? [[id, command] as const] : []),
    ...checks(id, accept),
  ])
  return [...own, ...checks('done', done)]
}

const SEARCHED_MAX = 5_000
const SEARCHED_BYTES_MAX = 500_000
const READ_AT_ONCE = 100

/** Identifiers that no file contains. Parts count: `Array.from` is known if `Array` is. */
async function missingSymbols(draft: Draft, { goal, added }: Known, repository: RepositoryView) {
  const isNew = (name: string): boolean => goal.includes(name) || [...added].some(one => holdsWord(one, name))
  const left = new Map<string, string>()
  for (const { id, how, title, instruction = '' } of draft.tasks)
    for (const name of how === 'work' ? symbolsIn(`${title}\n${instruction}`) : [])
      if (!isNew(name) && !left.has(name)) left.set(name, id)
  const files = (await repository.files()).filter(({ path, bytes }) => isSearched(path) && bytes <= SEARCHED_BYTES_MAX)
  const searched = files.slice(0, SEARCHED_MAX).map(({ path }) => path)
  for (let at = 0; at < searched.length && left.size > 0; at += READ_AT_ONCE)
    for (const text of await repository.read(searched.slice(at, at + READ_AT_ONCE)))
      for (const name of left.keys())
        if (name.split(/\.|::|#/).some(part => holdsWord(text ?? '', part))) left.delete(name)
  // Files that could not be searched may contain them.
  if (files.length > SEARCHED_MAX) return []
  return [...left].map(([name, id]) => `'${id}' names '${name}', which no file of the repository holds: ${NEW_HINT}`)
}

function symbolsIn(text: string): readonly string[] {
  const { symbols, quoted } = readGoal(text)
  return symbols.filter(
    name =>
      /^[A-Za-z_$][\w$]*([.#]|::|$)/.test(name) &&
      // `GitHub` is a word; `formatRow`, `format_row` and text in backticks are identifiers.
      (/^[a-z]+[A-Z]|_/.test(name) || quoted.some(one => one.startsWith(name))),
  )
}

const CHECKS_MAX = 20

/** Runs each distinct command once, in sequence. */
async function checkedToday({ tasks }: Draft, runCheck: RunCheck): Promise<readonly TodayResult[]> {
  const results = new Map<string, CheckedToday>()
  const today: TodayResult[] = []
  for (const task of tasks.filter(isChanging))
    for (const { command = [] } of task.accept ?? []) {
      if (command.length === 0) continue
      const script = shellLine(command)
      const known = results.get(script)
      const result = known ?? (results.size < CHECKS_MAX ? await runCheck(script) : 'unknown')
      results.set(script, result)
      today.push({ task: task.id, script, result })
    }
  return today
}

/** Tasks that would be accepted without any work, because their checks pass today or only require that tests do not get worse. */
const passingTasks = ({ tasks }: Draft, today: readonly TodayResult[], guards: readonly string[]): readonly string[] =>
  tasks.flatMap(({ id }) => {
    const own = today.filter(({ task }) => task === id)
    const isProof = ({ script, result }: TodayResult): boolean =>
      result === 'unknown' || (result === 'fails' && !guards.includes(script))
    return own.length === 0 || own.some(isProof)
      ? []
      : [
          `'${id}': every check passes today, before the work${own.some(({ result }) => result === 'fails') ? ', or only asks that the tests do not get worse' : ''}: add one that fails until it is done`,
        ]
  })

/** Lint failures in files outside every scope can never be fixed. */
function redForever({ tasks, done }: Draft, looked: Looked | undefined): readonly string[] {
  const scope = tasks.flatMap(({ write = [] }) => write)
  const red = failingToday(looked).filter(
    ({ purpose, places }) => purpose === 'lint' && !places.some(({ file }) => inScope(scope, file)),
  )
  return commandsOf({ tasks, done }).flatMap(([where, argv]) => {
    const found = red.find(one => lookedLine(one) === shellLine(argv))
    return found === undefined
      ? []
      : [
          `${where}: '${shellLine(argv)}' fails today in ${found.places[0]!.file}, which no task may write: leave it out, or let a task mend that`,
        ]
  })
}
