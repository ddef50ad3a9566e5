// Which commands a goal refers to ("the lint job fails", "CI is red"), and the scope for making them pass.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { GoalWords } from '../goal.ts'
import type { CiCommand, FoundCommand, FoundCommands } from '../planner.ts'
import { languageOf, roleOf } from '../ranking/file-role.ts'
import { type CommandPurpose, purposeOf } from './command-purpose.ts'

type Named = FoundCommand & Partial<Pick<CiCommand, 'env' | 'in' | 'job'>>

const COMMANDS_MAX = 12

/** Words for each purpose; a goal with none of them refers to all CI commands. */
const WORDS: readonly (readonly [CommandPurpose, RegExp])[] = [
  ['types', /\b(type[- ]?(check\w*|errors?|hints?)|typings?|types|typescript|tsc|mypy|pyright)\b/i],
  [
    'lint',
    /\b(lint\w*|eslint|biome|prettier|ruff|flake8|pylint|rubocop|clippy|golangci\S*|shellcheck|stylelint|format(ting|ter)?|style checks?|vet|warnings?)\b/i,
  ],
  ['build', /\b(builds?|compil\w+|bundl\w+)\b/i],
  ['test', /\b(tests?|specs?|suite)\b/i],
]

export function namedCommands({ wanted }: GoalWords, commands: FoundCommands): readonly Named[] {
  const { ci } = commands
  const goalText = wanted.toLowerCase()
  // `the docs-check job`: a job name, unless it is just the word for a purpose.
  const jobs = ci.filter(({ job }) =>
    namesOf(job).some(name => says(goalText, `${name} (job|check|step|workflow|stage)`)),
  )
  const tools = ci.filter(({ run }) =>
    run.some(word => /^[a-z][\w-]{3,}$/.test(word) && TOOL.test(word) && says(goalText, word)),
  )
  // The job runs no known command, and others prove nothing about it.
  const job = /\b([\w-]+) (?:job|workflow)\b/i.exec(wanted)?.[1]
  if (jobs.length === 0 && tools.length === 0 && job !== undefined && !ANY_JOB.test(job)) return []
  const purposes = WORDS.filter(([, pattern]) => pattern.test(wanted)).map(([purpose]) => purpose)
  const found =
    jobs.length > 0
      ? jobs
      : tools.length > 0
        ? tools
        : purposes.length > 0
          ? purposes.flatMap(purpose => ofPurpose(commands, purpose))
          : ci.length > 0
            ? ci
            : [commands.lint, commands.types, commands.test, commands.build].flatMap(one => one ?? [])
  return withoutRepeats(found).slice(0, COMMANDS_MAX)
}

const ANY_JOB =
  /^(?:ci|the|a|an|our|my|this|that|every|each|all|any|one|some|of|which|failing|failed|broken|red|github|actions|main|pull|cd|lint\w*|tests?|testing|types?|typing|typecheck|build\w*|format\w*|check\w*|style|unit)$/i
const TOOL =
  /lint|eslint|biome|prettier|ruff|flake8|black|rubocop|clippy|mypy|pyright|tsc|vet|shellcheck|stylelint|phpstan|psalm/

const says = (text: string, pattern: string): boolean => new RegExp(`(^|[^\\w-])${pattern}([^\\w-]|$)`).test(text)

