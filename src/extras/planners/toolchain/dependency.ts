// The dependency named in a goal: its manifests, lock file and version, how it is updated, and how to verify the update.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { GoalWords } from '../goal.ts'
import type { EndCheck } from '../kinds/end-check.ts'

export interface NamedDependency {
  readonly name: string
  readonly manifest: string
  /** All manifests in the workspace that require it. */
  readonly manifests: readonly string[]
  /** Null if there is none, or the manager's has no versions. */
  readonly lock: string | null
  /** Required by a manifest; otherwise transitive. */
  readonly isDirect: boolean
  readonly version: string | null
  /** Versions in the lock file, or in the manifest. */
  readonly current: readonly string[]
  readonly isVulnerable: boolean
}

interface Manager {
  readonly manifest: RegExp
  readonly lock: string | null
  /** Pattern of its line in the lock file, for `grep -E`; the version is on that line or the next. */
  readonly line: (name: string) => string
  readonly isNext: boolean
  /** Update command; to the newest without a version. */
  readonly update: (name: string, version: string | null) => string
  /** Update command for transitive dependencies, if different. */
  readonly deeper?: (name: string, version: string | null) => string
}

const at = (sign: string, version: string | null, newest = ''): string =>
  version === null ? newest : `${sign}${version}`
const node = (lock: string, add: string, line: Manager['line'], isNext: boolean, overrides: string): Manager => ({
  manifest: /^package\.json$/,
  lock,
  line,
  isNext,
  update: (name, version) => `\`${add} ${name}${at('@', version, '@latest')}\``,
  deeper: (name, version) =>
    `\`${add.split(' ')[0]} ${add.startsWith('yarn') ? 'up' : 'update'} ${name}\`, or, where another dependency asks for an older one, ${name}${at(' ', version)} under \`${overrides}\` of package.json`,
})
const inToml = (name: string): string => `^name = "${name}"$`

/** In order of precedence, if a repository has several. */
const MANAGERS: readonly Manager[] = [
  node('pnpm-lock.yaml', 'pnpm add', name => `(^|[ /'"])${name}[@/][0-9]`, false, 'pnpm.overrides'),
  node('yarn.lock', 'yarn add', name => `^"?${name}@`, true, 'resolutions'),
  node('bun.lock', 'bun add', name => `"${name}@[0-9]`, false, 'overrides'),
  node('package-lock.json', 'npm install', name => `["/]${name}": \\{$`, true, 'overrides'),
  {
    manifest: /^Cargo\.toml$/,
    lock: 'Cargo.lock',
    line: inToml,
    isNext: true,
    update: (name, version) => `\`cargo update -p ${name}${at(' --precise ', version)}\``,
  },
  {
    manifest: /^go\.mod$/,
    lock: 'go.mod',
    line: name => `^[[:space:]]*(require )?${name} v`,
    isNext: false,
    update: (name, version) => `\`go get ${name}@${at('v', version, 'latest')} && go mod tidy\``,
  },
  {
    manifest: /^pyproject\.toml$/,
    lock: 'uv.lock',
    line: inToml,
    isNext: true,
    update: (name, version) => `\`uv add '${name}${at('>=', version)}' --upgrade-package ${name}\``,
    deeper: (name, version) => `\`uv lock --upgrade-package '${name}${at('==', version)}'\``,
  },
  {
    manifest: /^pyproject\.toml$/,
    lock: 'poetry.lock',
    line: inToml,
    isNext: true,
    update: (name, version) => `\`poetry add '${name}${at('@^', version, '@latest')}'\``,
    deeper: name => `\`poetry update ${name}\``,
  },
  {
    manifest: /^Gemfile$/,
    lock: 'Gemfile.lock',
    line: name => `^    ${name} \\(`,
    isNext: false,
    update: name => `\`bundle update ${name} --conservative\``,
  },
  {
    manifest: /^composer\.json$/,
    lock: 'composer.lock',
    line: name => `"name": "${name}",$`,
    isNext: true,
    update: (name, version) => `\`composer require ${name}${at(':^', version)} --with-dependencies\``,
    deeper: name => `\`composer update ${name}\``,
  },
  {
    manifest:
      /^(package\.json|Cargo\.toml|composer\.json|Gemfile|requirements[\w-]*\.txt|pyproject\.toml|Pipfile|setup\.(cfg|py))$/,
    lock: null,
    line: name => `(^|[^[:alnum:]_-])${name}([^[:alnum:]_-]|$)`,
    isNext: false,
    update: (name, version) =>
      `${name} ${version ?? 'in its newest version'} in the manifest, then install as the project does`,
  },
]

export const DEPENDENCY_FILES =
  /^(package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lock|Cargo\.(toml|lock)|go\.mod|pyproject\.toml|uv\.lock|poetry\.lock|Gemfile(\.lock)?|composer\.(json|lock)|requirements[\w-]*\.txt|Pipfile|setup\.(cfg|py))$/

