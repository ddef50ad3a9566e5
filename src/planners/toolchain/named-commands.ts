// Which commands a goal about commands means ("the lint job fails", "CI is red"), and which files are changed to make them succeed.

import { shellQuoted } from '../../domain/plan-rules/shell-words.ts'
import type { GoalWords } from '../goal.ts'
import type { CiCommand, FoundCommand, FoundCommands } from '../planner.ts'
import { languageOf, roleOf } from '../ranking/file-role.ts'
import { type CommandPurpose, purposeOf } from './command-purpose.ts'

type Named = FoundCommand & Partial<Pick<CiCommand, 'env' | 'in' | 'job'>>

const COMMANDS_MAX = 12

/** Words by which a goal means one purpose; a goal with none of them means everything the CI runs. */
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
  const said = wanted.toLowerCase()
  // `the docs-check job`: the name of a job that the goal uses, unless it is only the word of a purpose.
  const jobs = ci.filter(({ job }) => namesOf(job).some(name => says(said, `${name} (job|check|step|workflow|stage)`)))
  const tools = ci.filter(({ run }) =>
    run.some(word => /^[a-z][\w-]{3,}$/.test(word) && TOOL.test(word) && says(said, word)),
  )
  // A job that runs none of these: others prove nothing about it.
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

/** `lint (Ensure code quality)` is called by either name. */
const namesOf = (job: string): readonly string[] =>
  [job.replace(/ \(.*/, ''), / \((.*)\)$/.exec(job)?.[1] ?? '']
    .filter(name => name.length > 1)
    .map(name => name.toLowerCase().replace(/[^\w\s-]/g, '.'))

/** Those of the CI that can be started here; else what the project calls so; a language without type checks has its build. */
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

/** For a shell, in its folder and with its variables. */
export function commandLine({ run, env = {}, in: folder }: Pick<Named, 'run' | 'env' | 'in'>): string {
  const set = Object.entries(env).map(([name, value]) => `${name}=${shellQuoted(value)}`)
  const line = [...set, ...run.map(shellQuoted)].join(' ')
  return folder === undefined ? line : `(cd ${shellQuoted(folder)} && ${line})`
}

const FOLDERS_MAX = 12
const SINGLE_MAX = 30

export interface CommandScope {
  readonly commands: readonly FoundCommand[]
  readonly languages: readonly string[]
  readonly paths: readonly string[]
  /** Scripts that the commands run, and files that somebody wants left alone. */
  readonly not: readonly string[]
}

/**
 * The sources and tests in the languages that the commands look at, by folder and ending: which of them fail is known when they have
 * run. The settings of the tools have other endings, or are left out by name.
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
  const groups = new Map<string, string[]>()
  for (const path of files) {
    const end = `*.${path.split('.').at(-1)}`
    const pattern = path.includes('/') ? `${path.split('/')[0]}/**/${end}` : end
    groups.set(pattern, [...(groups.get(pattern) ?? []), path])
  }
  const isOpen = (path: string): boolean => !closed.has(path) && !SETTINGS.test(path)
  // Where something must be left alone, its neighbours are named one by one.
  return [...groups]
    .map(([pattern, inside]) => ({ inside, open: inside.filter(isOpen), pattern }))
    .sort(
      (a, b) =>
        Number(b.open.length === b.inside.length) - Number(a.open.length === a.inside.length) ||
        b.inside.length - a.inside.length,
    )
    .flatMap(({ pattern, inside, open }) => (open.length === inside.length ? [pattern] : open.slice(0, SINGLE_MAX)))
    .slice(0, FOLDERS_MAX + SINGLE_MAX)
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