/** `lint (Ensure code quality)` has both names. */
const namesOf = (job: string): readonly string[] =>
  [job.replace(/ \(.*/, ''), / \((.*)\)$/.exec(job)?.[1] ?? '']
    .filter(name => name.length > 1)
    .map(name => name.toLowerCase().replace(/[^\w\s-]/g, '.'))

/** CI commands that can start here, else the project's own; a language without type checks uses its build. */
function ofPurpose(commands: FoundCommands, purpose: CommandPurpose): readonly Named[] {
  const ci = commands.ci.filter(one => one.purpose === purpose)
  const own = commands[purpose]
  const here = ci.filter(({ exists }) => exists)
  if (here.length > 0) return here
  if (own?.exists === true) return [own]
  if (ci.length > 0 || own !== null) return ci.length > 0 ? ci : [own!]
  return purpose === 'types' ? ofPurpose(commands, 'build') : []
}

function withoutRepeats(all: readonly Named[]): readonly Named[] {
  const seen = new Set<string>()
  return all.filter(one => {
    const key = commandLine(one)
    return !seen.has(key) && seen.add(key)
  })
}

/** A shell line, with folder and variables. */
export function commandLine({ run, env = {}, in: folder }: Pick<Named, 'run' | 'env' | 'in'>): string {
  const set = Object.entries(env).map(([name, value]) => `${name}=${shellQuoted(value)}`)
  const line = [...set, ...run.map(shellQuoted)].join(' ')
  return folder === undefined ? line : `(cd ${shellQuoted(folder)} && ${line})`
}

const ENTRIES_MAX = 60

export interface CommandScope {
  readonly commands: readonly FoundCommand[]
  readonly languages: readonly string[]
  readonly paths: readonly string[]
  /** The commands' own scripts, and protected files. */
  readonly not: readonly string[]
}

/**
 * Sources and tests in the commands' languages, by folder and extension: which of them fail is known only after running. Tool
 * configuration has other extensions or is excluded by name.
 */
export function commandScope({ commands, languages, paths, not }: CommandScope): readonly string[] {
  const closed = new Set(not)
  const families = commands.map(({ run }) => LANGUAGES.find(([pattern]) => pattern.test(run.join(' ')))?.[1])
  const looked = families.every(family => family !== undefined)
    ? new Set(families.flat())
    : new Set([...languages.slice(0, 1), ...families.flatMap(family => family ?? [])])
  const isTested = commands.some(({ run }) => purposeOf(run) !== 'build')
  const files = paths.filter(path => {
    const role = roleOf(path)
    return (role === 'source' || (role === 'test' && isTested)) && looked.has(languageOf(path) ?? '')
  })
  const isOpen = (path: string): boolean => !closed.has(path) && !SETTINGS.test(path)
  // Whole folders first, largest first.
  return byFolder('', files)
    .toSorted((a, b) => b.inside.length - a.inside.length)
    .flatMap(group => opened(group, isOpen))
    .toSorted((a, b) => Number(b.includes('**')) - Number(a.includes('**')))
    .slice(0, ENTRIES_MAX)
}

interface Group {
  /** With a trailing slash. */
  readonly folder: string
  /** Files of one extension: everything below the folder, or only its direct files. */
  readonly inside: readonly string[]
  readonly isDirect: boolean
}

function byFolder(above: string, files: readonly string[]): readonly Group[] {
  const groups = new Map<string, Group & { inside: string[] }>()
  for (const path of files) {
    const [next = '', ...rest] = path.slice(above.length).split('/')
    const isDirect = rest.length === 0
    const folder = isDirect ? above : `${above}${next}/`
    const key = `${folder} ${isDirect} ${path.split('.').at(-1)}`
    const group = groups.get(key) ?? { folder, inside: [], isDirect }
    group.inside.push(path)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** A whole folder; if something in it is protected, its subfolders and single files. */
function opened({ folder, inside, isDirect }: Group, isOpen: (path: string) => boolean): readonly string[] {
  const end = `*.${inside[0]!.split('.').at(-1)}`
  if (isDirect) return folder === '' && inside.every(isOpen) ? [end] : inside.filter(isOpen)
  return inside.every(isOpen)
    ? [`${folder}**/${end}`]
    : byFolder(folder, inside).flatMap(group => opened(group, isOpen))
}

const SETTINGS =
  /(^|\/)(\.[^/]+|[\w.-]*[\w][.-](config|conf|rc|setup)\.\w+|conftest\.py|noxfile\.py|setup\.py|Rakefile|build\.rs|gulpfile\.\w+)$/i

const SCRIPT = ['TypeScript', 'JavaScript', 'Vue', 'Svelte']
const LANGUAGES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\b(cargo|clippy|rustfmt)\b/, ['Rust']],
  [/\b(go|gofmt|golangci-lint|staticcheck|gotestsum)\b/, ['Go']],
  [/\b(ruff|flake8|pylint|black|isort|mypy|pyright|pytest|tox|nox|python3?|uv|poetry)\b/, ['Python']],
  [/\b(rubocop|rspec|rake|rails|bundle|standardrb)\b/, ['Ruby']],
  [/\b(phpunit|phpstan|psalm|phpcs|composer|php-cs-fixer)\b/, ['PHP']],
  [/\b(mvnw?|gradlew?)\b/, ['Java', 'Kotlin']],
  [/\b(shellcheck|shfmt|bats)\b/, ['Shell']],
  [/\b(npm|npx|pnpm|yarn|bunx?|node|deno|eslint|tsc|biome|prettier|vitest|jest|standard|xo)\b/, SCRIPT],
]
