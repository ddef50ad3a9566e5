// The purpose of a command, from its program or the name of its script or target. Commands that install, publish, deploy or
// rewrite files have none, so they never become a check.

export type CommandPurpose = 'test' | 'lint' | 'types' | 'build'

/** `scripts`: the scripts of `package.json`. */
export function purposeOf(
  argv: readonly string[],
  scripts: { readonly [name: string]: string } = {},
): CommandPurpose | null {
  const words = withoutStarter(argv)
  const [program = '', ...rest] = words.map((word, at) => (at === 0 ? (word.split('/').at(-1) ?? '') : word))
  if (program === '' || rest.some(word => REWRITES.test(word)) || LOOKS.test(rest.join(' '))) return null
  const line = [program, ...rest.filter(word => !word.startsWith('+'))].join(' ')
  const known = TOOLS.find(([pattern]) => pattern.test(line))
  if (known !== undefined) return known[1]
  const isOwn = /^(\.?\/?)?(\.?[\w-]+\/)+[\w.-]+$|^\.\//.test(words[0] ?? '')
  if (isOwn) return purposeOfName(program.replace(/\.(sh|bash|py|js|mjs|ts|rb)$/, ''))
  if (program === 'sh' || program === 'bash') return rest.length === 1 ? purposeOf([`./${rest[0]}`]) : null
  if (!RUNNERS.test(program)) return null
  for (const word of rest) {
    if (word.startsWith('-') || word === 'run' || word === 'run-script') continue
    if (NEVER.test(word) || BUILT_IN.has(word)) return null
    const runs = scripts[word]?.split(/\s+/) ?? []
    if (runs.some(one => REWRITES.test(one))) return null
    const purpose = purposeOfName(word) ?? purposeOf(runs)
    if (purpose !== null) return purpose
  }
  return null
}

/** By the name of a script, target, session or job. */
export function purposeOfName(name: string): CommandPurpose | null {
  if (NEVER.test(name)) return null
  return NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? null
}

const part = (words: string): RegExp => new RegExp(`(^|[\\s:_./-])(${words})($|[\\s:_./,-])`, 'i')

const NEVER = part(
  '(?:un)?install|publish|deploy\\w*|releas\\w*|upload|push|login|clean|watch|dev|start|serve|servers?|preview|fix|write|update|bump|setup|bootstrap|coveralls|codecov',
)
const NAMES: readonly (readonly [RegExp, CommandPurpose])[] = [
  [part('coverage'), 'test'],
  [part('type-?checks?|types?|check-?types|tsc|mypy|pyright|typing'), 'types'],
  [
    part(
      'lint\\w*|eslint|biome|prettier|ruff|flake8|pylint|rubocop|standard|clippy|vet|shellcheck|stylelint|style|pre-?commit|check',
    ),
    'lint',
  ],
  [part('tests?|specs?|unit|e2e|integration|pytest|jest|vitest|unittests?|ci'), 'test'],
  [part('build|compile|bundle|all|tsup|webpack'), 'build'],
]

/** Wrappers before the program: `npx eslint`, `bundle exec rspec`, `uv run pytest`, `python -m mypy`. */
const STARTERS =
  /^(?:(?:time|env|xvfb-run(?: -\S+)*|npx(?: (?:-p|--package) \S+| -\S+)*|bunx|pnpm exec|pnpm dlx|yarn exec|npm exec --|bundle exec|(?:uv|poetry|pipenv|pdm|rye|hatch) run(?: (?:-p|--(?:group|only-group|no-group|extra|with|with-editable|python|package|directory|project|env-file)) \S+| -\S+)*|uvx|(?:\S*\/)?python[\d.]*(?: -[XW] ?\S+| -[A-Za-z]+)* -m|coverage run(?: -\S+)* -m|coverage run(?: -\S+)*|cross-env|\w+=\S*) )+/
const RUNNERS =
  /^(npm|pnpm|yarn|bun|deno|make|gmake|just|task|rake|tox|nox|poe|hatch|composer|invoke|uv|poetry|pdm|moon|turbo|nx)$/
/** Package manager commands that are not scripts. */
const BUILT_IN = new Set(
  'ci add remove pip exec dlx x link pack audit config cache global init i sync lock create'.split(' '),
)
const REWRITES = /^(--fix|--fix-dangerously|--write|--unsafe-fixes|--apply|--autocorrect|--auto-correct|--watch)$/
const LOOKS = /(^| )(--version|--help|-V|version|help)( |$)/

/** Without the wrappers before the program. */
export const withoutStarter = (argv: readonly string[]): readonly string[] => {
  const line = argv.map(word => word.replaceAll(' ', '\u00a0')).join(' ')
  const rest = line.replace(STARTERS, '')
  return (rest === line ? argv : rest.split(' ')).map(word => word.replaceAll('\u00a0', ' '))
}

const tool = (names: string): RegExp => new RegExp(`^(?:${names})(?= |$)`)

const TOOLS: readonly (readonly [RegExp, CommandPurpose])[] = [
  [
    /^(prettier|black|isort|autopep8|yapf|rustfmt|shfmt)\b.* (--check(-only)?|-c|-l|--list-different|-d|--diff)( |$)/,
    'lint',
  ],
  [/^(ruff format|cargo fmt|deno fmt|mix format)\b.* --check(-formatted)?( |$)/, 'lint'],
  [/^gofmt\b(?!.* -w)(.*) -[ld]+( |$)/, 'lint'],
  [
    tool(
      'eslint|biome (?:check|ci|lint)|standard|xo|oxlint|stylelint|ruff|ruff check|flake8|pylint|pycodestyle|bandit|(?:rubocop|standardrb)(?!.* -[aA]( |$))|erb_?lint|golangci-lint(?: run)?|go vet|staticcheck|revive|cargo clippy|shellcheck|yamllint|actionlint|hadolint|markdownlint(?:-cli2)?|pre-commit run|deno lint|phpcs|php-cs-fixer|ktlint|mix credo|codespell|typos|swiftlint|semgrep',
    ),
    'lint',
  ],
  [
    tool(
      '(?:vue-)?tsc\\b.*(?:--noEmit|-b|--build)|vue-tsc|svelte-check|mypy|pyright|basedpyright|pytype|ty check|srb tc|steep check|phpstan|psalm|deno check|cargo check|dialyzer|mix dialyzer|tsd|attw',
    ),
    'types',
  ],
  [
    tool(
      'pytest|py\\.test|unittest|jest|vitest|mocha|ava|tap|tape|c8|nyc|jasmine|karma|uvu|node (?:\\S+ )*--test|phpunit|pest|rspec|bats|ctest|cargo test|cargo nextest|go test|gotestsum|ginkgo|deno test|bun test|mix test|dotnet test|swift test|(?:mvnw?|mvn)(?: \\S+)* (?:test|verify)|gradlew?(?: \\S+)* (?:test|check)|rails test\\S*|sbt(?: \\S+)* test|zig build test|playwright test|cypress run|django-admin test|python3? manage\\.py test|g?make check|stack test|cabal test|dart test|flutter test',
    ),
    'test',
  ],
  [
    tool(
      'tsc|cargo build|go build|vite build|webpack|rollup|tsup|esbuild|next build|nuxt build|astro build|(?:mvnw?|mvn)(?: \\S+)* (?:package|compile)|gradlew?(?: \\S+)* (?:build|assemble)|dotnet build|cmake --build|swift build|mix compile|zig build|stack build|cabal build|build',
    ),
    'build',
  ],
]
