// Which script of `package.json` a command is: `npx tsc` where a script `types:check` runs `tsc`, `npm run test` for `npm test`. The same
// work is then found, run and named once.

import { withoutStarter } from './command-purpose.ts'

export type Scripts = { readonly [name: string]: string }

/** The command as the project's own script, if one runs exactly this; else unchanged. */
export function asScript(run: readonly string[], scripts: Scripts, manager: string): readonly string[] {
  const [program = ''] = run
  const called = calledScript(run, scripts)
  if (called !== null) return [...scriptRun(program, called.name), ...called.rest]
  if (MANAGERS.test(program)) return run
  const work = workOf(run, {})
  const names = Object.keys(scripts).filter(name => !HELPERS.test(name) && workOf(words(scripts[name]!), {}) === work)
  // A build may be the same `tsc`; a script named after its purpose says more than one named `build`.
  const [name] = names.toSorted((a, b) => Number(/build|compile/.test(a)) - Number(/build|compile/.test(b)))
  return name === undefined ? run : scriptRun(manager, name)
}

/** What a command does, whoever starts it: equal for `npm test`, `npm run test` and `npx vitest run` if that is the script. */
export function workOf(run: readonly string[], scripts: Scripts, depth = 0): string {
  const called = depth < DEPTH_MAX ? calledScript(run, scripts) : null
  const line = called !== null && Object.hasOwn(scripts, called.name) ? scripts[called.name]! : null
  if (called !== null && line !== null && !isSurrounded(called.name, scripts) && isSimple(line))
    return workOf([...words(line), ...called.rest.filter(word => word !== '--')], scripts, depth + 1)
  const [program = '', ...rest] = withoutStarter(
    called === null ? run : [...scriptRun(run[0]!, called.name), ...called.rest],
  )
  const name = program.split('/').at(-1)!
  // Where nothing is written is the project's own matter.
  return [name, ...(name === 'tsc' ? rest.filter(word => !/^--(?:noEmit|pretty)$/.test(word)) : rest)].join(' ')
}

/** A linter whose patterns match no file, as in `eslint lib/* bin/*`, passes without having read anything. */
export function readsNoFile(run: readonly string[], scripts: Scripts, paths: readonly string[]): boolean {
  const [program = '', ...rest] = workOf(run, scripts).split(' ')
  const given = rest.filter(word => !/^[-!]/.test(word)).map(word => word.replace(/^\.\//, ''))
  if (!LINTERS.test(program) || !given.some(word => /[*/]/.test(word))) return false
  // Extended patterns are not read here.
  return given.every(word => !/[{}()[\]?+@]/.test(word) && !paths.some(path => matches(word, path)))
}

const LINTERS = /^(?:eslint|standard|xo|oxlint|tslint|jshint|stylelint|prettier)$/

/** A file, a folder around it, or a pattern with stars. */
const matches = (pattern: string, path: string): boolean =>
  new RegExp(
    `^${pattern
      .replace(/\/$/, '')
      .replace(/[.^$|\\]/g, '\\$&')
      .replace(/(\*\*)\/|\*\*|\*/g, (stars, folders) =>
        folders ? '(?:.*/)?' : stars === '**' ? '.*' : '[^/]*',
      )}(?:/|$)`,
  ).test(path)

const DEPTH_MAX = 3
const MANAGERS = /^(?:npm|pnpm|yarn|bun)$/
/** Run before or after another script, or once. */
const HELPERS = /^(?:pre|post)|^(?:prepare|prepack|install|watch|dev|start)(?::|$)/

const words = (line: string): readonly string[] =>
  line
    .trim()
    .split(/\s+/)
    .map(word => word.replace(/^(["'])(.*)\1$/, '$2'))

const isSimple = (line: string): boolean => !/[&|;<>$`]/.test(line)

const isSurrounded = (name: string, scripts: Scripts): boolean =>
  Object.hasOwn(scripts, `pre${name}`) || Object.hasOwn(scripts, `post${name}`)

/** `bun test` is a program of its own. */
const scriptRun = (manager: string, name: string): readonly string[] =>
  name === 'test' && manager !== 'bun' ? [manager, 'test'] : [manager, 'run', name]

function calledScript(
  [program = '', ...rest]: readonly string[],
  scripts: Scripts,
): { readonly name: string; readonly rest: readonly string[] } | null {
  if (!MANAGERS.test(program)) return null
  const [first = '', second] = rest
  if (/^run(?:-script)?$/.test(first))
    return second !== undefined && Object.hasOwn(scripts, second) ? { name: second, rest: rest.slice(2) } : null
  if (/^(?:t|tst|test)$/.test(first) && program !== 'bun') return { name: 'test', rest: rest.slice(1) }
  const isNamed = (program === 'pnpm' || program === 'yarn') && Object.hasOwn(scripts, first)
  return isNamed ? { name: first, rest: rest.slice(1) } : null
}