/** Files that set versions and builds. */
export const SETTINGS =
  /(^|\/)(package\.json|pyproject\.toml|setup\.(py|cfg)|tox\.ini|noxfile\.py|go\.(mod|sum|work)|Cargo\.toml|rust-toolchain(\.toml)?|Gemfile|[\w-]+\.gemspec|composer\.json|pom\.xml|build\.gradle(\.kts)?|Dockerfile|Makefile|\.(nvmrc|(python|ruby|node)-version|tool-versions|travis\.yml|gitlab-ci\.yml|pre-commit-config\.yaml|readthedocs\.ya?ml)|appveyor\.yml|azure-pipelines\.yml)$|^\.github\/workflows\//
type Texts = ReadonlyMap<string, string>

export function namedDependency({
  goal,
  texts,
}: {
  readonly goal: GoalWords
  readonly texts: Texts
}): NamedDependency | null {
  const words = new Set(
    (goal.text.match(/@?[A-Za-z][\w@/.-]*\w/g) ?? []).map(word => bare(word.replace(/(?<=.)@.*/, ''))),
  )
  const isName = (name: string): boolean => name.length > 1 && !COMMON.has(name.toLowerCase())
  const isFullName = (name: string): boolean => isName(name) && words.has(bare(name))
  // `cobra` for `github.com/spf13/cobra`, unless another has that name.
  const isShortName = (name: string): boolean =>
    isName(name.split('/').at(-1)!) && words.has(bare(name.split('/').at(-1)!))
  const paths = [...texts.keys()].sort((a, b) => a.split('/').length - b.split('/').length)
  const manifests = MANAGERS.flatMap(manager =>
    paths
      .filter(path => manager.manifest.test(nameOf(path)) && texts.has(manager.lock ?? path))
      .map(manifest => ({ manager, manifest, names: dependencyNames(nameOf(manifest), texts.get(manifest)!) })),
  )
  const found = manifests.flatMap(({ manager, manifest, names }) => {
    const name = names.find(isFullName) ?? names.find(isShortName)
    return name === undefined ? [] : [{ manager, manifest, name, isDirect: true }]
  })
  const deeper = manifests.flatMap(({ manager, manifest }) => {
    if (found.length > 0 || manifest.includes('/')) return []
    const versions = texts.get(manager.lock ?? manifest)!
    const name = meantNames(goal.text).find(word => versionsIn(manager, versions, word).length > 0)
    return name === undefined ? [] : [{ manager, manifest, name, isDirect: false }]
  })
  const [first] = [...found, ...deeper]
  if (first === undefined) return null
  const { manager, manifest, name, isDirect } = first
  const current = versionsIn(manager, texts.get(manager.lock ?? manifest)!, name)
  const others = found.flatMap(one => (one.manager === manager && one.name === name ? one.manifest : []))
  return {
    ...{ name, manifest, manifests: isDirect ? others : [manifest], lock: manager.lock, isDirect, current },
    version: versionIn(goal.text, name, current),
    isVulnerable: /\b(vulnerab\w*|advisor(y|ies)|cve-\d|ghsa-|\w*audit|govulncheck|insecure|security)/i.test(goal.text),
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const bare = (name: string): string => name.toLowerCase().replaceAll('_', '-')
const COMMON = new Set(
  'go the update version package dependencies to name test build and for use in of python ruby node rust php java deno bun ci'.split(
    ' ',
  ),
)
const escaped = (name: string): string => name.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&')

/** `npm audit says minimist is …`, `upgrade minimist to`, `minimist 1.2.5`: names that are in no manifest. */
const meantNames = (text: string): readonly string[] =>
  [
    /\b(?:upgrade|update|bump|pin|says|that|package|dependency|in|of|for)\s+[`'"]?(@?[a-z][\w@/.-]*\w)/gi,
    /[`'"]?(@?[a-z][\w/.-]*\w)[`'"]?(?:@|\s+)(?:is|has|to|from|before|below|version|v?\d)/gi,
  ]
    .flatMap(pattern => [...text.matchAll(pattern)].map(match => match[1]!))
    .filter(name => !COMMON.has(name.toLowerCase()))

function versionsIn({ line, isNext }: Manager, text: string, name: string): readonly string[] {
  const key = new RegExp(line(escaped(name)).replaceAll('[[:space:]]', '\\s').replaceAll('[:alnum:]', 'A-Za-z0-9'))
  const lines = text.split('\n')
  const found = lines.flatMap((one, index) => {
    if (!key.test(one)) return []
    const versionText = isNext ? (lines[index + 1] ?? '') : one.slice(one.indexOf(name) + name.length)
    return /\d+(?:\.\d+)+(?:[-+][\w.]+)?/.exec(versionText) ?? []
  })
  return [...new Set(found)]
}

/** `to 4.17.21`, `fixed in 4.17.21`, `lodash@4.17.21`; not the current version. */
function versionIn(text: string, name: string, current: readonly string[]): string | null {
  const VERSION = '[~^]?v?(\\d+(?:\\.\\d+)*(?:-[\\w.]*\\w)?)'
  const mentioned = [
    `\\b(?:to|fixed in|patched in|at least|>=)\\s+(?:version )?`,
    `${escaped(name)}[\`'"]?(?:@|\\s+)(?:version )?`,
  ]
  const found = mentioned.map(before => new RegExp(`${before}${VERSION}\\b(?![.]?\\d)`, 'i').exec(text)?.[1])
  return found.find(version => version !== undefined && !current.includes(version)) ?? null
}

/** The dependencies in a manifest, given its file name. */
export function dependencyNames(manifest: string, text: string): readonly string[] {
  if (manifest.endsWith('.json')) return inJson(text)
  const all = (pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(match => match[1]!)
  if (manifest === 'go.mod') return all(/^\s*(?:require\s+)?([\w-]+\.[\w./-]+) v\d/gm)
  if (manifest === 'Gemfile') return all(/^\s*gem ['"]([\w-]+)/gm)
  if (manifest.endsWith('.txt')) return all(/^([A-Za-z][\w.-]*)/gm)
  // TOML: keys of dependency tables, and quoted requirements.
  const tables = text.split(/^(?=\[)/m).filter(table => /^\[[^\]\n]*(dependencies|packages)/.test(table))
  return [
    ...tables.flatMap(table =>
      [...table.matchAll(/^([A-Za-z][\w.-]*)\s*=|^\[.*dependencies\.([\w-]+)\]/gm)].map(match => match[1] ?? match[2]!),
    ),
    ...(manifest === 'Cargo.toml'
      ? []
      : all(/["'\n]\s*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[<>=~!;@]|["']\s*(?:,|\]|$))/gm)),
  ]
}

function inJson(text: string): readonly string[] {
  try {
    const read = JSON.parse(text) as { readonly [key: string]: object | null | undefined }
    return [
      'dependencies',
      'devDependencies',
      'peerDependencies',
      'optionalDependencies',
      'require',
      'require-dev',
    ].flatMap(key => Object.keys(read[key] ?? {}))
  } catch {
    return []
  }
}

const managerOf = ({ manifest, lock }: NamedDependency): Manager =>
  MANAGERS.find(one => one.manifest.test(nameOf(manifest)) && one.lock === lock)!

export function updateCommand(found: NamedDependency): string {
  const { update, deeper = update } = managerOf(found)
  return (found.isDirect ? update : deeper)(found.name, found.version)
}

/** The lock file, or the manifest without one, has the new version instead of the old. */
export function updated(found: NamedDependency, manifestText: string): readonly EndCheck[] {
  const { name, manifest, manifests, lock, version, current, isDirect, isVulnerable } = found
  const { line, isNext } = managerOf(found)
  const checks: EndCheck[] = []
  const file = (lock === null ? manifests : [lock]).map(shellQuoted).join(' ')
  const has = (wanted: string): string =>
    `grep -hE ${isNext ? '-A1 ' : ''}-e ${shellQuoted(line(escaped(name)))} ${file} | grep -qE -e ${shellQuoted(`${isNext ? 'version[^0-9]*' : '[^0-9.]'}${escaped(wanted)}${/\..*\./.test(wanted) ? '' : '(\\.[0-9]+)*'}([^0-9.]|$)`)}`
  if (version !== null && !current.every(one => one === version))
    checks.push({ script: has(version), text: `${file} has ${name} ${version}` })
  if (isVulnerable || version === null)
    for (const old of current.filter(one => one !== version).slice(0, 3))
      checks.push({ script: `test -s ${file} && ! ${has(old)}`, text: `${file} no longer has ${name} ${old}` })
  // Other managers leave a range in the manifest unchanged.
  const asks = manifestText.split('\n').find(one => one.includes(`"${name}"`)) ?? ''
  if (version !== null && lock !== null && nameOf(manifest) === 'package.json' && isDirect && !asks.includes(version))
    checks.push({
      script: `grep -F -e ${shellQuoted(`"${name}"`)} ${shellQuoted(manifest)} | grep -qF -e ${shellQuoted(version)}`,
      text: `${manifest} asks for ${name} ${version}`,
    })
  return checks
}

export const updatedFiles = ({ manifests, lock }: NamedDependency): readonly string[] =>
  lock === 'go.mod' ? ['go.mod', 'go.sum'] : [...manifests, ...(lock === null ? [] : [lock])]

/** The files that import it, by its name in their text. */
export const usersOf = ({ name }: NamedDependency, texts: Texts): readonly string[] => {
  const used = new RegExp(
    `\\b(import|from|require|use|gem|extern)\\b.*["'\\s(/:]${escaped(name).replaceAll('-', '[-_]')}["'\\s)/;:.]`,
    'mi',
  )
  return [...texts]
    .filter(([path, text]) => !DEPENDENCY_FILES.test(nameOf(path)) && used.test(text))
    .map(([path]) => path)
}

/** The audit command, as the goal names it. */
export const auditIn = ({ text }: GoalWords): string | null =>
  /\b((?:npm|pnpm|yarn|bun|cargo|bundle|composer) audit|pip-audit|bundler-audit|govulncheck|osv-scanner)\b/i.exec(
    text,
  )?.[1] ?? null
