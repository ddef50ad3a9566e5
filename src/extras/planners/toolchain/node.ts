// The scripts of `package.json` and the package manager that runs them, for a package and for a whole workspace.

import { type CommandPurpose as Purpose, purposeOfName } from './command-purpose.ts'
import { type Candidate, type Evidence, objectIn } from './evidence.ts'

export type NodeManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

export function fromNode(evidence: Evidence): readonly Candidate[] {
  const { paths, text } = evidence
  if (!paths.has('package.json')) return []
  const scripts = scriptsOf(text('package.json'))
  const manager = nodeManager(evidence)
  const workspace = workspaceOf(evidence)
  const name = objectIn(text('package.json')).name
  const isNamed = typeof name === 'string' && /^(@[\w.-]+\/)?[\w.-]+$/.test(name)
  const found: Candidate[] = []
  for (const [purpose, names] of NODE_SCRIPTS) {
    const script =
      (purpose === 'test' ? runnerScript(scripts) : undefined) ??
      names.find(one => isScript(scripts, one)) ??
      (purpose === 'types' ? typesScript(scripts) : undefined)
    if (script === undefined) continue
    const from = `${evidence.folder}package.json, script '${script}'`
    if (workspace !== null && isNamed)
      found.push({ purpose, run: inMember(manager, name, script), from, in: workspace.folder })
    else
      found.push({
        purpose,
        run: script === 'test' && manager !== 'bun' ? [manager, 'test'] : [manager, 'run', script],
        from,
      })
  }
  if (!found.some(({ purpose }) => purpose === 'test')) found.push(...inAllMembers(evidence, manager))
  if (paths.has('tsconfig.json') && /"typescript"/.test(text('package.json') ?? ''))
    found.push({
      purpose: 'types',
      run: ['npx', '--no-install', 'tsc', '--noEmit'],
      from: 'tsconfig.json',
      isGuess: true,
    })
  return found
}

const isScript = (scripts: { readonly [name: string]: string }, name: string): boolean =>
  scripts[name] !== undefined && !/no test specified/.test(scripts[name])

/** If `test` also runs lint or type checks, the script that runs the tests themselves. */
function runnerScript(scripts: { readonly [name: string]: string }): string | undefined {
  if (isScript(scripts, 'test') && !STARTS_OTHERS.test(scripts.test!)) return undefined
  const own = Object.keys(scripts).filter(name => /^(?:test:(?:unit|spec|lib|run|node)|unit|vitest|jest)$/.test(name))
  return own.find(name => RUNNER.test(scripts[name]!.trim()))
}

