// The role of a file, by its path alone: source, test, docs, configuration, or generated.

export type FileRole = 'source' | 'test' | 'docs' | 'config' | 'generated' | 'other'

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'TypeScript',
  tsx: 'TypeScript',
  mts: 'TypeScript',
  cts: 'TypeScript',
  js: 'JavaScript',
  jsx: 'JavaScript',
  mjs: 'JavaScript',
  cjs: 'JavaScript',
  vue: 'Vue',
  svelte: 'Svelte',
  py: 'Python',
  pyi: 'Python',
  go: 'Go',
  rs: 'Rust',
  rb: 'Ruby',
  rake: 'Ruby',
  java: 'Java',
  kt: 'Kotlin',
  scala: 'Scala',
  c: 'C',
  h: 'C',
  cc: 'C++',
  cpp: 'C++',
  cxx: 'C++',
  hpp: 'C++',
  cs: 'C#',
  php: 'PHP',
  swift: 'Swift',
  sh: 'Shell',
  bash: 'Shell',
  zsh: 'Shell',
  bats: 'Shell',
  ex: 'Elixir',
  exs: 'Elixir',
  erl: 'Erlang',
  hs: 'Haskell',
  lua: 'Lua',
  pl: 'Perl',
  pm: 'Perl',
  clj: 'Clojure',
  zig: 'Zig',
  dart: 'Dart',
  sql: 'SQL',
  r: 'R',
  jl: 'Julia',
}

export const languageOf = (path: string): string | null => LANGUAGES[extensionOf(path)] ?? null

export const extensionOf = (path: string): string => /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''

const GENERATED =
  /(^|\/)(node_modules|bower_components|vendor|third[_-]?party|(?:[\w-]+[_-])?dist|build|out|target|coverage|__pycache__|\.venv|venv|\.git|\.planfold)\/|\.min\.|\.(lock|map|snap|pb\.go)$|_pb2\.py$|(^|\/)(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock)$|\.generated\.|(^|\/)zz_generated[^/]*$|_generated\.go$|\.gen\.go$|\.d\.ts$/
/** A package may be called `build`: among sources it is not build output. */
const OWN_PACKAGE = /^((?:.*\/)?(?:src|lib|pkg|cmd|internal|crates|packages)\/)(?:build|out|target|dist)\//
const TEST =
  /(^|\/)(tests?|__tests__|specs?|testdata|fixtures?|e2e|testing_?data|mocks?|__mocks__)\/|[._-](test|tests|spec)\.|_test\.|(^|\/)test_|test-d\.|(^|\/)conftest\.py$|\.bats$|(^|\/)(test|tests)\.[a-z]+$/i
/** A product's own `test`: a command or an adapter. In Rust such a file is a test module. */
const CALLED_TEST =
  /^(?!.*(?:^|\/)(?:tests?|__tests__|specs?)\/)(?:.*\/)?(?:src|lib|app|commands?)\/(?:.*\/)?test\.(?!rs$)[a-z]+$/i
const ASIDE =
  /(^|\/)(examples?|demos?|samples?|benchmarks?|bench(?:es)?|fuzz(?:er|ers|ing)?|profilers?|scripts?|tools?|\.github|docs?|website|playground)\//i
const DOCS =
  /\.(md|markdown|rst|adoc)$|(^|\/)(docs?\/.*|readme)\.txt$|(^|\/)(LICENSE|CHANGELOG|CHANGES|AUTHORS|NOTICE)[^/]*$/i
const CONFIG =
  /\.(json|jsonc|ya?ml|toml|cfg|ini|conf|xml|gradle|mod|properties|editorconfig)$|(^|\/)(Makefile|Dockerfile|Rakefile|Gemfile|Justfile|\.[\w-]+rc)$|(^|\/)\.[^/]+$/

export function roleOf(path: string): FileRole {
  if (GENERATED.test(path.replace(OWN_PACKAGE, '$1own/'))) return 'generated'
  const isCode = languageOf(path) !== null
  if (TEST.test(path) && !CALLED_TEST.test(path)) return isCode ? 'test' : 'other'
  if (isCode) return 'source'
  if (DOCS.test(path)) return 'docs'
  return CONFIG.test(path) ? 'config' : 'other'
}

/** Source beside the product: examples, scripts, benchmarks. */
export const isAside = (path: string): boolean => ASIDE.test(path)

/** Packaging, descriptions and versions, which rarely change together with behaviour. */
export const isMetadata = (path: string): boolean => METADATA.test(path)

const METADATA =
  /(^|\/)(setup\.py|_?_?version(_?_?|s)\.\w+|conf\.py|build\.rs|gulpfile\.\w+|gruntfile\.\w+|[\w.-]+\.config\.\w+|[\w-]+\.gemspec)$/i