const STARTS_OTHERS = /\brun-many\b|\brun-[ps]\b|\bnpm-run-all\b|\bconcurrently\b|\bturbo\b|\brun ["'\\]*\//
const RUNNER = /^(?:vitest|jest|mocha|ava|tap|uvu|jasmine|node --test)(?: (?!.*--watch)[^&|;]*)?$/

/** `types:check`, `check:tsc`: any name for types whose script runs a type checker. */
const typesScript = (scripts: { readonly [name: string]: string }): string | undefined =>
  Object.keys(scripts).find(
    name => purposeOfName(name) === 'types' && !/build|gen|emit|bundle/.test(name) && CHECKS_TYPES.test(scripts[name]!),
  )

const CHECKS_TYPES = /^(?:npx )?(?:(?:vue-)?tsc|tsd|attw|svelte-check|flow|tstyche)\b(?!.*(?:--watch| -w\b))/

const NODE_SCRIPTS: readonly (readonly [Purpose, readonly string[]])[] = [
  ['test', ['test', 'tests', 'test:unit', 'unit']],
  ['lint', ['lint', 'eslint', 'check', 'lint:check']],
  ['types', ['typecheck', 'type-check', 'types', 'check-types', 'check:types', 'test:types', 'tsc']],
  ['build', ['build', 'compile', 'bundle']],
]

function inMember(manager: NodeManager, name: string, script: string): readonly string[] {
  const run = script === 'test' ? [] : ['run']
  switch (manager) {
    case 'npm':
      return ['npm', ...run, script, '-w', name]
    case 'pnpm':
      return ['pnpm', '--filter', name, ...run, script]
    case 'yarn':
      return ['yarn', 'workspace', name, 'run', script]
    case 'bun':
      return ['bun', 'run', '--filter', name, script]
    default:
      return manager satisfies never
  }
}

/** Without a test script at the top, the package manager runs those of all packages. */
function inAllMembers(evidence: Evidence, manager: NodeManager): readonly Candidate[] {
  const member = evidence.files.find(
    path =>
      path.endsWith('/package.json') &&
      isMember(evidence, path.slice(0, -'/package.json'.length)) &&
      isScript(scriptsOf(evidence.text(path)), 'test'),
  )
  const isClassic = manager === 'yarn' && !isYarnBerry(evidence)
  if (member === undefined || isClassic) return []
  const run = {
    npm: ['npm', 'test', '--workspaces', '--if-present'],
    pnpm: ['pnpm', '-r', 'test'],
    yarn: ['yarn', 'workspaces', 'foreach', '-A', 'run', 'test'],
    bun: ['bun', 'run', '--filter', '*', 'test'],
  }[manager]
  return [{ purpose: 'test', run, from: `the workspaces of ${evidence.folder}package.json`, isGuess: true }]
}

export const isYarnBerry = ({ paths, text }: Evidence): boolean =>
  paths.has('.yarnrc.yml') || /"packageManager":\s*"yarn@([2-9]|\d\d)/.test(text('package.json') ?? '')

/** The surrounding folder whose workspace includes this package. */
export function workspaceOf({ folder, above }: Evidence): Evidence | null {
  return above.find(one => isMember(one, folder.slice(one.folder.length).replace(/\/$/, ''))) ?? null
}

function isMember({ text }: Evidence, path: string): boolean {
  const { workspaces } = objectIn(text('package.json'))
  const globs = Array.isArray(workspaces) ? workspaces : (workspaces as { packages?: unknown } | undefined)?.packages
  // Only the list under `packages:`.
  const listed =
    /^packages:[ \t]*\n((?:[ \t]*[-#].*\n|[ \t]*\n)*)/m.exec(`${text('pnpm-workspace.yaml') ?? ''}\n`)?.[1] ?? ''
  const patterns = [
    ...(Array.isArray(globs) ? globs.filter((one): one is string => typeof one === 'string') : []),
    ...[...listed.matchAll(/^\s*-\s*['"]?([^'"#\n]+?)['"]?\s*(?:#.*)?$/gm)].map(match => match[1]!),
  ]
  const fits = (pattern: string): boolean => matches(pattern.replace(/^!/, '').replace(/^\.\/|\/$/g, ''), path)
  return (
    patterns.some(one => !one.startsWith('!') && fits(one)) && !patterns.some(one => one.startsWith('!') && fits(one))
  )
}

function matches(pattern: string, path: string): boolean {
  const [first, ...rest] = pattern.split('/')
  const [name, ...below] = path.split('/')
  if (first === '**')
    return rest.length === 0 || path.split('/').some((_, at, all) => matches(rest.join('/'), all.slice(at).join('/')))
  const isSame =
    name !== undefined &&
    new RegExp(`^${first!.replace(/[.+?^$()[\]{}|\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`).test(name)
  if (!isSame || name === '') return false
  return rest.length === 0 ? below.length === 0 : below.length > 0 && matches(rest.join('/'), below.join('/'))
}

/** By the nearest lock file. */
export function nodeManager(evidence: Evidence): NodeManager {
  for (const { paths } of [evidence, ...evidence.above]) {
    const found = LOCKS.find(([, names]) => names.some(name => paths.has(name)))
    if (found !== undefined) return found[0]
  }
  return 'npm'
}

const LOCKS: readonly (readonly [NodeManager, readonly string[]])[] = [
  ['pnpm', ['pnpm-lock.yaml']],
  ['yarn', ['yarn.lock']],
  ['bun', ['bun.lock', 'bun.lockb']],
  ['npm', ['package-lock.json', 'npm-shrinkwrap.json']],
]

export const lockOf = ({ paths }: Evidence): string | null =>
  LOCKS.flatMap(([, names]) => names).find(name => paths.has(name)) ?? null

export function scriptsOf(text: string | null): { readonly [name: string]: string } {
  const scripts = objectIn(text).scripts
  if (typeof scripts !== 'object' || scripts === null) return {}
  return Object.fromEntries(
    Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
